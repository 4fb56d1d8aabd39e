package storetest

import (
	"context"
	"fmt"
	"sync"
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

// reaches asks for a grant that ends some ticks later, and more than one ttl ahead.
func (u *user) reaches(ticks int64) bool {
	ctx, cancel := context.WithTimeout(u.w.ctx, 50*time.Millisecond)
	defer cancel()
	after := u.holds().until + ticks
	err := u.ask(ctx, after)
	return err == nil && after > u.w.tick()+ttl.Milliseconds() // a busy machine asks late
}

// testStepBack lets the clock of a holder step back: what was granted stays granted.
func testStepBack(w *world) {
	u := w.on(4)
	for _, d := range []time.Duration{ttl / 2, 3 * ttl} {
		w.sleep(ttl / 3)
		w.must(u.grant())
		w.step(-d)
		// A renewal that began before the step may still end, and at most one.
		u.reaches(20)
		if u.reaches(20) {
			w.Errorf("a grant to tick %d, more than one ttl ahead of the clock, %d", u.holds().until, w.tick())
		}
		until := u.holds().until
		if r := w.record(4); r.Until < until {
			w.Errorf("a clock that stepped back by %v lowered until from %d to %d", d, until, r.Until)
		}
		w.step(d)
	}
	w.sleep(ttl / 3)
	w.must(u.grant())
	// Renewed in the background, with the clock behind.
	w.step(-2 * ttl)
	w.st.fail(nil, nil)
	v := w.on(4)
	if v.holds().from < u.holds().until {
		w.Errorf("a successor whose clock is behind begins at %d, inside the grant to %d",
			v.holds().from, u.holds().until)
	}
}

// testLostReplyOther loses a reply and lets somebody else write after it: what stands
// there is nobody's to adopt.
func testLostReplyOther(w *world) {
	u := w.on(4)
	u.produce(50)
	w.sleep(ttl / 3)
	var r store.Record
	var hit sync.Once
	w.st.fail(nil, func(op string, _ int) (err error) {
		if op == "swap" {
			hit.Do(func() { r, err = w.other(4, 10), errFault })
		}
		return err
	})
	w.must(u.grant())
	if u.sealed() != 1 {
		w.Errorf("sealed %d times, want once", u.sealed())
	}
	if c := u.holds(); c.from < r.Until && c.node == 4 {
		w.Errorf("the new grant begins at %d, inside what the other holder has: %d", c.from, r.Until)
	}
}

// testLateRenewal lets a renewal that got no reply come in while the next one is on its way.
func testLateRenewal(w *world) {
	u := w.on(4)
	from := u.holds().from
	u.produce(50)
	w.sleep(ttl / 3)
	var swaps int
	w.st.fail(func(op string, _ int) error {
		if op != "swap" {
			return nil
		}
		swaps++
		switch swaps {
		case 1:
			return errLate
		case 2:
			for _, err := range w.st.land(w.ctx) {
				if err != nil {
					w.Errorf("the late renewal: %v", err)
				}
			}
		}
		return nil
	}, nil)
	w.must(u.grant())
	if u.holds().from != from || u.sealed() != 0 {
		w.Errorf("a late renewal of its own cost the grant: %+v, sealed %d times", u.holds(), u.sealed())
	}
}

func testLateAfterGiveBack(w *world) {
	u := w.on(4)
	u.produce(50)
	w.sleep(ttl / 3)
	late := once("swap", errLate)
	w.st.fail(func(op string, call int) error {
		if err := late(op, call); err != nil || op != "swap" {
			return err
		}
		return errFault // the next attempts, which begin at once
	}, nil)
	if err := u.refused(u.holds().until, anyTrouble); err == nil {
		w.Fatal("a renewal that is late was used")
	}
	w.st.fail(nil, nil)
	used := u.next
	w.must(u.release())
	for _, err := range w.st.land(w.ctx) {
		if err == nil {
			w.Error("a renewal came in after the node was given back")
		}
	}
	if r := w.record(4); r.Until != used || r.Holder != "" {
		w.Errorf("given back with %d used: %+v", used, r)
	}
	v := w.on(4)
	if v.holds().from < used {
		w.Errorf("the successor begins at %d, below %d", v.holds().from, used)
	}
}

// testLostGiveBack loses the reply of a give-back, and later asks the same lease for a grant.
func testLostGiveBack(w *world) {
	for _, f := range []func(){
		func() { w.st.fail(once("swap", errFault), nil) },
		func() { w.st.fail(nil, once("swap", errFault)) },
		func() { w.st.fail(once("swap", errLate), nil) },
	} {
		u := w.on(4)
		u.produce(50)
		f()
		if err := u.release(); err == nil {
			w.Error("a give-back without an answer is not an error")
		}
		w.st.land(w.ctx)
		w.must(u.bind())
		w.must(u.grant()) // the ledger sees whether it overlaps with what was used
		u.produce(50)
		w.must(u.l.Shutdown(w.ctx))
		w.sleep(2 * ttl)
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
