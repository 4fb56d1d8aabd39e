package lease

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
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
	if _, err := Namespaces(w.st).Create(t.Context(), "n", s, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *ticketWorld) options() *Options {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &Options{TTL: 10 * time.Second, Label: "remote", Time: func() (time.Time, time.Duration) {
		d := time.Duration(w.past.Load())
		return start.Add(d), d
	}}
}

func (w *ticketWorld) acquire() ticket {
	w.Helper()
	t, err := acquired(w.Context(), w.st, "n", w.scheme, wire.Request{}, w.options())
	if err != nil {
		w.Fatal(err)
	}
	return t
}

func (w *ticketWorld) renew(t ticket, attempt string) ticket {
	w.Helper()
	next, err := t.Renew(w.Context(), w.st, w.scheme, attempt, nil, w.options())
	if err != nil {
		w.Fatal(err)
	}
	return next
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
func (w *ticketWorld) ofStoreSetBack() ticket {
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
	ns, err := Namespaces(w.st).Show(w.Context(), "n")
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
		c, err := acquired(t.Context(), w.st, "n", w.scheme, wire.Request{Lost: b.bytes()}, w.options())
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
	if _, err := editNamespace(t.Context(), w.st, "n", func(ns *Namespace) (bool, error) {
		ns.Generation++
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	a := w.acquire()
	w.setBack(backup)
	c, err := acquired(t.Context(), w.st, "n", w.scheme, wire.Request{Lost: a.bytes()}, w.options())
	if err != nil || c.From < a.Until || w.generation() <= a.Generation {
		t.Errorf("generation %d, ticks from %d; lost: %d and %d: %v", w.generation(), c.From, a.Generation, a.Until,
			err)
	}
}

// A lost ticket changes nothing if it was changed, if another holder took the node, or if
// its ticks are of an earlier layout.
func TestLostTicketThatShowsNothing(t *testing.T) {
	t.Run("changed", func(t *testing.T) {
		w := newTicketWorld(t)
		b, before := w.ofStoreSetBack(), w.generation()
		b.Until++
		_, err := acquired(t.Context(), w.st, "n", w.scheme, wire.Request{Lost: b.bytes()}, w.options())
		if err != nil || w.generation() != before {
			t.Errorf("a changed ticket: generation %d, and it was %d: %v", w.generation(), before, err)
		}
	})
	t.Run("released by an operator", func(t *testing.T) {
		w := newTicketWorld(t)
		a, before := w.acquire(), w.generation()
		if _, err := Namespaces(w.st).Release(t.Context(), "n", a.Node); err != nil {
			t.Fatal(err)
		}
		c, err := acquired(t.Context(), w.st, "n", w.scheme, wire.Request{Lost: a.bytes()}, w.options())
		if err != nil || c.From < a.Until && c.Node == a.Node || w.generation() != before {
			t.Errorf("node %d from %d in generation %d; lost: node %d until %d in %d: %v", c.Node, c.From,
				w.generation(), a.Node, a.Until, before, err)
		}
	})
	t.Run("another namespace", func(t *testing.T) {
		w := newTicketWorld(t)
		a := w.acquire()
		if _, err := Namespaces(w.st).Create(t.Context(), "other", w.scheme, nil); err != nil {
			t.Fatal(err)
		}
		_, err := acquired(t.Context(), w.st, "other", w.scheme, wire.Request{Lost: a.bytes()}, w.options())
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("with a ticket of another namespace: %v", err)
		}
	})
	t.Run("an earlier layout", func(t *testing.T) {
		w := newTicketWorld(t)
		b := w.ofStoreSetBack()
		to, err := snowfence.NewScheme(snowfence.MustLayout(
			"time=40,node=10,seq=13,epoch=2016-01-01T00:00:00Z,tick=1ms")) // the earlier tick is five years ahead
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Namespaces(w.st).Change(t.Context(), "n", to, nil); err != nil {
			t.Fatal(err)
		}
		before := w.generation()
		_, err = acquired(t.Context(), w.st, "n", to, wire.Request{Lost: b.bytes()}, w.options())
		if err != nil || w.generation() != before {
			t.Errorf("a ticket of an earlier layout: generation %d, and it was %d: %v", w.generation(), before, err)
		}
		_, err = b.Renew(t.Context(), w.st, to, rand.Text(), nil, w.options())
		if !errors.Is(err, store.ErrLost) || w.generation() != before {
			t.Errorf("it was renewed: generation %d, and it was %d: %v", w.generation(), before, err)
		}
	})
	t.Run("an earlier unit", func(t *testing.T) {
		w := newTicketWorld(t)
		b := w.ofStoreSetBack()
		if _, err := Namespaces(w.st).Change(t.Context(), "n", w.scheme, &NamespaceOptions{Unit: 4}); err != nil {
			t.Fatal(err)
		}
		before := w.generation()
		_, err := acquired(t.Context(), w.st, "n", w.scheme, wire.Request{Lost: b.bytes()}, w.options())
		if err != nil || w.generation() != before {
			t.Errorf("a ticket of an earlier unit: generation %d, and it was %d: %v", w.generation(), before, err)
		}
	})
}

// The nodes of a block may have been written unequally often before it was leased. A ticket that
// was lost to another holder of such a block shows no rollback.
func TestLostTicketOfABlock(t *testing.T) {
	w := newTicketWorld(t)
	node := int64(8)
	o := w.options()
	o.Node = &node
	for range 5 {
		if _, err := acquired(t.Context(), w.st, "n", w.scheme, wire.Request{}, o); err != nil {
			t.Fatal(err)
		}
	}
	o.Nodes = 2
	var tickets [2]ticket
	for i := range tickets {
		var err error
		if tickets[i], err = acquired(t.Context(), w.st, "n", w.scheme, wire.Request{}, o); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := w.st.Identity(t.Context(), "n")
	if _, err := tickets[0].Renew(t.Context(), w.st, w.scheme, rand.Text(), nil, o); !errors.Is(err, store.ErrLost) {
		t.Error(err)
	}
	r := wire.Request{Lost: tickets[0].bytes()}
	if _, err := acquired(t.Context(), w.st, "n", w.scheme, r, o); err != nil {
		t.Error(err)
	}
	if id, _ := w.st.Identity(t.Context(), "n"); id != before || w.generation() != 1 {
		t.Errorf("the store was %q and is %q, in generation %d", before, id, w.generation())
	}
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
	if _, err := b.Renew(t.Context(), w.st, w.scheme, attempt, nil, w.options()); !errors.Is(err, ErrInvalid) {
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
	for name, change := range map[string]func(*ticket){
		"node":       func(t *ticket) { t.Node = other.Node },
		"nodes":      func(t *ticket) { t.Nodes *= 2; t.Node &^= 1 },
		"from":       func(t *ticket) { t.From-- },
		"until":      func(t *ticket) { t.Until++ },
		"ttl":        func(t *ticket) { t.TTL++ },
		"label":      func(t *ticket) { t.Label += "x" },
		"holder":     func(t *ticket) { t.Holder = other.Holder },
		"nonce":      func(t *ticket) { t.Nonce = other.Nonce },
		"revision":   func(t *ticket) { t.Revision++ },
		"generation": func(t *ticket) { t.Generation++ },
		"mac":        func(t *ticket) { t.MAC = other.MAC },
		"no mac":     func(t *ticket) { t.MAC = strings.Repeat("\x00", 32) },
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

// A ticket proves who holds a lease, so no log has it.
func TestTicketsAreNotPrinted(t *testing.T) {
	w := newTicketWorld(t)
	said := w.renew(w.acquire(), rand.Text())
	bare := said.bytes()
	a := said.lease(bare)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "ticket", a, "bare", bare)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "ticket", a, "pointer", &a, "bare", bare)
	text := fmt.Sprintf("%v %+v %#v %v %s %x %#v", a, a, a, &a, bare, bare, bare) + log.String()
	for _, secret := range []string{
		said.MAC, said.Nonce, said.Holder, string(bare),
		base64.StdEncoding.EncodeToString(bare),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %s", text, secret)
		}
	}
	if b, err := ReadTicket(bare); err != nil || b.Grant != a.Grant || b.Namespace != "n" || b.Label != "remote" {
		t.Errorf("%+v, %v", b, err)
	}
	more := said
	more.Nodes, more.Unit = 1, 2
	half := said
	half.Nodes = 0
	none := said
	none.Unit = 0
	unnamed := said
	unnamed.Namespace = "a b"
	old := append(wire.Ticket{ticketVersion + 1}, bare[1:]...)
	twice := append(wire.Ticket{bare[0], bare[1] | 0x80, 0}, bare[2:]...) // the node in a longer form
	for _, bad := range []wire.Ticket{
		nil, wire.Ticket("x"), wire.Ticket("{}"), append(bare[:len(bare):len(bare)], 0), more.bytes(), half.bytes(),
		none.bytes(), unnamed.bytes(), old, twice,
	} {
		if _, err := ReadTicket(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", []byte(bad), err)
		}
	}
	for n := range bare {
		if _, err := ReadTicket(bare[:n]); !errors.Is(err, ErrInvalid) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

// Bytes are a ticket in one form, or none, and no bytes do harm.
func FuzzTicket(f *testing.F) {
	f.Add([]byte(signerOf("key").sign(ticket{
		Node: 5, Nodes: 4, Unit: 2, From: 7, Until: 1 << 40, TTL: time.Hour, Revision: 3, Generation: 2,
		Namespace: "n", Label: "x", Lessor: "a.b", Holder: "c", Nonce: "d",
	})))
	f.Add([]byte{ticketVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		said, err := parseTicket(b)
		if err == nil && (!bytes.Equal(said.bytes(), b) || said.Nodes < 1) || err != nil && said != (ticket{}) {
			t.Errorf("%q: %+v, %v", b, said, err)
		}
	})
}
