package main

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/nodes"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func namespace(t *testing.T, st store.Store) {
	t.Helper()
	s := fleet.Default(t)
	if _, err := scope.Namespaces(st).Create(t.Context(), "orders", s,
		&scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 5, Until: 6}}); err != nil {
		t.Fatal(err)
	}
}

// pod runs the service, and returns its address, its SIGTERM and how it
// ended.
func pod(t *testing.T, st store.Store, name string) (url string, term func(), ended chan error) {
	t.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, term := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- run(ctx, in, st, name) }()
	t.Cleanup(term)
	return "http://" + in.Addr().String(), term, ended
}

func status(t *testing.T, method, url string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status, body, err := servers.Ask(ctx, http.DefaultClient, method, url, "")
	if status == 0 {
		t.Fatal(err)
	}
	return status, body
}

func await(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
		return nil
	}
}

// TestRollingUpdate has one node and two pods: the second waits for the
// node, and has it when the first was told to end.
func TestRollingUpdate(t *testing.T) {
	st := store.NewMemory()
	namespace(t, st)
	old, term, ended := pod(t, st, "web-old")
	for _, path := range []string{"/readyz", "/livez"} {
		if code, body := status(t, "GET", old+path); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	code, first := status(t, "POST", old+"/orders")
	if code != http.StatusOK {
		t.Fatalf("no ID: %d %s", code, first)
	}
	next, _, _ := pod(t, st, "web-new")
	term()
	if err := await(t, ended); err != nil {
		t.Fatalf("it ended with: %v", err)
	}
	code, second := status(t, "POST", next+"/orders") // answered when the lease is there
	if code != http.StatusOK || second <= first {
		t.Errorf("the next pod: %d %s, after %s", code, second, first)
	}
	rs, err := scope.Namespaces(st).Leases(t.Context(), "orders")
	if err != nil || len(rs) != 1 || rs[0].Label != "web-new" {
		t.Errorf("leases: %+v, %v", rs, err)
	}
}

// TestGiveBack looks at the store after SIGTERM.
func TestGiveBack(t *testing.T) {
	st := store.NewMemory()
	namespace(t, st)
	url, term, ended := pod(t, st, "web")
	status(t, "POST", url+"/orders")
	term()
	must(t, await(t, ended))
	rs, err := scope.Namespaces(st).Leases(t.Context(), "orders")
	if err != nil || len(rs) != 1 || rs[0].Holder != "" {
		t.Errorf("leases: %+v, %v", rs, err)
	}
}

// TestEnded deletes the namespace: the service ends, so that it is started
// again and says why.
func TestEnded(t *testing.T) {
	st := store.NewMemory()
	namespace(t, st)
	url, _, ended := pod(t, st, "web")
	status(t, "POST", url+"/orders")
	must(t, tests.ErrOf(scope.Namespaces(st).Delete(t.Context(), "orders")))
	tests.Refuses(t, await(t, ended), lease.ErrEnded, "deleted")
}

// byOrdinal leases the node of a StatefulSet's pod.
func byOrdinal(ctx context.Context, st store.Store, scheme *snowfence.Scheme, label string) (*lease.Lease, error) {
	node, err := nodes.Find(ctx, scheme, nodes.FromOrdinal())
	if err != nil {
		return nil, err
	}
	return lease.Open(ctx, st, "orders", scheme, &lease.Options{
		Node: &node, Guard: true, Label: label, Wait: true,
		Idle: -1,
	})
}

// byZone leases a worker of the datacenter that the environment names.
func byZone(ctx context.Context, st store.Store, scheme *snowfence.Scheme, label string) (*lease.Lease, error) {
	zone, err := nodes.FromEnv("DATACENTER").Number(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := scheme.NodesWith(map[string]int64{"datacenter": zone})
	if err != nil {
		return nil, err
	}
	return lease.Open(ctx, st, "orders", scheme, &lease.Options{Within: workers, Label: label, Wait: true, Idle: -1})
}

func TestNumbers(t *testing.T) {
	ctx, st := t.Context(), store.NewMemory()
	scheme := fleet.Scheme(t, "twitter")
	must(t, tests.ErrOf(scope.Namespaces(st).Create(ctx, "orders", scheme, nil)))
	t.Setenv("DATACENTER", "3")
	l, err := byZone(ctx, st, scheme, "web")
	must(t, err)
	defer l.Shutdown(ctx)
	if parts := scheme.NodeParts(l.Status().Grant.Node); parts[0] != 3 {
		t.Errorf("leased %v in datacenter 3", parts)
	}
	want, err := nodes.Find(ctx, scheme, nodes.FromOrdinal())
	if err != nil { // this machine is no pod of a StatefulSet
		tests.WantErr(t, tests.ErrOf(byOrdinal(ctx, st, scheme, "web")), nodes.ErrNoNode,
			"a host name without an ordinal")
		return
	}
	o, err := byOrdinal(ctx, st, scheme, "web")
	must(t, err)
	defer o.Shutdown(ctx)
	if got := o.Status().Grant.Node; got != want {
		t.Errorf("leased %d, the ordinal is %d", got, want)
	}
}
