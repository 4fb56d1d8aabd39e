package lease_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// ticketWorld is a memory store with a namespace, and a clock that moves when it is told to.
type ticketWorld struct {
	*testing.T
	st     *store.Memory
	scheme *snowfence.Scheme
	past   atomic.Int64
}

func newTicketWorld(t *testing.T) *ticketWorld {
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	w := &ticketWorld{T: t, st: store.NewMemory(), scheme: s}
	if _, err := lease.Namespaces(w.st).Create(t.Context(), "n", s, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *ticketWorld) options() *lease.Options {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &lease.Options{TTL: 10 * time.Second, Label: "remote", Time: func() (time.Time, time.Duration) {
		d := time.Duration(w.past.Load())
		return start.Add(d), d
	}}
}

func (w *ticketWorld) acquire() lease.Ticket {
	w.Helper()
	t, err := lease.Acquire(w.Context(), w.st, "n", w.scheme, nil, w.options())
	if err != nil {
		w.Fatal(err)
	}
	return t
}

func (w *ticketWorld) renew(t lease.Ticket, attempt string) lease.Ticket {
	w.Helper()
	next, err := t.Renew(w.Context(), w.st, w.scheme, attempt, nil, w.options())
	if err != nil {
		w.Fatal(err)
	}
	return next
}

func TestTicketLife(t *testing.T) {
	w := newTicketWorld(t)
	a := w.acquire()
	if a.Until-a.From != 20_000 { // one ttl back, one ahead
		t.Errorf("ticket %+v", a)
	}
	w.past.Add(int64(5 * time.Second))
	b := w.renew(a, rand.Text())
	if b.Node != a.Node || b.From != a.From || b.Until != a.Until+5000 {
		t.Errorf("renewed from %+v to %+v", a, b)
	}
	if err := b.Release(t.Context(), w.st, w.scheme, a.Until-9000, w.options()); err != nil {
		t.Fatal(err)
	}
	c := w.acquire()
	if c.Node != a.Node || c.From != a.Until-9000 {
		t.Errorf("after the release of node %d with ticks up to %d used: %+v", a.Node, a.Until-9000, c)
	}
}

// A lost reply costs nothing: the holder repeats the same attempt.
func TestTicketAttemptRepeated(t *testing.T) {
	w := newTicketWorld(t)
	a, attempt := w.acquire(), rand.Text()
	for range 3 {
		w.past.Add(int64(time.Second))
		w.renew(a, attempt) // the answer is lost
	}
	b := w.renew(a, attempt)
	if b.Node != a.Node || b.From != a.From || b.Until != a.Until+3000 {
		t.Errorf("renewed from %+v to %+v", a, b)
	}
	w.renew(b, rand.Text())
}

// Two holders have one ticket. The one who renews later learns that it is lost.
func TestTicketOfAClone(t *testing.T) {
	w := newTicketWorld(t)
	a := w.acquire()
	w.renew(a, rand.Text())
	if _, err := a.Renew(t.Context(), w.st, w.scheme, rand.Text(), nil, w.options()); !errors.Is(err, store.ErrLost) {
		t.Errorf("a clone renewed: %v", err)
	}
	if err := a.Release(t.Context(), w.st, w.scheme, a.From, w.options()); err != nil {
		t.Error(err)
	}
	rs, err := w.st.Get(t.Context(), []store.Key{{Namespace: "n", Node: a.Node}})
	if err != nil || rs[0].Until < a.Until || rs[0].Holder == "" {
		t.Errorf("a clone gave back what it did not hold: %+v, %v", rs, err)
	}
}

func TestTicketIsLost(t *testing.T) {
	for name, hurt := range map[string]func(ctx context.Context, w *ticketWorld, a lease.Ticket) error{
		"released by an operator": func(ctx context.Context, w *ticketWorld, a lease.Ticket) error {
			_, err := lease.Namespaces(w.st).Release(ctx, "n", a.Node)
			return err
		},
		"vetoed": func(ctx context.Context, w *ticketWorld, a lease.Ticket) error {
			_, err := lease.Namespaces(w.st).Veto(ctx, "n", a.Node, "broken")
			return err
		},
		"layout changed": func(ctx context.Context, w *ticketWorld, a lease.Ticket) error {
			l, err := snowfence.ParseLayout("time=42,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms")
			if err != nil {
				return err
			}
			to, err := snowfence.NewScheme(l)
			if err != nil {
				return err
			}
			_, err = lease.Namespaces(w.st).Change(ctx, "n", lease.NamespaceChange{Scheme: to})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTicketWorld(t)
			a := w.acquire()
			if err := hurt(t.Context(), w, a); err != nil {
				t.Fatal(err)
			}
			_, err := a.Renew(t.Context(), w.st, w.scheme, rand.Text(), nil, w.options())
			if !errors.Is(err, store.ErrLost) {
				t.Errorf("renewed: %v", err)
			}
		})
	}
}

