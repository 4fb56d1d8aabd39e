package rpc

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// host is one of several servers over a store, which can be killed.
type host struct {
	*httptest.Server
	service *server.Service
	asked   atomic.Int64 // for leases
	gone    atomic.Bool  // answers to these get lost, after they were carried out
	hold    sync.RWMutex // held to keep them waiting
}

func serve(t testing.TB, st store.Store, o server.Options) *host {
	t.Helper()
	h := &host{service: server.New(store.Group(st), o)}
	mux := http.NewServeMux()
	Mount(mux, h.service, func(*http.Request) (*server.Identity, error) { return server.Open().Anyone(), nil }, plain)
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, ".LeaseService/") {
			h.asked.Add(1)
			h.hold.RLock()
			defer h.hold.RUnlock()
			if h.gone.Load() {
				mux.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
		}
		mux.ServeHTTP(w, r)
	}))
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetHTTP1(true)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	t.Cleanup(h.kill)
	return h
}

// kill ends a server at once.
func (h *host) kill() {
	h.CloseClientConnections()
	h.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.service.Close(ctx) // it has no time to give back
}

func client(t testing.TB, hosts ...*host) *remote.Client {
	t.Helper()
	var addresses []string
	for _, h := range hosts {
		addresses = append(addresses, h.URL)
	}
	c := must(remote.Dial(addresses, nil))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// memory returns a store with the namespace n.
func memory(t testing.TB) *store.Memory {
	t.Helper()
	st := store.NewMemory()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(context.Background(), "n", s, nil))
	return st
}

// What answers at an address and is no server of ours, such as a proxy, is
// passed by, and so is a server that has no node.
func TestRemotePassesByStrangers(t *testing.T) {
	var hosts []*host
	for _, body := range []string{"<html>", `{"message":"no route"}`} {
		stranger := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, body, http.StatusForbidden)
		}))
		stranger.Config.Protocols = new(http.Protocols)
		stranger.Config.Protocols.SetUnencryptedHTTP2(true)
		stranger.Start()
		t.Cleanup(stranger.Close)
		hosts = append(hosts, &host{Server: stranger})
	}
	st := store.NewMemory()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	one := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 5, Until: 6}}
	must(scope.Namespaces(st).Create(t.Context(), "default", s, one))
	ours := serve(t, st, server.Options{})
	for _, c := range []*remote.Client{client(t, ours), client(t, serve(t, st, server.Options{}), ours)} {
		must(must(c.Source("default", nil)).Next(t.Context()))
	}
	must(client(t, append(hosts, ours)...).Scheme(t.Context(), "default"))
	secure := httptest.NewTLSServer(ours.Config.Handler) // with HTTP/1.1 alone, as a proxy may have
	defer secure.Close()
	o := &remote.Options{TLS: secure.Client().Transport.(*http.Transport).TLSClientConfig}
	must(must(remote.Dial([]string{secure.URL}, o)).Scheme(t.Context(), "default"))
}

// A server whose answers are lost leased a node: the other one finds it,
// and no second node is taken. The same holds for a renewal.
func TestRemoteAnswersAreLost(t *testing.T) {
	st := memory(t)
	a, b := serve(t, st, server.Options{}), serve(t, st, server.Options{})
	a.gone.Store(true)
	c := client(t, a, b)
	s := must(c.Scheme(t.Context(), "n"))
	l := must(c.Lease(t.Context(), "n", s, &lease.Options{TTL: 600 * time.Millisecond, Label: "remote"}))
	first := l.Status().Grant
	b.gone.Store(true)
	a.gone.Store(false)
	until(t, "it is renewed by the server whose answers come",
		func() bool { return l.Status().Grant.Until > first.Until })
	noError(t, l.Close())
	v, err := b.service.Views.Read(t.Context(), "n")
	if err != nil || len(v.Leases) != 1 || v.Leases[0].Held || v.Leases[0].Node != first.Node {
		t.Errorf("the leases are %+v, %v, and node %d was granted", v.Leases, err, first.Node)
	}
	if a.asked.Load() < 2 || b.asked.Load() < 2 {
		t.Errorf("the servers were asked %d and %d times", a.asked.Load(), b.asked.Load())
	}
}

// Renewals that come while others are under way share a request.
func TestRemoteRenewalsTravelTogether(t *testing.T) {
	h := serve(t, memory(t), server.Options{})
	c := client(t, h)
	s := must(c.Scheme(t.Context(), "n"))
	const n = 200
	leases := must(c.Leases(t.Context(), "n", s, n, &lease.Options{TTL: 6 * time.Second, Label: "many"}))
	first := make([]snowfence.Grant, n)
	for i, l := range leases {
		first[i] = l.Status().Grant
	}
	h.hold.Lock()
	asked := h.asked.Load()
	time.Sleep(2300 * time.Millisecond) // all are due by then
	h.hold.Unlock()
	until(t, "all are renewed", func() bool {
		for i, l := range leases {
			if l.Status().Grant.Until == first[i].Until {
				return false
			}
		}
		return true
	})
	if n := h.asked.Load() - asked; n > 100 {
		t.Errorf("%d requests", n)
	}
	_ = lease.ShutdownAll(t.Context(), leases) // a slow machine may be too late for a release
}

