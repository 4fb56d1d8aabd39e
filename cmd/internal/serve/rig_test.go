package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// patienceOfTests is how long a test waits for what has to happen on a
// machine that is busy.
const patienceOfTests = 60 * time.Second

// eventually waits until something is so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patienceOfTests); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patienceOfTests, what)
		}
	}
}

// logBuffer is a log that a test can read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// cutStore is a store that can be cut off.
type cutStore struct {
	store.Store
	cut   atomic.Bool
	full  atomic.Bool // writes fail
	cause error       // in each error of a store that was cut off; or nil
}

var errCut = errors.New("the network is down")

// away returns the error of a call; nil unless the store was cut off.
func (c *cutStore) away() error {
	if c.cut.Load() {
		return errors.Join(errCut, c.cause)
	}
	return nil
}

func (c *cutStore) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if err := c.away(); err != nil {
		return nil, store.Reply{}, err
	}
	return c.Store.Get(ctx, keys)
}

func (c *cutStore) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	if err := c.away(); err != nil {
		return nil, store.Reply{}, err
	}
	return c.Store.List(ctx, namespace, nodes, limit)
}

func (c *cutStore) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	if err := c.away(); err != nil {
		return nil, store.Reply{}, err
	}
	return c.Store.Heads(ctx)
}

func (c *cutStore) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) ([]error, []store.Record, store.Reply) {
	if !c.cut.Load() && !c.full.Load() {
		return c.Store.Swap(ctx, writes)
	}
	errs := make([]error, len(writes))
	for i := range errs {
		errs[i] = errors.Join(errCut, c.cause)
	}
	return errs, nil, store.Reply{}
}

// store returns one with the namespace default.
func newStore(t *testing.T) *cutStore {
	t.Helper()
	st := &cutStore{Store: store.NewMemory()}
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(t.Context(), "default", s, nil))
	return st
}

// start starts a server on free ports of this machine, which the test's end
// stops.
func start(t *testing.T, c Config, st store.Store) (*Process, *logBuffer) {
	t.Helper()
	logs := &logBuffer{}
	c.Logger = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{
		Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if err, ok := a.Value.Any().(error); ok {
				a.Value = slog.StringValue(server.LogText(err))
			}
			return a
		},
	}))
	if c.HTTP == "" {
		c.HTTP = "127.0.0.1:0"
	}
	if c.pollWait == 0 {
		c.pollWait = 10 * time.Millisecond
	}
	p := must(Start(t.Context(), c, st))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patienceOfTests)
		defer cancel()
		if err := p.Stop(ctx); err != nil && !errors.Is(err, errCut) {
			t.Errorf("stopping: %v", err)
		}
	})
	return p, logs
}

func token(name, secret string, verbs ...server.Verb) server.Token {
	sum := sha256.Sum256([]byte(secret))
	return server.Token{Name: name, SHA256: hex.EncodeToString(sum[:]), Verbs: verbs}
}

// get asks for a URL with a token, and returns the status and the answer.
func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	return ask(t, http.MethodGet, url, token, "")
}

// ask makes a request with a token, and returns the status and the answer.
func ask(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res := must(http.DefaultClient.Do(req))
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))
	return res.StatusCode, string(text)
}

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
	file string

	lifetime time.Duration // of what it issues; 0 is an hour
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	about := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, about, about, key.Public(), key))
	cert := must(x509.ParseCertificate(der))
	a := &authority{cert: cert, key: key, dir: t.TempDir()}
	a.file = filepath.Join(a.dir, "ca.pem")
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// newCertificate returns the files of a certificate, and who issued it.
func newCertificate(t *testing.T) (ca *authority, cert, key string) {
	t.Helper()
	ca = newAuthority(t, "ours")
	cert, key = filepath.Join(ca.dir, "cert.pem"), filepath.Join(ca.dir, "key.pem")
	ca.issue(t, cert, key)
	return ca, cert, key
}

// issue writes a certificate for 127.0.0.1 and its key, in place of what
// was there.
func (a *authority) issue(t *testing.T, certFile, keyFile string) {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	about := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "somebody"},
		NotBefore: time.Now().Add(-5 * time.Hour), NotAfter: time.Now().Add(cmp.Or(a.lifetime, time.Hour)),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth,
		},
	}
	der := must(x509.CreateCertificate(rand.Reader, about, a.cert, key.Public(), a.key))
	keyDER := must(x509.MarshalECPrivateKey(key))
	writePEM(t, certFile, "CERTIFICATE", der)
	writePEM(t, keyFile, "EC PRIVATE KEY", keyDER)
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	noError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// respClient speaks just enough of the Redis protocol.
type respClient struct {
	t     *testing.T
	c     net.Conn
	r     *bufio.Reader
	heard func(text string) // is told all that comes; may be nil
}

func dialRESP(t *testing.T, p *Process) *respClient {
	t.Helper()
	c := must(net.Dial("tcp", p.RESP))
	t.Cleanup(func() { c.Close() })
	return newRESPClient(t, c)
}

func newRESPClient(t *testing.T, c net.Conn) *respClient {
	return &respClient{t: t, c: c, r: bufio.NewReader(c)}
}

// ask sends a command of words and returns the first line of the reply.
func (r *respClient) ask(command string) string {
	r.t.Helper()
	words := strings.Fields(command)
	msg := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		msg += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := r.c.Write([]byte(msg)); err != nil {
		r.t.Fatal(err)
	}
	line, err := r.r.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	line = strings.TrimSpace(line)
	if n := 0; strings.HasPrefix(line, "$") {
		if _, err := fmt.Sscanf(line, "$%d", &n); err != nil {
			r.t.Fatal(err)
		}
		rest := make([]byte, n+2)
		if _, err := io.ReadFull(r.r, rest); err != nil {
			r.t.Fatal(err)
		}
		if r.heard != nil {
			r.heard(string(rest))
		}
	}
	if r.heard != nil {
		r.heard(line)
	}
	return line
}
