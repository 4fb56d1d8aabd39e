//go:build unix

package agent

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
	"github.com/snowfence/snowfence/remote"
)

// patience is how long a test waits for what has to happen on a machine
// that is busy.
const patience = time.Minute

// rig is a store with a namespace in units of 16 nodes.
type rig struct {
	testing.TB
	st  store.Store
	s   *snowfence.Scheme
	ttl time.Duration // of units
}

func newRig(t testing.TB) *rig {
	t.Helper()
	s := must(snowfence.NewScheme(snowfence.Default()))
	r := &rig{t, store.NewMemory(), s, scope.DefaultTTL}
	must(scope.Namespaces(r.st).Create(t.Context(), "jobs", s, &scope.NamespaceOptions{Unit: 16}))
	return r
}

// overStore is the store as the servers of an agent.
func (r *rig) overStore() wire.Server { return lease.Serve(r.st, r.s, nil) }

// overServer is a server over the store.
func (r *rig) overServer() wire.Server {
	r.Helper()
	p := must(serve.Start(r.Context(), serve.Config{Listeners: serve.Listeners{HTTP: "127.0.0.1:0"}}, r.st))
	r.Cleanup(func() { r.stop(p) })
	c := r.dial("http://" + p.HTTP)
	ns, err := c.Namespace(r.Context(), "jobs")
	if err != nil || ns.Unit != 16 || ns.MaxTTL != scope.DefaultTTL || !ns.Layout.Equal(r.s.Layout()) {
		r.Fatalf("%+v, %v", ns, err)
	}
	return c.Server()
}

func (r *rig) stop(p interface{ Stop(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		r.Errorf("stopping: %v", err)
	}
}

func (r *rig) dial(address string) *remote.Client {
	r.Helper()
	c := must(remote.Dial([]string{address}, &remote.Options{Timeout: patience}))
	r.Cleanup(func() { _ = c.Close() })
	return c
}

// running is an agent and its server.
type running struct {
	*Agent
	*serve.Process
}

// start starts an agent, and returns a client at its socket.
func (r *rig) start(from wire.Server) (running, *remote.Client) {
	r.Helper()
	socket := "unix:" + filepath.Join(r.TempDir(), "s")
	c := serve.Config{
		Listeners: serve.Listeners{HTTP: socket}, ReadyFor: []string{"jobs"},
		Options: server.Options{Logger: slog.New(slog.DiscardHandler), Label: "agent"},
	}
	a := must(New(r.Context(), &c, from, "jobs", remote.Namespace{Layout: r.s.Layout(), Unit: 16, MaxTTL: r.ttl}))
	p := must(serve.Start(r.Context(), c, a.Store))
	r.Cleanup(func() { r.stop(p) })
	return running{a, p}, r.dial(socket)
}

// held returns the nodes of the store that are held.
func (r *rig) held() (nodes []int64) {
	r.Helper()
	rs := must(scope.Namespaces(r.st).Leases(r.Context(), "jobs"))
	for _, one := range rs {
		if one.Holder != "" {
			nodes = append(nodes, one.Node)
		}
	}
	return nodes
}

// An agent hands out nodes of one unit, over a store and over a server; IDs
// of its own and of its holders differ; each user has a quarter of the
// unit.
func TestAgent(t *testing.T) {
	for name, source := range map[string]func(*rig) wire.Server{
		"store":  (*rig).overStore,
		"server": (*rig).overServer,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a, c := r.start(source(r))
			seen, nodes := map[snowfence.ID]bool{}, map[int64]bool{}
			note := func(id snowfence.ID, err error) {
				t.Helper()
				if err != nil || seen[id] {
					t.Fatalf("%d: %v", id, err)
				}
				seen[id] = true
			}
			src := must(c.Source("jobs", nil))
			defer src.Close()
			note(src.Next(t.Context()))
			var all []*lease.Lease
			for range 4 {
				l := must(c.Lease(t.Context(), "jobs", r.s, nil))
				all = append(all, l)
				g := must(snowfence.New(snowfence.Config{Fence: l, MaxWait: patience}))
				node := l.Status().Grant.Node
				if nodes[node] {
					t.Errorf("node %d twice", node)
				}
				nodes[node] = true
				for range 10 {
					note(g.Next(t.Context()))
				}
				note(src.Next(t.Context()))
			}
			n, err := a.Service().Views.CountNodes(t.Context(), "jobs")
			if err != nil || n.Held != 5 || n.Leasable != 16 {
				t.Errorf("with the agent's own node: %+v, %v", n, err)
			}
			if runtime.GOOS == "linux" { // elsewhere the kernel does not tell the user
				again := serve.Config{Agent: true, Listeners: serve.Listeners{HTTP: a.HTTP}}
				again.Logger = slog.New(slog.DiscardHandler)
				tests.NoError(t, a.Reload(again))
				c = r.dial(a.HTTP)
				_, err := c.Lease(t.Context(), "jobs", r.s, nil)
				tests.Says(t, err, "may hold 4 nodes", "more than a quarter")
				tests.NoError(t, all[0].Close())
				for end := time.Now().Add(patience); ; { // up to the tick after its last ID
					if all[0], err = c.Lease(t.Context(), "jobs", r.s, nil); err == nil {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("after a release: %v", err)
					}
				}
			}
			for _, l := range all {
				tests.WantErr(t, l.Close(), nil, "giving back")
			}
			if n := r.held(); len(n) != 1 {
				t.Errorf("units at %v are held", n)
			}
			must(scope.Namespaces(r.st).Change(t.Context(), "jobs", nil, &scope.NamespaceOptions{MaxTTL: r.ttl / 2}))
			tests.NoError(t, must(a.unit(t.Context(), snowfence.NodeRange{}, "later")).Lease().Close())
		})
	}
}

