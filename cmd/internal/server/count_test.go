package server

import (
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// The alert about nodes that run out was silent while operators vetoed most of them.
func TestVetoedNodesCount(t *testing.T) {
	st := store.NewMemory()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	few := &lease.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 4}}
	if _, err := lease.Namespaces(st).Create(t.Context(), "n", s, few); err != nil {
		t.Fatal(err)
	}
	service := newService(t, st, Options{})
	for node := range int64(3) {
		if _, err := lease.Namespaces(st).Veto(t.Context(), "n", node, "its rack is on fire"); err != nil {
			t.Fatal(err)
		}
	}
	n, err := service.CountNodes(t.Context(), "n")
	if err != nil || n.Held != 3 || n.Leasable != 4 {
		t.Errorf("%d of %d nodes, %v", n.Held, n.Leasable, err)
	}
}