// setBack puts records back as they were.
func (w *ticketWorld) setBack(backup []store.Record) {
	w.Helper()
	for _, r := range backup {
		now, err := w.st.Get(w.Context(), []store.Key{r.Key})
		if err == nil {
			err = w.st.Swap(w.Context(), []store.Write{{Old: now[0].Nonce, New: r}})[0]
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// ofStoreSetBack returns a ticket whose last renewals the store has lost.
func (w *ticketWorld) ofStoreSetBack() lease.Ticket {
	w.Helper()
	a := w.acquire()
	backup, err := w.st.Get(w.Context(), []store.Key{
		{Namespace: "n", Node: store.NamespaceNode}, {Namespace: "n", Node: a.Node},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.past.Add(int64(5 * time.Second))
	b := w.renew(w.renew(a, rand.Text()), rand.Text())
	w.setBack(backup)
	return b
}

func (w *ticketWorld) generation() int64 {
	w.Helper()
	ns, err := lease.Namespaces(w.st).Show(w.Context(), "n")
	if err != nil {
		w.Fatal(err)
	}
	return ns.Generation
}

// A rollback behind a ticket is noticed at the renewal. The
// floor is raised above all that can have been granted.
func TestTicketOfAStoreSetBack(t *testing.T) {
	w := newTicketWorld(t)
	b := w.ofStoreSetBack()
	if _, err := b.Renew(t.Context(), w.st, w.scheme, rand.Text(), nil, w.options()); !errors.Is(err, store.ErrLost) {
		t.Errorf("renewed in a store that was rolled back: %v", err)
	}
	if c := w.acquire(); c.From < b.Until {
		t.Errorf("after the rollback, ticks from %d are granted, and %d were", c.From, b.Until)
	}
}

// A holder whose renewal was refused, or had no answer, acquires with its last ticket: the
// rollback is noticed by it alone, and no tick of it is granted again.
func TestLostTicketShowsARollback(t *testing.T) {
	w := newTicketWorld(t)
	b, before := w.ofStoreSetBack(), w.generation()
	w.past.Store(-int64(time.Hour)) // the floor is above the ticket, whatever the clock says
	for i := range int64(2) {       // what was raised once stays as it is
		c, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, &lease.Request{Lost: &b}, w.options())
		if err != nil || c.From < b.Until {
			t.Fatalf("acquisition %d: ticks from %d are granted, and %d were: %v", i, c.From, b.Until, err)
		}
		if g := w.generation(); g != before+1 {
			t.Errorf("acquisition %d: generation %d, and it was %d", i, g, before)
		}
	}
}

// A lost ticket shows that the namespace itself was rolled back.
func TestLostTicketOfANamespaceSetBack(t *testing.T) {
	w := newTicketWorld(t)
	backup, err := w.st.Get(t.Context(), []store.Key{{Namespace: "n", Node: store.NamespaceNode}})
	if err != nil {
		t.Fatal(err)
	}
	if err := raiseOnce(w); err != nil {
		t.Fatal(err)
	}
	a := w.acquire()
	w.setBack(backup)
	c, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, &lease.Request{Lost: &a}, w.options())
	if err != nil || c.From < a.Until || w.generation() <= a.Generation {
		t.Errorf("generation %d, ticks from %d; lost: %d and %d: %v", w.generation(), c.From, a.Generation, a.Until,
			err)
	}
}

// raiseOnce raises the floor, and so the generation.
func raiseOnce(w *ticketWorld) error {
	b := w.ofStoreSetBack()
	_, err := lease.Acquire(w.Context(), w.st, "n", w.scheme, &lease.Request{Lost: &b}, w.options())
	return err
}

// A lost ticket changes nothing if it was changed, if another holder took the node, or if
// its ticks are of an earlier layout.
func TestLostTicketThatShowsNothing(t *testing.T) {
	t.Run("changed", func(t *testing.T) {
		w := newTicketWorld(t)
		b, before := w.ofStoreSetBack(), w.generation()
		b.Until++
		_, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, &lease.Request{Lost: &b}, w.options())
		if err != nil || w.generation() != before {
			t.Errorf("a changed ticket: generation %d, and it was %d: %v", w.generation(), before, err)
		}
	})
	t.Run("released by an operator", func(t *testing.T) {
		w := newTicketWorld(t)
		a, before := w.acquire(), w.generation()
		if _, err := lease.Namespaces(w.st).Release(t.Context(), "n", a.Node); err != nil {
			t.Fatal(err)
		}
		c, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, &lease.Request{Lost: &a}, w.options())
		if err != nil || c.From < a.Until && c.Node == a.Node || w.generation() != before {
			t.Errorf("node %d from %d in generation %d; lost: node %d until %d in %d: %v", c.Node, c.From,
				w.generation(), a.Node, a.Until, before, err)
		}
	})
	t.Run("another namespace", func(t *testing.T) {
		w := newTicketWorld(t)
		a := w.acquire()
		if _, err := lease.Namespaces(w.st).Create(t.Context(), "other", w.scheme, nil); err != nil {
			t.Fatal(err)
		}
		_, err := lease.Acquire(t.Context(), w.st, "other", w.scheme, &lease.Request{Lost: &a}, w.options())
		if !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("with a ticket of another namespace: %v", err)
		}
	})
	t.Run("an earlier layout", func(t *testing.T) {
		w := newTicketWorld(t)
		b := w.ofStoreSetBack()
		to, err := snowfence.NewScheme(snowfence.MustLayout(
			"time=42,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Namespaces(w.st).Change(t.Context(), "n", lease.NamespaceChange{Scheme: to}); err != nil {
			t.Fatal(err)
		}
		before := w.generation()
		_, err = lease.Acquire(t.Context(), w.st, "n", to, &lease.Request{Lost: &b}, w.options())
		if err != nil || w.generation() != before {
			t.Errorf("a ticket of an earlier layout: generation %d, and it was %d: %v", w.generation(), before, err)
		}
	})
}

func TestTicketNeedsAnAttempt(t *testing.T) {
	w := newTicketWorld(t)
	a := w.acquire()
	for _, attempt := range []string{"", "short", "0123456789abcde.", "0123456789abcdef\n"} {
		if _, err := a.Renew(t.Context(), w.st, w.scheme, attempt, nil, nil); err == nil {
			t.Errorf("attempt %q was taken", attempt)
		}
	}
}

// If each renewal had the same attempt, a holder would not notice its
// copy: it would take the writes of the copy for its own lost replies.
func TestTicketWithTheSameAttemptAgain(t *testing.T) {
	w := newTicketWorld(t)
	a, attempt := w.acquire(), rand.Text()
	w.renew(a, attempt)
	b := w.renew(a, attempt) // the answer was lost
	if _, err := b.Renew(t.Context(), w.st, w.scheme, attempt, nil, w.options()); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("the attempt of the renewal before: %v", err)
	}
	w.renew(b, rand.Text()) // and it did no harm
}

