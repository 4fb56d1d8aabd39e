package storetest

import (
	"context"
	"time"
)

// life plays the life of a lease and ignores what fails.
func (w *world) life(k int) {
	o := w.options(0)
	o.Nodes = k
	node := int64(8)
	if w.tick()%2 == 0 {
		o.Node = &node
	}
	u, err := w.try(o)
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
		_ = u.ask(ctx, after)
		u.produce(30)
		w.sleep(ttl / 3)
	}
	step()
	step()
	step()
	_ = u.release()
	if u.bind() == nil {
		step()
	}
	_ = u.l.Shutdown(w.ctx)
}

func testEveryStep(w *world)        { w.everyStep(1) }
func testEveryStepOfBlock(w *world) { w.everyStep(4) }

// everyStep fails each call to the store in turn, before and after it is done, once or
// for three calls, and late.
func (w *world) everyStep(k int) {
	start := w.st.count()
	w.life(k)
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
				w.st.fail(fault(1, errFault), nil)
			case 1:
				w.st.fail(nil, fault(1, errFault))
			case 2:
				w.st.fail(fault(1, errLate), nil)
			case 3:
				w.st.fail(fault(3, errFault), nil)
			case 4:
				w.st.fail(nil, fault(3, errFault))
			}
			w.life(k)
			w.st.fail(nil, nil)
			w.st.land(w.ctx)
			w.sleep(3 * ttl)
		}
	}
	// When the faults are over, everything works again.
	o := w.options(0)
	o.Nodes = k
	u := w.open(o)
	w.must(u.grant())
	if u.produce(10) != 10 {
		w.Errorf("after the faults the grant is %+v, and now is %d", u.holds(), w.tick())
	}
	w.must(u.release())
}

// testRace renews from one side while the other gives back, and lets a successor come in between.
func testRace(w *world) {
	for range 10 {
		u := w.on(6)
		u.produce(20)
		ctx, cancel := context.WithCancel(w.ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				w.sleep(10 * time.Second)
				// The lease itself is asked, so that renewals go on; the generator asks no more.
				short, end := context.WithTimeout(ctx, 2*time.Millisecond)
				_, _ = u.l.Grant(short, w.tick()+ttl.Milliseconds()-20000)
				end()
			}
		}()
		time.Sleep(3 * time.Millisecond)
		w.must(u.release())
		cancel()
		<-done
		u.crash()
		v := w.on(6)
		v.produce(20)
		w.must(v.l.Shutdown(w.ctx))
	}
}

// testTwoHolders has another process renew with the same token: the next renewal is lost,
// and the generator is sealed before anything else.
func testTwoHolders(w *world) {
	u := w.on(4)
	u.produce(50)
	w.sleep(ttl / 3)
	w.other(4, 1000)
	var lostAt int
	w.st.fail(nil, func(op string, call int) error {
		if op == "swap" && lostAt == 0 {
			lostAt = call
		}
		return nil
	})
	w.must(u.grant())
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seals != 1 {
		w.Fatalf("a lost swap sealed the generator %d times, want once", u.seals)
	}
	if u.callsAt != lostAt {
		w.Errorf("the generator was sealed after call %d to the store; the swap was lost in call %d", u.callsAt, lostAt)
	}
	if r := w.record(4); u.claim.node == 4 && u.claim.from < r.PrevUntil {
		w.Errorf("the new grant %+v lies inside the other holder's", *u.claim)
	}
}

// testClone has a clone give the node back: a holder that did not seal everything must not
// lower the floor afterwards.
func testClone(w *world) {
	u := w.on(4)
	u.produce(50)
	r := w.other(4, 0)
	if err := u.release(); err != nil {
		w.Errorf("giving back what another process has: %v", err)
	}
	if got := w.record(4); got != r {
		w.Errorf("a holder that lost its node changed the record to %+v", got)
	}
}
