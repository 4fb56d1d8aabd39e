package storetest

import (
	"math"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

var everyNode = snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}

// backup reads everything there is.
func (w *world) backup() []store.Record {
	w.Helper()
	heads, err := w.st.Store.Heads(w.ctx)
	w.must(err)
	names := []string{name}
	for _, r := range heads {
		names = append(names, r.Namespace)
	}
	slices.Sort(names)
	var all []store.Record
	for _, n := range slices.Compact(names) {
		rs, err := w.st.Store.List(w.ctx, n, everyNode, math.MaxInt32)
		w.must(err)
		all = append(all, rs...)
	}
	return all
}

// restore puts a backup back. Later writes are gone, and new records have vanished.
func (w *world) restore(backup []store.Record) {
	w.Helper()
	old := map[store.Key]bool{}
	for _, r := range backup {
		old[r.Key] = true
		rs, err := w.st.Store.Get(w.ctx, []store.Key{r.Key})
		w.must(err)
		if rs[0] != r {
			w.swapAll(store.Write{Old: rs[0].Nonce, New: r})
		}
	}
	for _, r := range w.backup() {
		if !old[r.Key] {
			w.st.vanish(r)
		}
	}
}

func testSetBack(w *world) {
	u, v := w.on(4), w.on(9)
	u.produce(10)
	backup := w.backup()
	for range 3 {
		w.sleep(ttl / 3)
		w.must(u.grant())
		w.must(v.grant())
		u.produce(10)
		v.produce(10)
	}
	x := w.on(2) // not in the backup
	top := w.ledger.top(-1)
	w.restore(backup)
	w.sleep(ttl / 6)
	now := w.tick()
	for _, y := range []*user{u, v, x} {
		y.noticed()
	}
	w.raised()
	for _, y := range []*user{u, v, x} {
		w.must(y.grant())
	}
	for range 8 {
		y := w.open(nil)
		w.must(y.grant())
		if c := y.holds(); c.from < top || c.from < now+ttl.Milliseconds() {
			w.Errorf("a new grant begins at %d; granted were ticks to %d, and one ttl from now is %d",
				c.from, top, now+ttl.Milliseconds())
		}
	}
	ns, err := lease.Namespaces(w.st).Show(w.ctx, name)
	w.must(err)
	if ns.Generation > 3 {
		w.Errorf("three holders saw the store rolled back and raised its floor again and again, to generation %d",
			ns.Generation)
	}
}
