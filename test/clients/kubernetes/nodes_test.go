package main

import (
	"context"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/nodes"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

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
