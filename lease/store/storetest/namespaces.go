package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// testChange changes the layout while others renew: nothing of the old one is granted
// beyond where the new one begins.
func testChange(w *world) {
	var users []*user
	for range 6 {
		u := w.open(nil)
		w.must(u.grant())
		users = append(users, u)
	}
	to := w.layout("time=39,seq=8,node=16,epoch=2024-01-01,tick=10ms")
	var wg sync.WaitGroup
	for _, u := range users {
		wg.Go(func() {
			for u.l.Err() == nil {
				w.sleep(time.Minute)
				ctx, cancel := context.WithTimeout(w.ctx, 5*time.Millisecond)
				_ = u.ask(ctx, max(u.holds().until, u.tick()))
				cancel()
				u.produce(10)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	ns, err := lease.Namespaces(w.st).Change(w.ctx, name, to, &lease.NamespaceOptions{Force: true})
	w.must(err)
	wg.Wait()
	for _, u := range users {
		if err := u.l.Err(); !errors.Is(err, lease.ErrMismatch) || !errors.Is(err, lease.ErrEnded) {
			w.Errorf("a lease of the old layout ended with %v", err)
		}
	}
	if got, old := to.Layout().TimeOf(ns.Floor), w.scheme.Layout().TimeOf(w.ledger.top(-1)); got.Before(old) {
		w.Errorf("the new layout begins at %v, and the old one was granted to %v", got, old)
	}
	w.scheme, w.ledger.claims = to, nil // ticks and nodes are others now
	node := int64(3)
	o := w.options(0)
	o.Node = &node
	u := w.open(o)
	w.must(u.ask(w.ctx, ns.Floor))
	if u.holds().from < ns.Floor {
		w.Errorf("a grant of the new layout begins at %d, below the floor %d", u.holds().from, ns.Floor)
	}
	if _, err := w.try(nil); err != nil {
		w.Errorf("any node of the new layout: %v", err)
	}
}

// testChangeBetween changes the layout after a renewal was written and before it is used.
func testChangeBetween(w *world) {
	u := w.on(4)
	u.produce(10)
	w.sleep(ttl / 3)
	until := u.holds().until
	to := w.layout("time=41,node=6,seq=8,epoch=2025-01-01,tick=1ms")
	var ns lease.Namespace
	var hit sync.Once
	w.st.fail(nil, func(op string, _ int) (err error) {
		if op == "swap" {
			hit.Do(func() {
				w.st.fail(nil, nil)
				ns, err = lease.Namespaces(w.st).Change(w.ctx, name, to, &lease.NamespaceOptions{Force: true})
			})
		}
		return err
	})
	if err := u.refused(until, func(error) bool { return u.sealed() > 0 }); err == nil {
		w.Errorf("a renewal was used after the namespace changed: %+v", u.holds())
	}
	if u.sealed() != 1 {
		w.Errorf("sealed %d times", u.sealed())
	}
	if ns.Floor < until {
		w.Errorf("the floor %d is below what was granted, %d", ns.Floor, until)
	}
}

// testChangeFloors lets a holder renew after the floors were read for a change, before it
// is done: it must not use what it wrote.
func testChangeFloors(w *world) {
	u := w.on(4)
	u.produce(10)
	w.sleep(ttl / 3)
	until := u.holds().until
	to := w.layout("time=41,node=6,seq=8,epoch=2025-01-01,tick=1ms")
	lists := 0
	w.st.fail(nil, func(op string, _ int) error {
		if op != "list" {
			return nil
		}
		if lists++; lists == 2 { // the first is to see whether the change would be refused
			if err := u.refused(until, func(error) bool { return u.sealed() > 0 }); err == nil {
				w.Errorf("a renewal was used while the layout was changing: %+v", u.holds())
			}
		}
		return nil
	})
	ns, err := lease.Namespaces(w.st).Change(w.ctx, name, to, &lease.NamespaceOptions{Force: true})
	w.must(err)
	if u.sealed() != 1 {
		w.Errorf("sealed %d times", u.sealed())
	}
	if top := w.ledger.top(-1); ns.Floor < top {
		w.Errorf("the new layout begins at %d, and the old one was granted to %d", ns.Floor, top)
	}
}

// testChangeUnseen changes the layout between any two reads of a lease that opens, and
// has the node taken by the new rules in between. What the late-comer does to the record
// must not let a third one begin below the second.
func testChangeUnseen(w *world) {
	node := int64(4)
	open := func(s *snowfence.Scheme) (snowfence.Grant, error) {
		l, err := lease.Open(w.ctx, w.st, name, s, &lease.Options{
			TTL: ttl, MaxSkew: ttl, Node: &node, Label: "test",
			Idle: -1, Time: w.source(0),
		})
		if err != nil {
			return snowfence.Grant{}, err
		}
		w.Cleanup(l.Orphan)
		return l.Grant(w.ctx, -1)
	}
	from, to := w.scheme, w.layout("time=41,node=6,seq=8,epoch=2025-01-01,tick=1ms")
	for nth := 1; nth <= 6; nth++ {
		var second snowfence.Grant
		gets := 0
		w.st.fail(func(op string, _ int) (err error) {
			if op != "get" {
				return nil
			}
			if gets++; gets == nth {
				w.st.fail(nil, nil)
				force := &lease.NamespaceOptions{Force: true}
				if _, err = lease.Namespaces(w.st).Change(w.ctx, name, to, force); err == nil {
					second, err = open(to)
				}
			}
			return err
		}, nil)
		_, err := open(from) // it may succeed only if it was through before the change
		w.st.fail(nil, nil)
		if second.Until == 0 {
			if err != nil {
				w.Fatalf("change at read %d: %v", nth, err)
			}
			break // it needs no more reads than that
		}
		third, err := open(to)
		w.must(err)
		if third.From < second.Until {
			w.Errorf("change at read %d: ticks from %d are granted, and were granted up to %d before", nth,
				third.From, second.Until)
		}
		from, to = to, from
	}
}
