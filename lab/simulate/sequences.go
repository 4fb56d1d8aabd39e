package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// A run of sequences has the same processes, messages, clocks and faults as
// one of leases. What its programs do is take numbers, and its ledger is
// about numbers.

// countingStretch is how long such a run lasts before its faults end.
const countingStretch = 0.05 // hours

// drawCounters makes the run one of sequences, and has the year end during
// the run.
func (s *sim) drawCounters(chance *rand.Rand) {
	s.eve = -time.Duration(chance.Int64N(int64(s.plan.Hours * float64(time.Hour))))
	s.store.adds = chance.IntN(3) > 0
	s.store.apart = chance.IntN(4) == 0
	for i := range 1 + chance.IntN(3) {
		s.counters = append(s.counters, newCounter(chance, fmt.Sprintf("numbers%d", i)))
	}
}

// newCounting draws a world of programs that take numbers.
func newCounting(chance *rand.Rand) *scenario {
	sc := &scenario{
		ttl:  []time.Duration{time.Second, 3 * time.Second, 5 * time.Second}[chance.IntN(3)],
		jump: []time.Duration{0, time.Second, time.Hour, 11 * time.Hour}[chance.IntN(4)],
	}
	for i := range 2 + chance.IntN(4) {
		sc.slots = append(sc.slots, &slot{index: i, label: string(rune('a' + i)), leases: 1 + chance.IntN(4)/3})
	}
	sc.nature = time.Duration(1+chance.Int64N(3)) * sc.ttl / 2
	sc.unsafe = chance.IntN(4) == 0
	sc.drawFaults(chance)
	for _, f := range []Fault{faultRelease, faultVeto, faultChange, faultDelete, faultConfirm, faultCut} {
		sc.rates[f] = 0
	}
	for f, r := range map[Fault]int{faultMoved: 40, faultPromoted: 30, faultAlter: 60, faultEnd: 30, faultAdmit: 150} {
		sc.rates[f] = r
	}
	return sc
}

// createAll makes the sequences.
func (s *sim) createAll() error {
	return s.runCalmly(func(ctx context.Context, st store.Store) error {
		for _, c := range s.counters {
			if err := sequence.Create(ctx, st, c.name, c.definition); err != nil {
				return err
			}
		}
		return nil
	})
}

// noteSilentLoss notes that the store lost something of sequences and that
// nothing tells.
func (s *sim) noteSilentLoss(lost func(*counter) bool) {
	for _, c := range s.counters {
		if lost(c) {
			c.silent = append(c.silent, s.now)
		}
	}
}

// loseRecord takes a record of a sequence from the store.
func (s *sim) loseRecord(c *counter) {
	nodes := snowfence.NodeRange{From: plain, Until: math.MaxInt64}
	all := s.store.list(c.recordKey().Namespace, nodes, math.MaxInt)
	if len(all) > 0 {
		delete(s.store.records, all[s.chance.IntN(len(all))].Key)
		s.store.hasLost = true
	}
	c.silent = append(c.silent, s.now)
}

// checkNumbersResume checks that every slot gets numbers again when all
// faults have ended.
func (s *sim) checkNumbersResume(ctx context.Context) {
	s.advanceTo(ctx, s.now+8*s.ttl) // what was under way ends by then
	s.mendSequences()
	s.due = s.now
	s.advanceTo(ctx, s.now+8*s.ttl+30*time.Second)
	for _, sl := range s.slots {
		if s.bad == nil && ctx.Err() == nil && sl.madeAt < s.due {
			s.violate("%s got no number in %v after all faults had ended; its last one was at %v", sl.label,
				s.now-s.due, sl.madeAt)
		}
	}
}
