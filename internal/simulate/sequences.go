package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence"
)

// A run of sequences has the same processes, messages, clocks and faults as one of leases. What its
// programs do is take numbers, and its ledger is about numbers.

// countingStretch is how long such a run lasts before its faults end.
const countingStretch = 0.05 // hours

// runSequences simulates one seed with programs that take numbers.
func runSequences(ctx context.Context, plan Plan) (*Figures, uint64, *Collision, error) {
	chance := rand.New(rand.NewPCG(plan.Seed, 8))
	s := &sim{
		scenario: newCounting(chance), plan: plan, chance: rand.New(rand.NewPCG(plan.Seed, 9)),
		claims: map[int64][]*claim{}, gone: map[string]setBack{}, wrote: map[string]int{}, hash: 14695981039346656037,
		store: newStore(false), shy: never, mute: never,
	}
	s.eve = -time.Duration(chance.Int64N(int64(plan.Hours * float64(time.Hour)))) // the year ends during the run
	s.store.adds = chance.IntN(3) > 0
	for i := range 1 + chance.IntN(3) {
		s.counters = append(s.counters, newCounter(chance, s.store, fmt.Sprintf("numbers%d", i)))
	}
	if s.strides = chance.IntN(5) == 0; s.strides {
		s.overStores(chance)
	}
	if plan.tampered != nil {
		plan.tampered(s)
	}
	defer s.stop()
	s.operator = s.spawn("operator")
	s.operator.slot = &slot{label: "operator", index: -1}
	s.operator.programs = 1
	if err := s.createAll(ctx); err != nil {
		return nil, 0, nil, err
	}
	s.save()
	for _, sl := range s.slots {
		if !plan.noSlots[sl.index] {
			s.after(time.Duration(s.chance.Int64N(int64(s.ttl))), func() { s.start(sl) })
		}
	}
	s.after(s.pause(), s.strike)
	long := time.Duration(plan.Hours * float64(time.Hour))
	if plan.limit > 0 {
		long = min(long, plan.limit)
	}
	s.advance(ctx, long)
	late := s.bad == nil
	if s.bad == nil && ctx.Err() == nil && plan.limit == 0 {
		s.resume(ctx)
	}
	return s.result(ctx, late)
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
	sc.faults(chance)
	for _, f := range []Fault{
		faultRelease, faultVeto, faultRestore, faultChange, faultDelete, faultConfirm, faultCut,
	} {
		sc.rates[f] = 0
	}
	for f, r := range map[Fault]int{
		faultMoved: 40, faultPromoted: 30, faultAlter: 60, faultEnd: 30, faultAdmit: 150,
	} {
		sc.rates[f] = r
	}
	return sc
}

// strikeCounters does something to the store.
func (s *sim) strikeCounters(f Fault, chance float64) {
	st := s.counters[int(chance*64)%len(s.counters)].st
	if !s.inject(f, nil, 0) {
		return
	}
	switch f {
	case faultOutage:
		st.down = max(st.down, s.now+time.Duration(chance*chance*float64(2*s.ttl)))
	case faultPromoted:
		st.identity++
	case faultMoved:
		st.identity++
		st.restore()
		for _, c := range s.counters {
			if c.st == st && c.lossy() {
				c.silent = append(c.silent, s.now)
			}
		}
	case faultSetBack:
		st.restore()
		for _, c := range s.counters {
			if c.st == st {
				c.silent = append(c.silent, s.now)
			}
		}
	case faultVanished:
		c := s.counters[int(chance*float64(len(s.counters)))]
		nodes := snowfence.NodeRange{From: plain, Until: math.MaxInt64}
		all := c.st.list(c.key().Namespace, nodes, math.MaxInt)
		if len(all) > 0 {
			delete(c.st.records, all[s.chance.IntN(len(all))].Key)
		}
		c.silent = append(c.silent, s.now)
	}
}

// resume ends all faults, and checks that every slot gets numbers again.
func (s *sim) resume(ctx context.Context) {
	s.calm = true
	for _, c := range s.counters {
		c.st.down = 0
	}
	for _, sl := range s.slots {
		sl.clock = clock{since: s.now}
	}
	for _, p := range s.procs {
		p.apart, p.pausedUntil, p.clock = 0, 0, clock{since: s.now}
	}
	s.operator.apart = 0
	s.advance(ctx, s.now+8*s.ttl) // what was under way ends by then
	s.mend()
	s.due = s.now
	s.advance(ctx, s.now+8*s.ttl+30*time.Second)
	for _, sl := range s.slots {
		if s.bad == nil && ctx.Err() == nil && sl.madeAt < s.due && !s.plan.noSlots[sl.index] {
			s.violate("%s got no number in %v after all faults had ended; its last one was at %v", sl.label,
				s.now-s.due, sl.madeAt)
		}
	}
}
