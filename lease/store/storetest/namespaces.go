package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
)

// testChange changes the layout while others renew: no grant of the old
// layout reaches beyond the start of the new one.
func testChange(w *world) {
	var users []*user
	for range 6 {
		u := w.openLease(nil)
		w.mustNot(u.askGrant())
		users = append(users, u)
	}
	to := w.newScheme("time=39,seq=8,node=16,epoch=2024-01-01,tick=10ms")
	var wg sync.WaitGroup
	for _, u := range users {
		wg.Go(func() {
			for u.l.Err() == nil {
				w.passTime(time.Minute)
				ctx, cancel := context.WithTimeout(w.ctx, 5*time.Millisecond)
				_ = u.askAfter(ctx, max(u.heldClaim().until, u.tick()))
				cancel()
				u.makeIDs(10)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	ns, err := scope.Namespaces(w.st).Change(w.ctx, name, to, &scope.NamespaceOptions{Force: true})
	w.mustNot(err)
	wg.Wait()
	for _, u := range users {
		if err := u.l.Err(); !errors.Is(err, lease.ErrMismatch) || !errors.Is(err, lease.ErrEnded) {
			w.Errorf("a lease of the old layout ended with %v", err)
		}
	}
	if got, old := to.Layout().TimeOf(ns.Floor), w.scheme.Layout().TimeOf(w.ledger.highestEnd(-1)); got.Before(old) {
		w.Errorf("the new layout begins at %v, and the old one was granted to %v", got, old)
	}
	w.scheme, w.ledger.claims = to, nil // ticks and nodes are others now
	node := int64(3)
	o := w.optionsOf(0)
	o.Node = &node
	u := w.openLease(o)
	w.mustNot(u.askAfter(w.ctx, ns.Floor))
	if u.heldClaim().from < ns.Floor {
		w.Errorf("a grant of the new layout begins at %d, below the floor %d", u.heldClaim().from, ns.Floor)
	}
	if _, err := w.tryOpen(nil); err != nil {
		w.Errorf("any node of the new layout: %v", err)
	}
}
