package storetest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/snowfence/snowfence/lease/scope"
)

// testStorm has many leases of all kinds, faults of all kinds and operators
// at once; the ledger is the judge.
func testStorm(w *world) {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	chance := func(percent int) bool {
		mu.Lock()
		defer mu.Unlock()
		return rnd.IntN(100) < percent
	}
	w.st.setFaults(func(op string, _ int) error {
		switch {
		case chance(3):
			return errFault
		case op == "swap" && chance(3):
			return errLate
		}
		return nil
	}, func(string, int) error {
		if chance(3) {
			return errFault
		}
		return nil
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 6 {
				o := w.optionsOf(time.Duration(i-4) * time.Minute)
				switch i % 3 {
				case 0:
					o.Nodes = 2
				case 1:
					node := int64(i)
					o.Node = &node
				}
				u, err := w.tryOpen(o)
				if err != nil {
					continue
				}
				for range 6 {
					ctx, cancel := context.WithTimeout(w.ctx, 20*time.Millisecond)
					_ = u.askAfter(ctx, max(u.heldClaim().until, u.tick()))
					cancel()
					u.makeIDs(100)
					w.passTime(ttl / 20)
					if chance(20) {
						w.st.carryLate(w.ctx)
					}
				}
				switch {
				case chance(30):
					u.endWithoutRelease()
				case chance(50):
					_ = u.l.Shutdown(w.ctx)
				default:
					_ = u.giveBack()
					u.l.Orphan()
				}
			}
		})
	}
	wg.Go(func() {
		for range 10 {
			time.Sleep(10 * time.Millisecond)
			_, _ = scope.Namespaces(w.st).Release(w.ctx, name, 5)
		}
	})
	wg.Wait()
	w.st.setFaults(nil, nil)
	w.st.carryLate(w.ctx)
	w.passTime(2 * ttl)
	u := w.openLease(nil)
	w.mustNot(u.askGrant())
	if u.makeIDs(10) != 10 {
		w.Errorf("after the storm: %+v, now is %d", u.heldClaim(), w.tick())
	}
}