// A ticket with any change is refused, and nothing is written for
// it. A lower From could give back the ticks of the earlier holder.
// A higher Revision or Until could raise everybody's floor.
func TestTicketThatWasChanged(t *testing.T) {
	w := newTicketWorld(t)
	a := w.acquire()
	other := w.acquire()
	for name, change := range map[string]func(*lease.Ticket){
		"node":       func(t *lease.Ticket) { t.Node = other.Node },
		"nodes":      func(t *lease.Ticket) { t.Nodes *= 2; t.Node &^= 1 },
		"from":       func(t *lease.Ticket) { t.From-- },
		"until":      func(t *lease.Ticket) { t.Until++ },
		"ttl":        func(t *lease.Ticket) { t.TTL++ },
		"label":      func(t *lease.Ticket) { t.Label += "x" },
		"holder":     func(t *lease.Ticket) { t.Holder = other.Holder },
		"nonce":      func(t *lease.Ticket) { t.Nonce = other.Nonce },
		"revision":   func(t *lease.Ticket) { t.Revision++ },
		"generation": func(t *lease.Ticket) { t.Generation++ },
		"mac":        func(t *lease.Ticket) { t.MAC = other.MAC },
		"no mac":     func(t *lease.Ticket) { t.MAC = "" },
	} {
		forged := a
		change(&forged)
		before := w.records()
		_, err := forged.Renew(t.Context(), w.st, w.scheme, rand.Text(), nil, w.options())
		if !errors.Is(err, store.ErrLost) {
			t.Errorf("%s: renewed: %v", name, err)
		}
		if err := forged.Release(t.Context(), w.st, w.scheme, 0, w.options()); !errors.Is(err, store.ErrLost) {
			t.Errorf("%s: released: %v", name, err)
		}
		if after := w.records(); !slices.Equal(before, after) {
			t.Errorf("%s: the store changed from %+v to %+v", name, before, after)
		}
	}
	w.renew(a, rand.Text())
}

func (w *ticketWorld) records() []store.Record {
	w.Helper()
	among := snowfence.NodeRange{From: store.NamespaceNode, Until: 1 << 62}
	rs, err := w.st.List(w.Context(), "n", among, 1<<20)
	if err != nil {
		w.Fatal(err)
	}
	return rs
}

// A holder cannot lower the floor below its own grant,
// even if the earlier holder had the ticks right below.
func TestTicketGivesBackItsOwn(t *testing.T) {
	w := newTicketWorld(t)
	o := w.options()
	o.Node = new(int64)
	a, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Label = "next"
	b, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, nil, o) // takes the node over: one run of ticks
	if err != nil {
		t.Fatal(err)
	}
	if b.From != a.Until {
		t.Fatalf("taken over from %+v by %+v", a, b)
	}
	if err := b.Release(t.Context(), w.st, w.scheme, 0, o); err != nil {
		t.Fatal(err)
	}
	if c, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, nil, o); err != nil || c.From < a.Until {
		t.Errorf("ticks of %+v are granted again: %+v, %v", a, c, err)
	}
}
