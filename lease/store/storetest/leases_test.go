package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// TestLeases plays what asks nothing of a store, over one in memory.
func TestLeases(t *testing.T) {
	for name, test := range map[string]func(*world){
		"lapsed grant":                      testLapsed,
		"two holders of one token":          testTwoHolders,
		"renewal while the floors are read": testChangeFloors,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, store.NewMemory())
			test(w)
			w.ledger.checkOverlaps(t)
		})
	}
}

// testLapsed renews a grant that ended long ago, and loses one reply. The
// ticks between the two grants are never used.
func testLapsed(w *world) {
	for _, lose := range []bool{false, true} {
		u := w.openNode(4)
		u.makeIDs(10)
		old := u.heldClaim()
		w.passTime(5 * ttl)
		var once sync.Once
		w.st.setFaults(nil, func(op string, _ int) (err error) {
			if lose && op == "swap" {
				once.Do(func() { err = errFault })
			}
			return err
		})
		w.mustNot(u.askGrant())
		c, r := u.heldClaim(), w.readNode(4)
		if c.from < r.From || c.from < w.tick()-ttl.Milliseconds() || c.from < old.until {
			w.Errorf("after a lapse of five ttl the grant is %+v, the one before was %+v, stored is %+v", c, old, r)
		}
		w.mustNot(u.l.Shutdown(w.ctx))
	}
}

// testTwoHolders has another process renew with the same token: the next
// renewal is lost, and the generator is sealed before anything else. The
// node is left to the other one.
func testTwoHolders(w *world) {
	u := w.openLease(w.optionsOf(0))
	w.mustNot(u.askGrant())
	u.makeIDs(50)
	w.passTime(ttl / 3)
	other := w.readNode(u.heldClaim().node)
	old := other.Nonce
	other.Nonce, other.Revision, other.Until = "other", other.Revision+1, other.Until+1000
	w.swapAll(store.Write{Old: old, New: other})
	var lostAt int
	w.st.setFaults(nil, func(op string, call int) error {
		if op == "swap" && lostAt == 0 {
			lostAt = call
		}
		return nil
	})
	w.mustNot(u.askGrant())
	u.mu.Lock()
	if u.seals != 1 || u.sealedAt != lostAt {
		w.Errorf("sealed %d times, after call %d to the store; the swap was lost in call %d", u.seals, u.sealedAt,
			lostAt)
	}
	u.mu.Unlock()
	if c := u.heldClaim(); c.node == other.Node {
		w.Errorf("the new grant %+v has the other holder's node", c)
	}
}

// testChangeFloors lets a holder renew after the floors were read for a
// change, before it is done: it must not use what it wrote.
func testChangeFloors(w *world) {
	u := w.openNode(4)
	u.makeIDs(10)
	w.passTime(ttl / 3)
	until := u.heldClaim().until
	to := w.newScheme("time=41,node=6,seq=8,epoch=2025-01-01,tick=1ms")
	lists := 0
	w.st.setFaults(nil, func(op string, _ int) error {
		if op != "list" {
			return nil
		}
		if lists++; lists == 2 { // the first is to see whether the change would be refused
			ctx, cancel := context.WithTimeout(w.ctx, w.grantPatience())
			go func() {
				defer cancel()
				for u.sealed() == 0 && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
			}()
			tests.Fails(w, u.askAfter(ctx, until),
				"a renewal was used while the layout was changing: %+v", u.heldClaim())
		}
		return nil
	})
	ns, err := scope.Namespaces(w.st).Change(w.ctx, name, to, &scope.NamespaceOptions{Force: true})
	w.mustNot(err)
	if u.sealed() != 1 {
		w.Errorf("sealed %d times", u.sealed())
	}
	if top := w.ledger.highestEnd(-1); ns.Floor < top {
		w.Errorf("the new layout begins at %d, and the old one was granted to %d", ns.Floor, top)
	}
}
