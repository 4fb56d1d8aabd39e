// Package snowfencetest is for tests of programs that make IDs: a generator whose
// clock and faults the test commands, and whose IDs are the same in each run.
//
//	func TestOrder(t *testing.T) {
//		k := snowfencetest.New(t, 1)
//		shop := NewShop(k.Generator, k.Now)
//		…
//		k.LoseLease()
//		if err := shop.Order(ctx); !errors.Is(err, snowfence.ErrFenced) {
//
// Nothing waits: where a generator would wait for the next tick, the clock moves
// instead. In a bubble of testing/synctest the time of the bubble moves the clock,
// which does not begin in 2000, and waiting takes the bubble's time.
package snowfencetest

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// Kit is a generator with the clock of a test, and with faults. It is safe for
// concurrent use.
type Kit struct {
	*snowfence.Generator // for the code under test; it ends with the test

	t     testing.TB
	clock *clock
	fence *fence
}

// New returns a kit with the layout [snowfence.Default]. The seed says which node
// it has and when its clock starts, so that kits of different seeds make different
// IDs, and a kit of the same seed the same ones.
func New(t testing.TB, seed uint64) *Kit {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		t.Fatal(err)
	}
	return NewFor(t, seed, s)
}

// NewFor is [New] for a scheme of your own.
func NewFor(t testing.TB, seed uint64, s *snowfence.Scheme) *Kit {
	t.Helper()
	c := newClock(start(s, seed))
	f := &fence{scheme: s, clock: c, node: int64(seed % uint64(s.Nodes()))}
	g, err := snowfence.New(snowfence.Config{Fence: f, Time: c.read})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.restore()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Kit{g, t, c, f}
}

// start is a day of the layout's life for a seed. Kits of one node start on
// different days.
func start(s *snowfence.Scheme, seed uint64) time.Time {
	l := s.Layout()
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if first.Before(l.Epoch) || !first.Before(l.EndOfLife()) {
		first = l.Epoch
	}
	days := max(uint64(l.EndOfLife().Sub(first)/(48*time.Hour)), 1) // the first half of what is left
	return first.AddDate(0, 0, int(seed/uint64(s.Nodes())%min(days, 10000)))
}

// ID returns a new ID, or ends the test.
func (k *Kit) ID() snowfence.ID {
	k.t.Helper()
	id, err := k.Next(context.Background())
	if err != nil {
		k.t.Fatal(err)
	}
	return id
}

// Now returns the time of the clock, for code that asks for time.Now.
func (k *Kit) Now() time.Time {
	now, _ := k.clock.read()
	return now
}

// Advance lets so much time pass.
func (k *Kit) Advance(d time.Duration) {
	if d < 0 {
		k.t.Helper()
		k.t.Fatalf("snowfencetest: Advance(%v): time does not go back; Step does that to the clock", d)
	}
	k.clock.advance(d)
}

// Step sets the wall clock ahead or back, as an operator or NTP does. The
// generator notices 10 ms later, by time that passes.
func (k *Kit) Step(d time.Duration) { k.clock.step(d) }

// LoseLease revokes the node, as if another process had taken it.
// There are no IDs, but [snowfence.ErrFenced], until Restore.
func (k *Kit) LoseLease() { k.fence.lose() }

// StoreUnreachable stops renewals. IDs go on for up to 15 seconds of the time in
// them, as far as the grant reaches, and then there is [snowfence.ErrFenced], until Restore.
func (k *Kit) StoreUnreachable() { k.fence.cut() }

// SequenceFull uses up the sequence and stops the clock: there is
// [snowfence.ErrExhausted] until Advance or Restore. A [snowfence.Local] keeps what
// it has in hand.
func (k *Kit) SequenceFull() {
	k.clock.hold(true)
	over, cancel := context.WithCancel(context.Background())
	cancel() // take what is there, and wait for nothing
	if !k.Scheme().Encrypted() {
		_, _ = k.Runs(over, nil, math.MaxInt64)
		return
	}
	some := make([]snowfence.ID, 1<<12)
	for err := error(nil); err == nil; {
		_, err = k.Fill(over, some)
	}
	for range some { // what it has encrypted ahead
		if _, err := k.TryNext(); err != nil {
			return
		}
	}
}

// Restore ends all faults. Later IDs are above those before.
func (k *Kit) Restore() {
	k.clock.hold(false)
	k.fence.restore()
}
