// Package snowfencetest is for tests of programs that make IDs. The test
// controls the clock and the faults of a generator, and each run makes the
// same IDs.
//
//	func TestOrder(t *testing.T) {
//		k := snowfencetest.New(t, 1)
//		shop := NewShop(k.Generator, k.Now)
//		…
//		k.LoseLease()
//		if err := shop.Order(ctx); !errors.Is(err, snowfence.ErrFenced) {
//
// Nothing waits: where a generator would wait for the next tick, the clock
// moves instead. In a bubble of testing/synctest, the clock moves with the
// time of the bubble, but does not begin in 2000, and waiting takes time of
// the bubble.
package snowfencetest

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// Kit is a generator for a test, which controls its clock and its faults.
// It is safe for concurrent use.
type Kit struct {
	*snowfence.Generator // for the code under test; it ends with the test

	t     testing.TB
	clock *clock
	fence *fence
}

// New returns a kit with the layout [snowfence.Default]. The seed decides
// its node and the day its clock starts, so that kits with different seeds
// below 10,240,000 make different IDs on that day, and kits with the same
// seed make the same IDs.
func New(t testing.TB, seed uint64) *Kit {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		t.Fatal(err)
	}
	return NewFor(t, seed, s)
}

// NewFor is [New] for a scheme of your own. With few nodes or years, the
// IDs of seeds repeat sooner.
func NewFor(t testing.TB, seed uint64, s *snowfence.Scheme) *Kit {
	t.Helper()
	c := newClock(start(s, seed))
	f := &fence{scheme: s, clock: c, node: int64(seed % uint64(s.Nodes()))}
	g, err := snowfence.New(snowfence.Config{Fence: f, Time: c.readTime})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.restoreGrants()
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

// ID returns a new ID. It ends the test if there is none.
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
	now, _ := k.clock.readTime()
	return now
}

// Advance moves the clock ahead by d, as if that time had passed.
func (k *Kit) Advance(d time.Duration) {
	if d < 0 {
		k.t.Helper()
		k.t.Fatalf("snowfencetest: Advance(%v): time does not go back; Step does that to the clock", d)
	}
	k.clock.advanceBy(d)
}

// Step sets the wall clock ahead or back, as an operator or NTP does. The
// generator notices it 10 ms later, when time passes.
func (k *Kit) Step(d time.Duration) { k.clock.step(d) }

// LoseLease revokes the node, as if another process had taken it. Until
// Restore, the generator makes no IDs and returns [snowfence.ErrFenced].
func (k *Kit) LoseLease() { k.fence.loseGrant() }

// StoreUnreachable stops renewals. The generator makes IDs until the grant
// ends, up to 15 seconds later by the time in the IDs. Then it returns
// [snowfence.ErrFenced], until Restore.
func (k *Kit) StoreUnreachable() { k.fence.cutGrants() }

// SequenceFull uses up the sequence and stops the clock: the generator
// returns [snowfence.ErrExhausted] until Advance or Restore. A
// [snowfence.Local] keeps the IDs that it holds.
func (k *Kit) SequenceFull() {
	k.clock.holdStill(true)
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

// Restore ends all faults. Later IDs have later ticks.
func (k *Kit) Restore() {
	k.clock.holdStill(false)
	k.fence.restoreGrants()
}
