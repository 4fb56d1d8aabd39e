package serve

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// A renewed certificate is used without a restart, one that cannot be used
// is not, and a client without a certificate of the right authority is
// unknown.
func TestCertificates(t *testing.T) {
	ca, cert, key := newCertificate(t)
	others := newAuthority(t, "theirs")
	p, logs := start(t, Config{
		Listeners: Listeners{RESP: "127.0.0.1:0"}, Access: Access{TLSCert: cert, TLSKey: key, TLSClientCA: ca.file},
	}, newStore(t))
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	client := func(by *authority) *http.Client {
		conf := &tls.Config{RootCAs: roots}
		if by != nil {
			c, k := filepath.Join(by.dir, "client.pem"), filepath.Join(by.dir, "client-key.pem")
			by.issue(t, c, k)
			pair := must(tls.LoadX509KeyPair(c, k))
			conf.Certificates = []tls.Certificate{pair}
		}
		return &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}
	}
	serial := func(c *http.Client) (string, error) {
		res, err := c.Get("https://" + p.HTTP + "/v1/default/next")
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return "", fmt.Errorf("status %d", res.StatusCode)
		}
		if res.Header.Get("Strict-Transport-Security") == "" {
			t.Error("a browser may come back without TLS")
		}
		return res.TLS.PeerCertificates[0].SerialNumber.String(), nil
	}
	known := client(ca)
	first := must(serial(known))
	for name, c := range map[string]*http.Client{"no certificate": client(nil), "another authority": client(others)} {
		fails(t, errOf(serial(c)), "%s was let in", name)
	}
	if c, err := tls.Dial("tcp", p.RESP, &tls.Config{RootCAs: roots}); err == nil {
		_, _ = c.Write([]byte("PING\r\n"))
		if n, err := c.Read(make([]byte, 10)); err == nil {
			t.Errorf("a client without a certificate was let in to the redis protocol: %d bytes", n)
		}
		c.Close()
	}
	noError(t, os.WriteFile(cert, []byte("half of it"), 0o600))
	eventually(t, "a warning", func() bool { return strings.Contains(logs.String(), "cannot be used") })
	looks(t, p, 3)
	if n := strings.Count(logs.String(), "cannot be used"); n != 1 {
		t.Errorf("said %d times that a file cannot be used", n)
	}
	if again, err := serial(known); err != nil || again != first {
		t.Errorf("a broken file took the certificate away: %v", err)
	}
	ca.issue(t, cert, key)
	eventually(t, "the new certificate", func() bool { s, err := serial(known); return err == nil && s != first })
}

// Tokens are read again: for new requests and for connections that are
// open.
func TestTokensReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	write := func(tokens ...server.Token) {
		var b strings.Builder
		b.WriteString("tokens:\n")
		for _, k := range tokens {
			fmt.Fprintf(&b, "  - {name: %s, sha256: %s, verbs: %s}\n", k.Name, k.SHA256,
				strings.ReplaceAll(fmt.Sprint(k.Verbs), " ", ","))
		}
		noError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	}
	write(token("a", "secret-a", server.VerbIDs), token("b", "secret-b", server.VerbRead))
	fixed := []server.Token{token("c", "secret-c", server.VerbIDs)}
	p, logs := start(t, Config{
		Listeners: Listeners{RESP: "127.0.0.1:0"}, Access: Access{Tokens: file, TokenList: fixed},
	}, newStore(t))
	next := "http://" + p.HTTP + "/v1/default/next"
	status := func(secret string) int { code, _ := get(t, next, secret); return code }
	for secret, want := range map[string]int{
		"secret-a": 200, "secret-b": 403, "secret-c": 200, "": 401,
		"secret-d": 401,
	} {
		if got := status(secret); got != want {
			t.Errorf("%q: %d, want %d", secret, got, want)
		}
	}
	if code, _ := get(t, "http://"+p.HTTP+"/metrics", "secret-a"); code != http.StatusForbidden {
		t.Errorf("metrics without the verb read: %d", code)
	}
	if code, text := get(t, "http://"+p.HTTP+"/metrics", "secret-b"); code != http.StatusOK ||
		!strings.Contains(text, "snowfence_ids_total") {
		t.Errorf("metrics with the verb read: %d", code)
	}
	c := dialRESP(t, p)
	if got := c.ask("AUTH secret-a"); got != "+OK" {
		t.Fatal(got)
	}
	if got := c.ask("SNOWFENCE.NEXT default"); !strings.HasPrefix(got, ":") && !strings.HasPrefix(got, "$") {
		t.Fatal(got)
	}
	noError(t, os.WriteFile(file, []byte("tokens: [{name: a}]"), 0o600))
	eventually(t, "a warning", func() bool { return strings.Contains(logs.String(), "cannot be read") })
	if got := status("secret-a"); got != 200 {
		t.Errorf("a broken file took tokens away: %d", got)
	}
	write(token("b", "secret-b", server.VerbIDs))
	eventually(t, "a taken away", func() bool { return status("secret-a") == 401 })
	eventually(t, "b may", func() bool { return status("secret-b") == 200 })
	if got := status("secret-c"); got != 200 {
		t.Errorf("the token of the configuration: %d", got)
	}
	if got := c.ask("SNOWFENCE.NEXT default"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("a connection goes on with a token that was taken away: %s", got)
	}
}

// A token's rate holds over all wires together.
func TestRate(t *testing.T) {
	k := token("a", "secret-a", server.VerbIDs)
	k.Rate, k.Burst = 1e-6, 10
	p, _ := start(t, Config{
		Listeners: Listeners{RESP: "127.0.0.1:0"}, Access: Access{TokenList: []server.Token{k}},
	}, newStore(t))
	c := dialRESP(t, p)
	c.ask("AUTH secret-a")
	if code, body := get(t, "http://"+p.HTTP+"/v1/default/next?n=9", "secret-a"); code != 200 {
		t.Fatal(code, body)
	}
	if got := c.ask("SNOWFENCE.NEXT default"); strings.HasPrefix(got, "-") {
		t.Error(got)
	}
	if got := c.ask("SNOWFENCE.NEXT default"); !strings.HasPrefix(got, "-LIMIT") {
		t.Error(got)
	}
	if code, _ := get(t, "http://"+p.HTTP+"/v1/default/next", "secret-a"); code != http.StatusTooManyRequests {
		t.Error(code)
	}
}

// A client that connects and says nothing is cut off before its handshake,
// on both ports; one that did shake hands may be silent.
func TestSilentClients(t *testing.T) {
	ca, cert, key := newCertificate(t)
	p, _ := start(t, Config{
		Listeners: Listeners{RESP: "127.0.0.1:0"}, Access: Access{TLSCert: cert, TLSKey: key},
		Limits: Limits{Slow: 200 * time.Millisecond},
	}, newStore(t))
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	known := must(tls.Dial("tcp", p.RESP, &tls.Config{RootCAs: roots}))
	defer known.Close()
	for _, address := range []string{p.HTTP, p.RESP} {
		c := must(net.Dial("tcp", address))
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(patienceOfTests))
		if _, err := io.ReadAll(c); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: a silent client stays", address)
		}
	}
	must(known.Write([]byte("PING\r\n")))
	if line, err := bufio.NewReader(known).ReadString('\n'); err != nil || !strings.HasPrefix(line, "+PONG") {
		t.Errorf("%q %v", line, err)
	}
}
