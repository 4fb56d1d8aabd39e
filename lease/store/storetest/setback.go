package storetest

import (
	"math"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

var everyNode = snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}

// putBack puts a backup back. Later writes are gone, and new records have
// vanished.
func (w *world) putBack(backup []store.Record) {
	w.Helper()
	old := map[store.Key]bool{}
	for _, r := range backup {
		old[r.Key] = true
		rs, _, err := w.st.Store.Get(w.ctx, []store.Key{r.Key})
		w.mustNot(err)
		if rs[0] != r {
			w.swapAll(store.Write{Old: rs[0].Nonce, New: r})
		}
	}
	for _, r := range w.readAll() {
		if !old[r.Key] {
			w.st.removeRecord(r)
		}
	}
}

// readAll reads everything there is.
func (w *world) readAll() []store.Record {
	w.Helper()
	heads, _, err := w.st.Store.Heads(w.ctx)
	w.mustNot(err)
	names := []string{name}
	for _, r := range heads {
		names = append(names, r.Namespace)
	}
	slices.Sort(names)
	var all []store.Record
	for _, n := range slices.Compact(names) {
		rs, _, err := w.st.Store.List(w.ctx, n, everyNode, math.MaxInt32)
		w.mustNot(err)
		all = append(all, rs...)
	}
	return all
}

func testSetBack(w *world) {
	u, v := w.openNode(4), w.openNode(9)
	u.makeIDs(10)
	backup := w.readAll()
	for range 3 {
		w.passTime(ttl / 3)
		w.mustNot(u.askGrant())
		w.mustNot(v.askGrant())
		u.makeIDs(10)
		v.makeIDs(10)
	}
	x := w.openNode(2) // not in the backup
	top := w.ledger.highestEnd(-1)
	w.putBack(backup)
	w.passTime(ttl / 6)
	now := w.tick()
	for _, y := range []*user{u, v, x} {
		y.awaitNotice()
	}
	w.passRaise()
	for _, y := range []*user{u, v, x} {
		w.mustNot(y.askGrant())
	}
	for range 8 {
		y := w.openLease(nil)
		w.mustNot(y.askGrant())
		if c := y.heldClaim(); c.from < top || c.from < now+ttl.Milliseconds() {
			w.Errorf("a new grant begins at %d; granted were ticks to %d, and one ttl from now is %d",
				c.from, top, now+ttl.Milliseconds())
		}
	}
	ns, err := scope.Namespaces(w.st).Show(w.ctx, name)
	w.mustNot(err)
	if ns.Generation > 3 {
		w.Errorf("three holders saw the store rolled back and raised its floor again and again, to generation %d",
			ns.Generation)
	}
}
