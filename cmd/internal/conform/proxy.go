package conform

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/rest"
	"github.com/snowfence/snowfence/cmd/internal/rpc"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

const (
	leaseService = "/snowfence.v1.LeaseService/"
	otherPlace   = "/another-place" // where no server of ours is
)

// answer is what the referee does with a call. The zero value lets it through.
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
	store  store.Store
	listen net.Listener
	http   *http.Server
	under  sync.WaitGroup // requests that are being answered

	mu     sync.Mutex
	server *instance
}

// instance is a server from its start to its end.
type instance struct {
	service *server.Service
	handler http.Handler
}

func newInstance(st store.Store) *instance {
	i := &instance{service: server.New(lease.Group(st), server.Options{Label: "the server"})}
	mux := http.NewServeMux()
	anyone := func(*http.Request) (*server.Identity, error) { return server.Open().Anyone(), nil }
	plain := func(h http.Handler) http.Handler { return h }
	rpc.Mount(mux, i.service, anyone, plain)
	rest.Mount(mux, i.service, anyone, plain)
	i.handler = mux
	return i
}

// newProxy listens on a free port of this machine.
func newProxy(s *scene, st store.Store) (*proxy, error) {
	p := &proxy{scene: s, store: st, server: newInstance(st)}
	var err error
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = i.service.Close(ctx) // it holds nothing
}

// restart puts another server in the place of the one that ran until now.
func (p *proxy) restart() {
	next := newInstance(p.store)
	p.mu.Lock()
	p.server, next = next, p.server
	p.mu.Unlock()
	next.close()
}

// ask has the server carry out a request, whatever becomes of its client.
func (p *proxy) ask(r *http.Request, body []byte) *httptest.ResponseRecorder {
	p.mu.Lock()
	h := p.server.handler
	p.mu.Unlock()
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, again)
	return w
}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.under.Add(1)
	defer p.under.Done()
	s := p.scene
	s.begin()
	if r.URL.Path == otherPlace {
		s.judge.found("it follows a redirect, which can send its ticket and its token to another host")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
	if err != nil {
		return // the client hung up
	}
	c, err := read(r, body)
	if err != nil {
		s.judge.found("a request that is none: %s: %v", r.URL.Path, err)
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
		return
	}
	if c == nil {
		if s.away.Load() {
			panic(http.ErrAbortHandler)
		}
		copyTo(w, p.ask(r, body))
		return
	}
	s.judge.asked(c)
	a := s.answerTo(c)
	p.play(w, r, c, a, body)
}

// play carries out a call as the script wants it.
func (p *proxy) play(w http.ResponseWriter, r *http.Request, c *call, a answer, body []byte) {
	j := p.scene.judge
	var real *httptest.ResponseRecorder
	var l *pb.Lease
	var f *failure
	if !a.unreached {
		real = p.ask(r, body)
		var err error
		if l, f, err = leaseIn(c, real.Code, real.Body.Bytes()); err != nil {
			f = unavailable
		}
		if l != nil && c.acquire != nil {
			j.took(l)
		}
	}
	if a.hold != nil {
		a.hold(r.Context())
	}
	switch {
	case a.bytes != nil:
		j.unanswered(c)
		a.bytes(w)
	case a.dropped, a.unreached && a.fail == nil:
		j.unanswered(c)
		panic(http.ErrAbortHandler)
	case a.fail != nil:
		j.failed(c, a.fail)
		a.fail.write(w, r, c)
	case l != nil:
		if a.change != nil {
			a.change(l)
		}
		j.granted(c, l)
		writeLease(w, c, l)
	default:
		j.failed(c, f)
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
