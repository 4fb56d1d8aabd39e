package lease_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
)

// leaseOnce leases any node, and gives it back.
func leaseOnce(t *testing.T, st store.Store, o lease.Options) (node int64) {
	t.Helper()
	l := open(t, st, thousand(t), o)
	node = l.Status().Grant.Node
	noError(t, l.Close())
	return node
}

// The chance is one in a thousand for each start without the label.
func TestLabelFindsItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		first := leaseOnce(t, st, lease.Options{Label: "web-3"})
		for range 5 {
			if node := leaseOnce(t, st, lease.Options{Label: "web-3"}); node != first {
				t.Errorf("leased node %d, not %d again", node, first)
			}
		}
	})
}

// Machines with a store each and one label lease the same node as rarely as
// if they chose at random: of the 130,816 pairs of 512 stores 128 ± 11,
// where the label alone would make 8,176.
func TestOneLabelInManyStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stores = 512
		pairs, had := 0, map[int64]int{}
		for range stores {
			node := leaseOnce(t, store.NewMemory(), lease.Options{Label: "app"})
			pairs += had[node]
			had[node]++
		}
		if pairs > 230 {
			t.Errorf("%d pairs of %d stores lease the same node", pairs, stores)
		}
	})
}

func TestWithinRefused(t *testing.T) {
	st, s := store.NewMemory(), newScheme(t, "time=41,node=6,seq=12")
	must(scope.Namespaces(st).Create(t.Context(), "default", s,
		&scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 30, Until: 64}}))
	five := int64(5)
	for want, o := range map[string]lease.Options{
		"layout has nodes 0 to 63":        {Within: snowfence.NodeRange{From: 60, Until: 65}},
		"is nodes 9 to 8":                 {Within: snowfence.NodeRange{From: 9, Until: 9}},
		"leave one of them out":           {Within: snowfence.NodeRange{From: 30, Until: 40}, Node: &five},
		"can lease the nodes 30 to 63":    {Within: snowfence.NodeRange{From: 0, Until: 30}},
		"fewer than 4 of them are in 0 t": {Within: snowfence.NodeRange{From: 0, Until: 32}, Nodes: 4},
	} {
		if _, err := lease.Open(t.Context(), st, "default", s, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q in it", o, err, want)
		}
	}
	for range 2 { // 30 and 31 are what is in both
		l := must(lease.Open(t.Context(), st, "default", s, &lease.Options{Within: snowfence.NodeRange{
			From: 0, Until: 32,
		}}))
		defer l.Orphan()
		if n := l.Status().Grant.Node; n != 30 && n != 31 {
			t.Errorf("leased node %d", n)
		}
	}
}

func TestMemory(t *testing.T) {
	open := func(*testing.T) store.Store { return store.NewMemory() }
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

func TestLabelsThatNoStoreKeeps(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	for _, label := range []string{"a\x00b", "\xff", strings.Repeat("x", 129)} {
		if _, err := lease.Open(t.Context(), store.NewMemory(), "n", s, &lease.Options{
			Create: true, Label: label,
		}); err == nil || !strings.Contains(err.Error(), "Options.Label") {
			t.Errorf("label %q: %v", label, err)
		}
	}
}
