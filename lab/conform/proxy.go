package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

const (
	leaseService = "/snowfence.v1.LeaseService/"
	otherPlace   = "/another-place" // where no server of ours is
)

// answer is the referee's way with a call. The zero value lets it through.
type answer struct {
	unreached bool                        // the server does not see it
	hold      func(context.Context)       // waits before the answer, while the client waits
	dropped   bool                        // the connection breaks in place of an answer
	bytes     func(w http.ResponseWriter) // damaged bytes in place of an answer
	fail      *failure                    // in place of the answer
	change    func(*pb.Lease)             // to the lease in it
}

// proxy stands between a client and a server.
type proxy struct {
	scene  *scene
	listen net.Listener
	http   *http.Server
	under  sync.WaitGroup // requests that are being answered

	mu     sync.Mutex
	server *instance
	number int // of its start
}

// instance is a server from its start to its end.
type instance struct {
	cmd    *exec.Cmd
	client *http.Client // whose requests all go to its socket
}

// newInstance starts a server over the store of the scene.
func newInstance(s *scene, number int) (*instance, error) {
	socket := filepath.Join(s.folder, strconv.Itoa(number))
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	i := &instance{
		cmd: exec.Command(s.program, "serve", "--store", s.storeURL(), "--http", "unix:"+socket, "--resp", ""),
		client: &http.Client{
			Transport:     &http.Transport{DialContext: dial, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	var said bytes.Buffer
	i.cmd.Stderr = &said
	if err := i.cmd.Start(); err != nil {
		return nil, err
	}
	for limit := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := dial(s.ctx, "", "")
		if err == nil {
			return i, conn.Close()
		}
		if time.Now().After(limit) || s.ctx.Err() != nil {
			i.close()
			return nil, fmt.Errorf("the server does not listen: %w: %s", err, said.Bytes())
		}
	}
}

// newProxy listens on a free port of this machine.
func newProxy(s *scene) (_ *proxy, err error) {
	p := &proxy{scene: s}
	if p.server, err = newInstance(s, 0); err != nil {
		return nil, err
	}
	if p.listen, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	p.http = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	p.http.Protocols.SetHTTP1(true)
	p.http.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = p.http.Serve(p.listen) }() // until close
	return p, nil
}

func (p *proxy) close() {
	_ = p.http.Close() // cuts clients off
	p.under.Wait()
	p.server.close()
}

func (i *instance) close() {
	i.client.CloseIdleConnections()
	_ = i.cmd.Process.Kill()
	_ = i.cmd.Wait() // it was killed
}

// replaceServer puts another server in the place of the running one.
func (p *proxy) replaceServer() error {
	p.mu.Lock()
	p.number++
	number := p.number
	p.mu.Unlock()
	next, err := newInstance(p.scene, number)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.server, next = next, p.server
	p.mu.Unlock()
	next.close()
	return nil
}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.under.Add(1)
	defer p.under.Done()
	s := p.scene
	s.createOnce()
	if r.URL.Path == otherPlace {
		s.judge.noteOffence("it follows a redirect, which can send its ticket and its token to another host")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
	if err != nil {
		return // the client hung up
	}
	c, err := read(r, body)
	if err != nil {
		s.judge.noteOffence("a request that is none: %s: %v", r.URL.Path, err)
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
		return
	}
	if c == nil {
		if s.away.Load() {
			panic(http.ErrAbortHandler)
		}
		copyTo(w, p.askServer(r, body))
		return
	}
	s.judge.judgeCall(c)
	a := s.answerTo(c)
	p.playCall(w, r, c, a, body)
}

// askServer has the server carry out a request, whatever becomes of its
// client.
func (p *proxy) askServer(r *http.Request, body []byte) *httptest.ResponseRecorder {
	p.mu.Lock()
	client := p.server.client
	p.mu.Unlock()
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.RequestURI, again.URL.Scheme, again.URL.Host = "", "http", "server"
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	w := httptest.NewRecorder()
	answer, err := client.Do(again)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return w
	}
	defer answer.Body.Close()
	w.Code = answer.StatusCode
	maps.Copy(w.Header(), answer.Header)
	_, _ = w.Body.ReadFrom(answer.Body) // what is cut off is an answer that is none
	return w
}

// playCall carries out a call as the script wants it.
func (p *proxy) playCall(w http.ResponseWriter, r *http.Request, c *call, a answer, body []byte) {
	j := p.scene.judge
	var real *httptest.ResponseRecorder
	var l *pb.Lease
	var f *failure
	if !a.unreached {
		real = p.askServer(r, body)
		var err error
		if l, f, err = leaseIn(c, real.Code, real.Body.Bytes()); err != nil {
			f = unavailable
		}
		if l != nil && c.acquire != nil {
			j.noteAcquisition(l)
		}
	}
	if a.hold != nil {
		a.hold(r.Context())
	}
	switch {
	case a.bytes != nil:
		j.noteUnanswered(c)
		a.bytes(w)
	case a.dropped, a.unreached && a.fail == nil:
		j.noteUnanswered(c)
		panic(http.ErrAbortHandler)
	case a.fail != nil:
		j.noteFailure(c, a.fail)
		a.fail.writeTo(w, r, c)
	case l != nil:
		if a.change != nil {
			a.change(l)
		}
		j.noteGrant(c, l)
		writeLease(w, c, l)
	default:
		j.noteFailure(c, f)
		copyTo(w, real)
	}
}

func copyTo(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	for k, v := range from.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(from.Code)
	_, _ = w.Write(from.Body.Bytes()) // the client may be gone
}
