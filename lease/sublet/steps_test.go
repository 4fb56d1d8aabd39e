package sublet

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// machine is one that a test resumes from a snapshot. Its goroutines do not
// run: a test says what its lease holds.
type machine struct {
	world.World
	counter atomic.Uint64
}

func (m *machine) Machine() world.Machine { return world.At(&m.counter) }
func (m *machine) Go(func())              {}

// subletting is a lessor whose lease has the grant that a test says.
type subletting struct {
	*testing.T
	*Server
	m     *machine
	has   *snowfence.Grant // nil for none
	now   time.Time
	tries int
}

func newSubletting(t *testing.T) *subletting {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout("time=41,node=10,seq=12,epoch=2025-01-01"))
	x := &subletting{T: t, m: &machine{World: world.Real()}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	x.must(err)
	o := &lease.Options{Create: true, Time: func() (time.Time, time.Duration) { return x.now, 0 }}
	l, err := lease.Open(world.With(t.Context(), x.m), store.NewMemory(), "n", s, o)
	x.must(err)
	x.Server, err = New(l, "")
	x.must(err)
	x.Server.held = func(int64) (snowfence.Grant, bool) {
		if x.has == nil {
			return snowfence.Grant{}, false
		}
		return *x.has, true
	}
	x.grants(4, 0)
	return x
}

func (x *subletting) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// grants gives the lease two nodes from a tick on that lies so far ahead of
// now.
func (x *subletting) grants(node, ahead int64) {
	now := x.setup.Ticks.Layout.TickOf(x.now)
	x.has = &snowfence.Grant{Node: node, Nodes: 2, From: now + ahead, Until: now + 1000}
}

func (x *subletting) attempt() string {
	x.tries++
	return "attempt-number-" + string(rune('A'+x.tries))
}

func (x *subletting) acquire(r wire.Request) (wire.Lease, error) {
	r.Attempt, r.Label = x.attempt(), "x"
	return x.Acquire(x.Context(), "n", r)
}

func (x *subletting) renew(b wire.Ticket) error {
	_, err := x.Renew(x.Context(), b, x.attempt(), nil)
	return err
}

// A holder gets a node that it allows, or is told which nodes there are.
func TestSubletsWithin(t *testing.T) {
	for _, c := range []struct {
		r    wire.Request
		want int64 // node; −1 means that it is told that all are taken
	}{
		{wire.Request{Within: snowfence.NodeRange{From: 5, Until: 6}}, 5},
		{wire.Request{Within: snowfence.NodeRange{From: 3, Until: 5}}, 4},
		{wire.Request{Within: snowfence.NodeRange{From: 6, Until: 9}}, -1},
		{wire.Request{Within: snowfence.NodeRange{From: 2, Until: 4}}, -1},
	} {
		x := newSubletting(t)
		l, err := x.acquire(c.r)
		if c.want >= 0 {
			if err != nil || l.Grant.Node != c.want {
				t.Errorf("%+v: %+v, %v", c.r, l, err)
			}
			continue
		}
		var taken *lease.TakenError
		if !errors.As(err, &taken) || taken.Nodes != (snowfence.NodeRange{From: 4, Until: 6}) {
			t.Errorf("%+v: %+v, %v", c.r, l, err)
		}
	}
}

// A lessor whose grant begins later says so, because nodes of others would
// begin as late.
func TestSubletsThatBeginLater(t *testing.T) {
	for ahead, later := range map[int64]bool{0: false, 1: true} {
		x := newSubletting(t)
		x.grants(4, ahead)
		_, err := x.acquire(wire.Request{Within: snowfence.NodeRange{From: 6, Until: 9}})
		if errors.Is(err, snowfence.ErrFenced) != later || errors.Is(err, lease.ErrTaken) == later {
			t.Errorf("%d ticks ahead: %v", ahead, err)
		}
	}
}

// A lessor that is a holder of another one takes other nodes when that one
// is gone. Tickets of the nodes before are lost, also when it has these
// again.
func TestSubletsOfOtherNodes(t *testing.T) {
	x := newSubletting(t)
	before, err := x.acquire(wire.Request{})
	x.must(err)
	x.grants(8, 0)
	tests.WantErr(t, x.renew(before.Ticket), store.ErrLost, "a ticket of the nodes before")
	if l, err := x.acquire(wire.Request{}); err != nil || l.Grant.Node != 8 {
		t.Errorf("%+v, %v", l, err)
	}
	x.grants(4, 0)
	if l, err := x.acquire(wire.Request{}); err != nil || l.Grant.Node != before.Grant.Node {
		t.Errorf("%+v, %v", l, err)
	}
	tests.WantErr(t, x.renew(before.Ticket), store.ErrLost, "a ticket of the same node, from before")
}

// Between a loss and the seal, the lease has no grant, and the lessor
// renews nothing. A ticket that is damaged is no loss.
func TestSubletsWithoutAGrant(t *testing.T) {
	x := newSubletting(t)
	l, err := x.acquire(wire.Request{})
	x.must(err)
	tests.WantErr(t, x.renew(l.Ticket[1:]), lease.ErrInvalid, "a damaged ticket")
	x.has = nil
	tests.WantErr(t, x.renew(l.Ticket), snowfence.ErrFenced, "renewed without a grant")
	tests.WantErr(t, tests.ErrOf(x.acquire(wire.Request{})), snowfence.ErrFenced, "acquired without a grant")
	x = newSubletting(t)
	x.has.From, x.has.Until = x.has.From-9, x.has.From
	tests.WantErr(t, tests.ErrOf(x.acquire(wire.Request{})), snowfence.ErrFenced, "acquired after the grant")
}

// A lessor on a machine that was copied does not answer, also when it had
// chosen a node. Then it has another key: tickets of before are lost.
func TestCopiedLessor(t *testing.T) {
	x := newSubletting(t)
	kept, err := x.acquire(wire.Request{})
	x.must(err)
	x.must(x.Release(t.Context(), kept.Ticket, kept.Grant.From))
	kept, err = x.acquire(wire.Request{})
	x.must(err)
	key, answered, chosen := x.key, x.setup.Clock, false
	x.setup.Clock = claim.ClockOf(func() (time.Time, time.Duration) { // it looks at the clock after it chose
		if chosen {
			x.m.counter.Add(1)
		}
		return x.now, 0
	}, x.setup.Scheme)
	chosen = true
	renewed := x.renew(kept.Ticket)
	_, acquired := x.acquire(wire.Request{})
	for _, err := range []error{renewed, acquired} {
		tests.WantErr(t, err, snowfence.ErrFenced, "a copied lessor answers")
	}
	x.setup.Clock = answered
	x.grants(8, 0)
	tests.Must(x.acquire(wire.Request{}))
	if x.key == key {
		t.Error("a copy of the lessor has its key")
	}
	tests.WantErr(t, x.renew(kept.Ticket), store.ErrLost, "a ticket of before")
}

// A lessor whose machine is resumed after its lease told of a grant, and
// before it divides it, does not divide it again.
func TestCopiedWhileTheLeaseAnswers(t *testing.T) {
	x := newSubletting(t)
	tests.Must(x.acquire(wire.Request{}))
	x.Server.held = func(int64) (snowfence.Grant, bool) {
		defer x.m.counter.Add(1)
		return *x.has, true
	}
	l, err := x.acquire(wire.Request{})
	tests.WantErr(t, err, snowfence.ErrFenced, "a copied lessor answers %+v", l)
}