// An agent has no nodes but the ones of its units, and no namespace but its
// own.
func TestAgentHasNothingElse(t *testing.T) {
	r := newRig(t)
	_, c := r.start(r.overStore())
	node := int64(40)
	for what, o := range map[string]*lease.Options{
		"a node by its number": {Node: &node}, "a unit": {Nodes: 16}, "two nodes": {Nodes: 2},
	} {
		tests.WantErr(t, tests.ErrOf(c.Lease(t.Context(), "jobs", r.s, o)), lease.ErrInvalid, "%s", what)
	}
	tests.WantErr(t, tests.ErrOf(c.Lease(t.Context(), "other", r.s, nil)), lease.ErrNoNamespace, "another namespace")
	st := must(newStore(t.Context(), "jobs", r.s, &scope.NamespaceOptions{Unit: 16}))
	_, err := lease.Open(t.Context(), st, "jobs", r.s, nil)
	tests.WantErr(t, err, errNoStore, "the agent's own store leases a node")
	if _, _, err := st.Add(t.Context(), store.Addition{}); !errors.Is(err, errNoStore) {
		t.Errorf("and gives numbers: %v", err)
	}
}

// Requests over HTTP get IDs; what is for managers is denied.
func TestAgentOverHTTP(t *testing.T) {
	r := newRig(t)
	a, _ := r.start(r.overStore())
	path := strings.TrimPrefix(a.HTTP, "unix:")
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	defer client.CloseIdleConnections()
	for _, q := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/v1/jobs/next", http.StatusOK},
		{"GET", "/v1/other/next", http.StatusNotFound},
		{"DELETE", "/v1/jobs?confirm=jobs", http.StatusForbidden},
	} {
		req := must(http.NewRequestWithContext(t.Context(), q.method, "http://anything"+q.path, nil))
		res := must(client.Do(req))
		_ = res.Body.Close()
		if res.StatusCode != q.want {
			t.Errorf("%s %s: %s", q.method, q.path, res.Status)
		}
	}
}

// After its namespace got another layout or was deleted, an agent says so
// and can lease nothing more, over a store and over a server.
func TestAgentOfAChangedNamespace(t *testing.T) {
	other := must(snowfence.NewScheme(must(snowfence.ParseLayout("time=42,node=10,seq=12,epoch=1990-01-01"))))
	for _, from := range []func(*rig) wire.Server{(*rig).overStore, (*rig).overServer} {
		for _, want := range []error{lease.ErrNoNamespace, lease.ErrMismatch} {
			r := newRig(t)
			r.ttl = time.Second // it looks at the store three times as often
			a, c := r.start(from(r))
			src := must(c.Source("jobs", nil))
			must(src.Next(t.Context()))
			if want == lease.ErrMismatch {
				must(scope.Namespaces(r.st).Change(t.Context(), "jobs", other, nil))
			} else {
				must(scope.Namespaces(r.st).Delete(t.Context(), "jobs"))
			}
			select {
			case err := <-a.Ended():
				tests.WantErr(t, err, want, "the end")
			case <-time.After(patience):
				t.Fatalf("the agent goes on: %v", want)
			}
			_, _ = src.Close(), a.Stop(t.Context()) // the lease of their nodes is gone
		}
	}
}

// A namespace with one node is not for agents.
func TestAgentNeedsNodes(t *testing.T) {
	l := must(snowfence.ParseLayout("time=41,node=0,seq=10,epoch=2025-01-01,tick=1ms"))
	_, err := New(t.Context(), new(serve.Config), nil, "jobs", remote.Namespace{Layout: l, Unit: 1})
	tests.Says(t, err, "has one node", "a layout without nodes")
}

// Without a unit, an agent leases 16 nodes together, or as many as there
// are.
func TestUnitOf(t *testing.T) {
	for _, c := range []struct{ unit, nodes, want int64 }{
		{1, 1024, 16}, {0, 1024, 16}, {64, 1024, 64}, {4, 1024, 16}, {1, 8, 8}, {1, 1, 1},
	} {
		if got := unitOf(c.unit, c.nodes); int64(got) != c.want {
			t.Errorf("%d of %d: %d, want %d", c.unit, c.nodes, got, c.want)
		}
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }
