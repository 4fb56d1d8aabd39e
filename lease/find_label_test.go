package lease_test

import (
	"testing"
	"testing/synctest"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
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
