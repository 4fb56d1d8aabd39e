package rpc

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// restorable is a store that can be put back to what it was, with another
// identity or with the same.
type restorable struct{ *store.Memory }

// backup returns what puts the store back.
func (r restorable) backup(t *testing.T) (restore func(another bool)) {
	t.Helper()
	all := func() map[store.Key]store.Record {
		heads := got(r.Heads(context.Background()))
		out := map[store.Key]store.Record{}
		for _, head := range heads {
			among := snowfence.NodeRange{From: head.Node, Until: 1<<63 - 1}
			rs := got(r.List(context.Background(), head.Namespace, among, 1<<20))
			for _, r := range rs {
				out[r.Key] = r
			}
		}
		return out
	}
	old := all()
	return func(another bool) {
		if another {
			noError(t, r.Suspect(context.Background(), must(store.Identity(context.Background(), r, ""))))
		}
		for k, now := range all() {
			if old[k] == now {
				continue
			}
			must(store.Put(context.Background(), r, store.Write{Old: now.Nonce, New: old[k]}))
		}
	}
}

// holderOf returns a client with the verbs of a holder, of a new server
// over a store.
func holderOf(t *testing.T, st store.Store, o server.Options) *remote.Client {
	t.Helper()
	a, err := server.NewAuth([]server.Token{{
		Name: "holder", Verbs: []server.Verb{server.VerbRead, server.VerbLease},
		SHA256: "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b", // of "secret"
	}})
	noError(t, err)
	id := must(a.Identify("secret"))
	service := server.New(store.Group(st), o)
	mux := http.NewServeMux()
	Mount(mux, service, func(*http.Request) (*server.Identity, error) { return id, nil }, plain)
	h := httptest.NewUnstartedServer(mux)
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetHTTP1(true)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	t.Cleanup(h.Close)
	return client(t, &host{Server: h, service: service})
}

// Holders behind a server notice a store that was rolled back, with the
// same identity or another, also when the server is another one by then:
// each goes on above all that was made.
func TestSetBackBehindAServer(t *testing.T) {
	for name, another := range map[string]bool{"same identity": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			st := restorable{memory(t)}
			must(scope.Namespaces(st).Confirm(t.Context(), "n"))
			s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
			node := int64(7)
			c := holderOf(t, st, server.Options{})
			open := func(o lease.Options) *lease.Lease {
				t.Helper()
				o.Node, o.TTL = &node, 600*time.Millisecond
				l := must(c.Lease(t.Context(), "n", s, &o))
				t.Cleanup(l.Orphan)
				return l
			}
			first := open(lease.Options{})
			noError(t, first.Close())
			restore := st.backup(t)
			l := open(lease.Options{Idle: -1})
			before := l.Status().Grant
			until(t, "it is renewed", func() bool { return l.Status().Grant.Until > before.Until })
			used := l.Status().Grant
			restore(another)
			until(t, "it goes on above what it was granted",
				func() bool { g := l.Status().Grant; return g.From >= used.Until })
			ns, err := scope.Namespaces(st).Show(t.Context(), "n")
			if err != nil || ns.Floor < used.Until || ns.Identity != must(store.Identity(t.Context(), st, "n")) {
				t.Errorf("granted was %+v, and the namespace is %+v: %v", used, ns, err)
			}
		})
	}
}

// Keys are rotated at the server first: it makes a new key known, and then
// its clients may use it.
func TestRotationBehindAServer(t *testing.T) {
	const layout = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"
	st := store.NewMemory()
	a, b := snowfence.GenerateSecret(), snowfence.GenerateSecret()
	at := func(keys ...*snowfence.Secret) *remote.Client {
		o := server.Options{HandOut: true, Keys: func(string) ([]*snowfence.Secret, error) { return keys, nil }}
		h := serve(t, st, o)
		orders := &pb.CreateNamespaceRequest{Name: "orders", Layout: layout}
		must(h.service.Management.CreateNamespace(t.Context(), orders))
		return holderOf(t, st, o)
	}
	first := at(a)
	s, err := first.Scheme(t.Context(), "orders")
	if err != nil || len(s.KeyIDs()) != 1 {
		t.Fatalf("%v, %v", s, err)
	}
	l := must(snowfence.ParseLayout(layout))
	rotated := must(snowfence.NewScheme(l, a, b))
	if _, err := first.Lease(t.Context(), "orders", rotated, nil); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("a client with a key that the server has not: %v", err)
	}
	second := holderOf(t, st, server.Options{HandOut: true, Keys: func(string) ([]*snowfence.Secret, error) {
		return []*snowfence.Secret{a, b}, nil
	}})
	g := must(second.Open(t.Context(), &lease.Options{Namespace: "orders"}))
	id := must(g.Next(t.Context()))
	if p, err := rotated.Decode(id); err != nil || p.Key != 1 {
		t.Errorf("%d is %+v: %v", id, p, err)
	}
	noError(t, g.Close())
	if ns, err := scope.Namespaces(st).Show(t.Context(), "orders"); err != nil || len(ns.Keys) != 2 ||
		ns.Keys[1] != b.ID() {
		t.Errorf("the namespace knows %q: %v", ns.Keys, err)
	}
}
