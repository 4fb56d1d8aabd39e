package storetest

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// other does to a record what another holder that knows its nonce would do, with until
// moved ahead by some ticks.
func (w *world) other(node, ticks int64) store.Record {
	w.Helper()
	r := w.record(node)
	old := r.Nonce
	r.Nonce, r.Revision, r.Until = fmt.Sprint("other-", r.Revision), r.Revision+1, r.Until+ticks
	w.swapAll(store.Write{Old: old, New: r})
	return r
}

func testLostReply(w *world) {
	u := w.on(4)
	from := u.holds().from
	for range 3 {
		u.produce(50)
		w.sleep(ttl / 3)
		w.st.fail(nil, once("swap", errFault))
		w.must(u.grant())
		if u.holds().from != from || u.sealed() != 0 {
			w.Fatalf("a renewal whose reply was lost cost the grant: %+v, sealed %d times", u.holds(), u.sealed())
		}
	}
	// Of what unanswered writes left, nothing is used before a swap on top of it was acknowledged.
	w.sleep(ttl / 3)
	w.st.fail(nil, func(op string, _ int) error {
		if op == "swap" {
			return errFault
		}
		return nil
	})
	if err := u.refused(u.holds().until, anyTrouble); err == nil {
		w.Error("a renewal was used though none was acknowledged")
	}
	if w.record(4).Until <= u.holds().until {
		w.Error("the test did not do what it says: no renewal is stored")
	}
	w.st.fail(nil, nil)
	w.must(u.grant())
	if u.holds().from != from || u.sealed() != 0 {
		w.Errorf("renewals whose replies were lost cost the grant: %+v, sealed %d times", u.holds(), u.sealed())
	}
}

// testLapsed lets a grant run out long ago, and loses the reply of its renewal. What lies
// between was left out for good.
func testLapsed(w *world) {
	for _, lose := range []bool{false, true} {
		u := w.on(4)
		u.produce(10)
		old := u.holds()
		w.sleep(5 * ttl)
		if lose {
			w.st.fail(nil, once("swap", errFault))
		}
		w.must(u.grant())
		c, r := u.holds(), w.record(4)
		if c.from < r.From || c.from < w.tick()-ttl.Milliseconds() || r.PrevUntil < old.until {
			w.Errorf("after a lapse of five ttl the grant is %+v, the one before was %+v, stored is %+v", c, old, r)
		}
		w.must(u.l.Shutdown(w.ctx))
	}
}

// testAcquisitionInDoubt loses the replies of acquisitions when a lease heals, and lets
// them come in late.
func testAcquisitionInDoubt(w *world) {
	for i, f := range []func(){
		func() { w.st.fail(once("swap", errFault), nil) },
		func() { w.st.fail(nil, once("swap", errFault)) },
		func() { w.st.fail(once("swap", errLate), nil) },
	} {
		u := w.open(nil)
		w.must(u.grant())
		u.produce(20)
		w.must(u.release())
		w.must(u.bind())
		w.sleep(time.Minute)
		f()
		w.must(u.grant())
		if c := u.holds(); c.from > w.tick() {
			w.Errorf("case %d: an acquisition in doubt made the next one wait until %d, now is %d", i, c.from, w.tick())
		}
		w.st.land(w.ctx)
		u.produce(20)
		w.sleep(ttl / 3)
		w.must(u.grant())
		u.produce(20)
		v := w.open(nil)
		w.must(v.grant())
		v.produce(20)
		w.must(u.release())
		w.must(v.release())
	}
	// And Open itself: what it leaves behind does not stay taken.
	w.st.fail(nil, once("swap", errFault))
	if _, err := w.try(nil); err == nil {
		w.Error("Open without an answer to its acquisition is not an error")
	}
	rs, err := lease.Namespaces(w.st).Leases(w.ctx, name)
	w.must(err)
	for _, r := range rs {
		if r.Held(w.tick()) {
			w.Errorf("a failed Open left node %d taken", r.Node)
		}
	}
}
