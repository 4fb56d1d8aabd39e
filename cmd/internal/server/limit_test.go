package server

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// limited returns a caller that may hold so many nodes.
func limited(t *testing.T, nodes int, v Verb) *Identity {
	t.Helper()
	a := tokensOf(t, Token{Name: "shop", SHA256: sum("1"), Verbs: []Verb{v}, Nodes: nodes})
	return must(a.Identify("1"))
}

// heldIn returns how many nodes of the namespace n are held.
func heldIn(t *testing.T, s *Service) (n int) {
	t.Helper()
	v := must(s.Views.Read(t.Context(), "n"))
	for _, l := range v.Leases {
		if l.Held {
			n++
		}
	}
	return n
}

// One token with the verb lease took all 1,024 nodes of a namespace in 1.6
// s.
func TestOneTokenTookAllNodes(t *testing.T) {
	st := newStore(t, "n")
	s, id := newService(t, st, Options{}), limited(t, 3, VerbLease)
	acquire := func(o wire.Request) (wire.Lease, error) {
		g, _, err := s.Leases.Acquire(t.Context(), id, "n", o)
		return g.Lease, err
	}
	var last wire.Lease
	var swaps int64
	for i := range 20 {
		if i == 3 {
			swaps = st.swaps.Load()
		}
		g, err := acquire(wire.Request{Label: fmt.Sprint(i)})
		told := err == nil || KindOf(err) == TooMuch && strings.Contains(err.Error(), "3 nodes")
		if (err == nil) != (i < 3) || !told {
			t.Errorf("node %d: %v", i+1, err)
		}
		if err == nil {
			last = g
		}
	}
	if n := st.swaps.Load(); n != swaps {
		t.Errorf("refused requests wrote %d times", n-swaps)
	}
	if _, err := acquire(wire.Request{Label: "2", Node: &last.Grant.Node}); err != nil {
		t.Errorf("a restarted program does not get its own node: %v", err)
	}
	wantKind(t, errOf(acquire(wire.Request{Label: "block", Nodes: 2})), TooMuch)
	if n := heldIn(t, s); n != 3 {
		t.Errorf("%d nodes are held", n)
	}
	other := tokensOf(t, Token{Name: "sho", SHA256: sum("2"), Verbs: []Verb{VerbLease}, Nodes: 1})
	if _, _, err := s.Leases.Acquire(t.Context(), other.tokens[0], "n", wire.Request{Label: "x"}); err != nil {
		t.Errorf("another token: %v", err)
	}
	if got := id.usage.Refused.Load(); got != 18 {
		t.Errorf("%d requests were counted as refused, not 18", got)
	}
}

// meeting is a store whose first lists of all nodes wait for each other:
// all callers count before any writes.
type meeting struct {
	store.Store
	left atomic.Int64
	all  chan struct{}
}

func (m *meeting) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) (_ []store.Record, reply store.Reply, _ error) {
	rs, reply, err := m.Store.List(ctx, namespace, nodes, limit)
	if nodes.Until != math.MaxInt64 {
		return rs, reply, err // of a lease that looks for a free node
	}
	switch n := m.left.Add(-1); {
	case n == 0:
		close(m.all)
	case n > 0:
		<-m.all
	}
	return rs, reply, err
}

// Two servers over one store count before either writes, so both think that
// there is room.
func TestTwoServersDoubledALimit(t *testing.T) {
	st := newStore(t, "n")
	m := &meeting{st, atomic.Int64{}, make(chan struct{})}
	m.left.Store(2)
	var all sync.WaitGroup
	var kept atomic.Int64
	for i := range 2 {
		s, id := New(m, Options{}), limited(t, 1, VerbLease) // each server reads the file of tokens itself
		t.Cleanup(func() { _ = s.Close(context.Background()) })
		all.Go(func() {
			err := hold(t, s, id, fmt.Sprint(i))
			if err == nil {
				kept.Add(1)
			} else if KindOf(err) != TooMuch {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	s := New(st, Options{})
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	if n := heldIn(t, s); kept.Load() > 1 || int64(n) != kept.Load() {
		t.Errorf("%d grants were kept, and %d nodes are held", kept.Load(), n)
	}
}

// A line for each lease of a client filled the log.
func TestLeasesOfClientsAreInTheLogOnceAMinute(t *testing.T) {
	var text strings.Builder
	s := New(newStore(t, "n"), Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	now := time.Now()
	s.now = func() time.Time { return now }
	for i := range 4 {
		if i == 3 {
			now = now.Add(refusalInterval)
		}
		noError(t, hold(t, s, limited(t, 9, VerbLease), fmt.Sprint("program-", i)))
	}
	if got := text.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "others=2") {
		t.Errorf("four leases in two minutes:\n%s", got)
	}
}

// hold takes a node.
func hold(t *testing.T, s *Service, id *Identity, label string) error {
	_, _, err := s.Leases.Acquire(t.Context(), id, "n", wire.Request{Label: label, TTL: time.Minute})
	return err
}

// afterEpoch lets the clock of a test pass the epochs of layouts: it begins
// in the year 2000.
func afterEpoch() { time.Sleep(time.Until(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))) }

// Tickets that have ended could be renewed although others had their places
// by then.
func TestEndedTicketsWereRenewedBeyondALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		s, id := newService(t, newStore(t, "n"), Options{}), limited(t, 2, VerbLease)
		var tickets []wire.Lease
		for i := range 4 {
			g, _, err := s.Leases.Acquire(t.Context(), id, "n", wire.Request{
				Label: fmt.Sprint(i), TTL: 10 * time.Second,
			})
			noError(t, err)
			tickets = append(tickets, g.Lease)
			if i == 1 {
				time.Sleep(time.Minute)
			}
		}
		renew := func(i int) (err error) {
			tickets[i], _, err = s.Leases.Renew(t.Context(), id, tickets[i], "attempt-"+fmt.Sprintf("%016d", i))
			return err
		}
		for i := range 4 {
			err := renew(i)
			refused := err != nil && (KindOf(err) == TooMuch || KindOf(err) == Lost)
			if refused != (i < 2) || err != nil && !refused {
				t.Errorf("ticket %d: %v", i, err)
			}
		}
		if n := heldIn(t, s); n != 2 {
			t.Errorf("%d nodes are held", n)
		}
	})
}

// A ticket that an earlier attempt got is taken back whole: a copy of the
// caller may use its ticks.
func TestEarlierAttemptBeyondALimit(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{})
	const attempt = "attempt-0123456789"
	var first wire.Lease
	for i, r := range []wire.Request{{Label: "a", Attempt: attempt}, {Label: "a"}} {
		g, _, err := s.Leases.Acquire(t.Context(), limited(t, 2, VerbLease), "n", r)
		noError(t, err)
		if i == 0 {
			first = g.Lease
		}
	}
	again := wire.Request{Label: "a", Attempt: "attempt-of-a-copy-1", Earlier: []string{attempt}}
	_, _, err := s.Leases.Acquire(t.Context(), limited(t, 1, VerbLease), "n", again)
	if KindOf(err) != TooMuch {
		t.Fatal(err)
	}
	rs, _, err := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: first.Grant.Node}})
	if err != nil || rs[0].Holder != "" || rs[0].Until < first.Grant.Until {
		t.Errorf("%+v after %d: %v", rs, first.Grant.Until, err)
	}
}

var errSilent = fmt.Errorf("no answer")
