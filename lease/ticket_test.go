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
)

// ticketWorld is a memory store with a namespace, and a clock that moves when it is told to.
type ticketWorld struct {
	*testing.T
	st     *lease.Memory
	scheme *snowfence.Scheme
	past   atomic.Int64
}

func newTicketWorld(t *testing.T) *ticketWorld {
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	w := &ticketWorld{T: t, st: lease.NewMemory(), scheme: s}
	if _, err := lease.CreateNamespace(t.Context(), w.st, "n", s, nil); err != nil {
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
	t, err := lease.Acquire(w.Context(), w.st, "n", w.scheme, w.options())
	if err != nil {
		w.Fatal(err)
	}
	return t
}

func (w *ticketWorld) renew(t lease.Ticket, attempt string) lease.Ticket {
	w.Helper()
	next, err := t.Renew(w.Context(), w.st, w.scheme, attempt, w.options())
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
	if _, err := a.Renew(t.Context(), w.st, w.scheme, rand.Text(), w.options()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("a clone renewed: %v", err)
	}
	if err := a.Release(t.Context(), w.st, w.scheme, a.From, w.options()); err != nil {
		t.Error(err)
	}
	rs, err := w.st.Get(t.Context(), []lease.Key{{Namespace: "n", Node: a.Node}})
	if err != nil || rs[0].Until < a.Until || rs[0].Holder == "" {
		t.Errorf("a clone gave back what it did not hold: %+v, %v", rs, err)
	}
}

func TestTicketIsLost(t *testing.T) {
	for name, hurt := range map[string]func(ctx context.Context, w *ticketWorld, a lease.Ticket) error{
		"released by an operator": func(ctx context.Context, w *ticketWorld, a lease.Ticket) error {
			_, err := lease.ReleaseNode(ctx, w.st, "n", a.Node)
			return err
		},
		"vetoed": func(ctx context.Context, w *ticketWorld, a lease.Ticket) error {
			_, err := lease.VetoNode(ctx, w.st, "n", a.Node, "broken")
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
			_, err = lease.ChangeNamespace(ctx, w.st, "n", lease.NamespaceChange{Scheme: to})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTicketWorld(t)
			a := w.acquire()
			if err := hurt(t.Context(), w, a); err != nil {
				t.Fatal(err)
			}
			_, err := a.Renew(t.Context(), w.st, w.scheme, rand.Text(), w.options())
			if !errors.Is(err, lease.ErrLost) {
				t.Errorf("renewed: %v", err)
			}
		})
	}
}

// A rollback behind a ticket is noticed at the renewal. The
// floor is raised above all that can have been granted.
func TestTicketOfAStoreSetBack(t *testing.T) {
	w := newTicketWorld(t)
	keys := []lease.Key{{Namespace: "n", Node: lease.NamespaceNode}}
	a := w.acquire()
	keys = append(keys, lease.Key{Namespace: "n", Node: a.Node})
	backup, err := w.st.Get(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	w.past.Add(int64(5 * time.Second))
	b := w.renew(w.renew(a, rand.Text()), rand.Text())
	for _, r := range backup {
		now, err := w.st.Get(t.Context(), []lease.Key{r.Key})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.st.Swap(t.Context(), []lease.Write{{Old: now[0].Nonce, New: r}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Renew(t.Context(), w.st, w.scheme, rand.Text(), w.options()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("renewed in a store that was rolled back: %v", err)
	}
	if c := w.acquire(); c.From < b.Until {
		t.Errorf("after the rollback, ticks from %d are granted, and %d were", c.From, b.Until)
	}
}

func TestTicketNeedsAnAttempt(t *testing.T) {
	w := newTicketWorld(t)
	a := w.acquire()
	for _, attempt := range []string{"", "short", "0123456789abcde.", "0123456789abcdef\n"} {
		if _, err := a.Renew(t.Context(), w.st, w.scheme, attempt, nil); err == nil {
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
	if _, err := b.Renew(t.Context(), w.st, w.scheme, attempt, w.options()); !errors.Is(err, lease.ErrInvalid) {
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
		_, err := forged.Renew(t.Context(), w.st, w.scheme, rand.Text(), w.options())
		if !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: renewed: %v", name, err)
		}
		if err := forged.Release(t.Context(), w.st, w.scheme, 0, w.options()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: released: %v", name, err)
		}
		if after := w.records(); !slices.Equal(before, after) {
			t.Errorf("%s: the store changed from %+v to %+v", name, before, after)
		}
	}
	w.renew(a, rand.Text())
}

func (w *ticketWorld) records() []lease.Record {
	w.Helper()
	among := snowfence.NodeRange{From: lease.NamespaceNode, Until: 1 << 62}
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
	a, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Label = "next"
	b, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, o) // takes the node over: one run of ticks
	if err != nil {
		t.Fatal(err)
	}
	if b.From != a.Until {
		t.Fatalf("taken over from %+v by %+v", a, b)
	}
	if err := b.Release(t.Context(), w.st, w.scheme, 0, o); err != nil {
		t.Fatal(err)
	}
	if c, err := lease.Acquire(t.Context(), w.st, "n", w.scheme, o); err != nil || c.From < a.Until {
		t.Errorf("ticks of %+v are granted again: %+v, %v", a, c, err)
	}
}