// The source keeps order, throws old IDs away, and comes back after an
// outage.
func TestRemoteSource(t *testing.T) {
	st := memory(t)
	a := serve(t, st, server.Options{})
	c := client(t, a)
	s := must(c.Source("n", &remote.SourceOptions{Batch: 64, MaxAge: time.Minute}))
	defer s.Close()
	last := snowfence.ID(0)
	for range 5000 {
		id, err := s.Next(t.Context())
		if err != nil || id <= last {
			t.Fatalf("%d after %d: %v", id, last, err)
		}
		last = id
	}
	old := must(c.Source("n", &remote.SourceOptions{Batch: 64, MaxAge: time.Nanosecond}))
	defer old.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if id, err := old.Next(ctx); err == nil {
		t.Errorf("%d is older than a nanosecond", id)
	}
	fails(t, errOf(c.Source("n", &remote.SourceOptions{Batch: -1})), "a negative batch")
	none := must(c.Source("nowhere", nil))
	defer none.Close()
	wantErr(t, errOf(none.Next(t.Context())), lease.ErrNoNamespace, "no namespace")
}

// A server that stands still, as one that was stopped or is behind a broken
// network does, holds a source up for a moment only, however long a request
// may take.
func TestRemoteSourceGoesRoundAHangingServer(t *testing.T) {
	st := memory(t)
	b := serve(t, st, server.Options{})
	var asked atomic.Int64
	still := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	still.Config.Protocols = new(http.Protocols)
	still.Config.Protocols.SetUnencryptedHTTP2(true)
	still.Start()
	t.Cleanup(still.Close)
	c := must(remote.Dial([]string{still.URL, b.URL}, &remote.Options{Timeout: time.Hour}))
	defer c.Close()
	s := must(c.Source("n", nil))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if _, err := s.Next(ctx); err != nil || asked.Load() != 1 {
		t.Errorf("after %d requests to the server that hangs: %v", asked.Load(), err)
	}
}

// Secrets go where the server hands them out, and IDs are the same ones
// then.
func TestRemoteEncrypted(t *testing.T) {
	st := store.NewMemory()
	key := snowfence.GenerateSecret()
	o := server.Options{Keys: func(string) ([]*snowfence.Secret, error) { return []*snowfence.Secret{key}, nil }}
	keeps := serve(t, st, o)
	o.HandOut = true
	gives := serve(t, st, o)
	secret := &pb.CreateNamespaceRequest{Name: "secret", Layout: "randflake"}
	must(keeps.service.Management.CreateNamespace(t.Context(), secret))
	wantErr(t, errOf(client(t, keeps).Scheme(t.Context(), "secret")), lease.ErrRefused,
		"a server that keeps its secrets")
	g := must(client(t, gives).Open(t.Context(), &lease.Options{Namespace: "secret"}))
	defer g.Close()
	id := must(g.Next(t.Context()))
	sp := must(keeps.service.Spaces.Find(t.Context(), "secret"))
	gr, _ := g.Grant()
	if p, err := sp.Decode(id); err != nil || p.Node != gr.Node {
		t.Errorf("decoded by the server: %+v, %v; the grant is %+v", p, err, gr)
	}
}

// What cannot be an address is refused, without the password that may be in
// it.
func TestRemoteDial(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:8080", "ftp://x", "http://user:hunter2@x", "http://"} {
		_, err := remote.Dial([]string{address}, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", address, err)
		}
	}
	fails(t, errOf(remote.Dial(nil, nil)), "no servers")
}

// A token that is replaced in its file is in use from the next request on,
// and the last one while the file is being written.
func TestTokenFile(t *testing.T) {
	var got atomic.Pointer[string]
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		got.Store(&token)
		w.WriteHeader(http.StatusNotFound)
	}))
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "token")
	c := must(remote.Dial([]string{srv.URL}, &remote.Options{TokenFile: file}))
	defer c.Close()
	ask := func() (string, error) {
		got.Store(new(string))
		_, err := c.Namespace(t.Context(), "n")
		return *got.Load(), err
	}
	if token, err := ask(); token != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %q, %v", token, err)
	}
	for _, step := range []struct{ text, want string }{
		{"first\n", "Bearer first"}, {"second", "Bearer second"}, {" \n", "Bearer second"},
	} {
		noError(t, os.WriteFile(file, []byte(step.text), 0o600))
		if token, err := ask(); token != step.want {
			t.Errorf("%q in the file: %q, %v", step.text, token, err)
		}
	}
	fails(t, errOf(remote.Dial([]string{srv.URL}, &remote.Options{Token: "x", TokenFile: file})), "both are given")
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// got returns the records of an answer that has to come.
func got[T any](v T, _ store.Reply, err error) T { return must(v, err) }
