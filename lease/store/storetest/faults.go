package storetest

import (
	"context"
	"time"
)

func testEveryStep(w *world)        { w.everyStep(1) }
func testEveryStepOfBlock(w *world) { w.everyStep(4) }

// everyStep fails each call to the store in turn, before and after it is
// done, once or for three calls, and late.
func (w *world) everyStep(k int) {
	start := w.st.count()
	w.playLease(k)
	steps := w.st.count() - start
	for step := 1; step <= steps; step++ {
		for kind := range 5 {
			at := w.st.count() + step
			fault := func(length int, err error) func(string, int) error {
				return func(_ string, call int) error {
					if call >= at && call < at+length {
						return err
					}
					return nil
				}
			}
			switch kind {
			case 0:
				w.st.setFaults(fault(1, errFault), nil)
			case 1:
				w.st.setFaults(nil, fault(1, errFault))
			case 2:
				w.st.setFaults(fault(1, errLate), nil)
			case 3:
				w.st.setFaults(fault(3, errFault), nil)
			case 4:
				w.st.setFaults(nil, fault(3, errFault))
			}
			w.playLease(k)
			w.st.setFaults(nil, nil)
			w.st.carryLate(w.ctx)
			w.passTime(3 * ttl)
		}
	}
	// When the faults are over, everything works again.
	o := w.optionsOf(0)
	o.Nodes = k
	u := w.openLease(o)
	w.mustNot(u.askGrant())
	if u.makeIDs(10) != 10 {
		w.Errorf("after the faults the grant is %+v, and now is %d", u.heldClaim(), w.tick())
	}
	w.mustNot(u.giveBack())
}

// playLease plays the life of a lease and ignores what fails.
func (w *world) playLease(k int) {
	o := w.optionsOf(0)
	o.Nodes = k
	node := int64(8)
	if w.tick()%2 == 0 {
		o.Node = &node
	}
	u, err := w.tryOpen(o)
	if err != nil {
		return
	}
	step := func() {
		ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
		defer cancel()
		u.mu.Lock()
		after := u.tick()
		if u.claim != nil {
			after = max(after, u.claim.until)
		}
		u.mu.Unlock()
		_ = u.askAfter(ctx, after)
		u.makeIDs(30)
		w.passTime(ttl / 3)
	}
	step()
	step()
	step()
	_ = u.giveBack()
	if u.bindFence() == nil {
		step()
	}
	_ = u.l.Shutdown(w.ctx)
}
