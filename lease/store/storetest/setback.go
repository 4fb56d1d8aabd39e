package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

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

// restore puts a backup back. What was written since is gone, and what was new has vanished.
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

// testSetBackRestart rolls the store back while no program looks. Its identity tells.
func testSetBackRestart(w *world) {
	u := w.on(4)
	backup := w.backup()
	w.sleep(ttl / 3)
	w.must(u.grant())
	u.produce(100)
	u.crash()
	w.restore(backup)
	w.st.be(func() (string, error) { return "restored", nil })
	node := int64(4)
	o := w.options(0)
	o.Node = &node
	v := w.open(o)
	w.raised()
	w.must(v.grant())
	if ns, err := lease.Namespaces(w.st).Show(w.ctx, name); err != nil || ns.Identity != "restored" {
		w.Errorf("the namespace after it: %+v, %v", ns, err)
	}
	// An operator who knows better says so.
	w.st.be(func() (string, error) { return "moved", nil })
	ns, err := lease.Namespaces(w.st).Confirm(w.ctx, name)
	w.must(err)
	w.must(v.release())
	w.sleep(time.Second)
	w.must(w.open(nil).grant())
	if after, err := lease.Namespaces(w.st).Show(w.ctx, name); err != nil || after.Floor != ns.Floor {
		w.Errorf("a confirmed store raised its floor: %+v, %v", after, err)
	}
}

// testSetBackRecreated deletes a namespace and makes it again before anybody has noticed
// that the store was rolled back: that is no reason to trust its records.
func testSetBackRecreated(w *world) {
	u := w.on(4)
	backup := w.backup()
	w.sleep(ttl / 3)
	w.must(u.grant())
	u.produce(100)
	top := w.ledger.top(-1)
	w.restore(backup)
	w.st.be(func() (string, error) { return "restored", nil })
	_, err := lease.Namespaces(w.st).Delete(w.ctx, name)
	w.must(err)
	_, err = lease.Namespaces(w.st).Create(w.ctx, name, w.scheme, wide())
	w.must(err)
	w.open(nil)
	if ns, err := lease.Namespaces(w.st).Show(w.ctx, name); err != nil || ns.Floor < top || ns.Identity != "restored" {
		w.Errorf("granted were ticks to %d, and grants begin at the floor of %+v, %v", top, ns, err)
	}
}

func testVanished(w *world) {
	u := w.on(4)
	u.produce(10)
	top := w.ledger.top(-1)
	w.st.vanish(w.record(4))
	w.sleep(ttl / 3)
	before := w.tick()
	u.noticed()
	w.raised()
	w.must(u.grant())
	if u.sealed() != 1 {
		w.Errorf("sealed %d times when its record vanished", u.sealed())
	}
	if c := u.holds(); c.from < top || c.from < before+ttl.Milliseconds() {
		w.Errorf("the next grant begins at %d; granted were ticks to %d", c.from, top)
	}
}

// testVanishedBeside has a record vanish in one namespace. The leases of another one begin above
// what was granted there, too.
func testVanishedBeside(w *world) {
	const beside = "beside"
	if id, err := w.st.Store.Identity(w.ctx, beside); err != nil || id == "" {
		w.must(err)
		return // others cannot hear of it
	}
	op := lease.Namespaces(w.st)
	_, err := op.Create(w.ctx, beside, w.scheme, wide())
	w.must(err)
	open := func() *lease.Lease {
		l, err := lease.Open(w.ctx, w.st, beside, w.scheme, w.options(0))
		w.must(err)
		w.Cleanup(l.Orphan)
		return l
	}
	top := open().Status().Grant.Until
	u := w.on(4)
	w.st.vanish(w.record(4))
	w.sleep(ttl / 3)
	u.noticed()
	open()
	if ns, err := op.Show(w.ctx, beside); err != nil || ns.Generation != 2 || ns.Floor < top {
		w.Errorf("granted were ticks to %d, and grants begin at the floor of %+v, %v", top, ns, err)
	}
}

func testVanishedNamespace(w *world)  { w.vanishedNamespace(store.NamespaceNode) }
func testVanishedEverything(w *world) { w.vanishedNamespace(15) }

// vanishedNamespace lets the records up to a node vanish.
func (w *world) vanishedNamespace(last int64) {
	o := w.options(0)
	o.Create = true
	u := w.open(o)
	w.must(u.grant())
	u.produce(10)
	top := w.ledger.top(-1)
	for _, r := range w.backup() {
		if r.Node <= last {
			w.st.vanish(r)
		}
	}
	w.sleep(ttl / 3)
	u.noticed()
	w.raised()
	w.must(u.grant())
	if u.sealed() != 1 {
		w.Errorf("sealed %d times when everything vanished", u.sealed())
	}
	for range 3 {
		v := w.open(o)
		w.must(v.grant())
		if v.holds().from < top {
			w.Errorf("a grant begins at %d; granted were ticks to %d", v.holds().from, top)
		}
	}
}

func testOtherStore(w *world) {
	u := w.on(4)
	u.produce(10)
	top := w.ledger.top(-1)
	w.sleep(ttl / 3)
	w.st.be(func() (string, error) { return "promoted", nil })
	before := w.tick()
	u.noticed()
	w.raised()
	w.must(u.grant())
	if u.sealed() != 1 {
		w.Errorf("sealed %d times when the store became another one", u.sealed())
	}
	if c := u.holds(); c.from < top || c.from < before+ttl.Milliseconds() {
		w.Errorf("the next grant begins at %d; granted were ticks to %d", c.from, top)
	}
}

func testReplacedStore(w *world) {
	gone := func() (string, error) { return "", fmt.Errorf("gone: %w", store.ErrReplaced) }
	for what, fault := range map[string]func(string, int) error{
		"that answers":         nil,
		"that fails to read":   always("get", errFault),
		"that fails to write":  always("swap", errFault),
		"that says so on read": always("get", store.ErrReplaced),
	} {
		w.st.be(nil)
		u := w.open(nil)
		w.must(u.grant())
		u.produce(10)
		w.sleep(ttl / 3)
		w.st.be(gone)
		w.st.fail(fault, nil)
		if err := u.grant(); !errors.Is(err, store.ErrReplaced) || !errors.Is(err, lease.ErrEnded) {
			w.Errorf("a renewal in a store %s and was replaced: %v", what, err)
		}
		select {
		case <-u.l.Done():
		case <-time.After(w.patience()):
			w.Errorf("a store %s was replaced: the lease lives on", what)
		}
		if u.sealed() != 1 {
			w.Errorf("a store %s was replaced: sealed %d times", what, u.sealed())
		}
		w.st.fail(nil, nil)
	}
}
