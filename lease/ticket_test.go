package lease_test

import (
	"context"
	"crypto/rand"
	"errors"
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
	s, err := snowfence.NewScheme(snowfence.Twitter())
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
	if g := a.Grant(); g.Until-g.From != 20_000 { // one ttl back, one ahead
		t.Errorf("grant %+v", g)
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

// An answer that was lost costs nothing: the same attempt is repeated.
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

// Two holders of one ticket: the one who renews later learns that it is lost, whatever it has.
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
			_, err = lease.ChangeLayout(ctx, w.st, "n", to, nil, false)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTicketWorld(t)
			a := w.acquire()
			if err := hurt(t.Context(), w, a); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Renew(t.Context(), w.st, w.scheme, rand.Text(), w.options()); !errors.Is(err, lease.ErrLost) {
				t.Errorf("renewed: %v", err)
			}
		})
	}
}

// A store that was set back behind a ticket is noticed at the renewal, and the floor is raised above all that can have been granted.
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
		t.Errorf("renewed in a store that was set back: %v", err)
	}
	if c := w.acquire(); c.From < b.Until {
		t.Errorf("after the set-back, ticks from %d are granted, and %d were", c.From, b.Until)
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
