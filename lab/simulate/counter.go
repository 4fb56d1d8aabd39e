package simulate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// counter is the ledger's own account of a sequence, from the numbers that
// were given out and the answers of the store.
type counter struct {
	name        string
	definition  sequence.Definition
	start, step int64
	mode        sequence.Mode
	dated       bool

	numbers     map[place]given
	highest     order                    // by period: of all calls that ended
	storeEnds   map[int64]int64          // by period: end of all takes that the store carried out
	programEnd  int64                    // end of all takes whose answer reached a program
	writeTimes  map[string]time.Duration // by nonce: when the store did it
	silent      []time.Duration          // when the store was rolled back and nothing tells
	confirmTime time.Duration            // last confirmation, or skip of numbers, that was carried out
	count       int64                    // of the last one, as the record has it
	changing    bool                     // the operator is at it
}

// place is a number: an ordinal of a period, which is plain where the
// sequence is.
type place struct{ period, ordinal int64 }

// plain is the period of a sequence that is not dated: the node of its
// record.
const plain = -2

// given is a number that was given out.
type given struct {
	by *taker
	of *take
}

// top is the highest ordinal of a period, and the take it is of.
type top struct {
	ordinal int64
	of      *take
}

// take is some ordinals that the store gave to a program.
type take struct {
	period, from, until int64
	writeTime           time.Duration // when the store did it
	isShared            bool          // a program that had it was resumed twice
}

func newCounter(chance *rand.Rand, name string) *counter {
	c := &counter{
		name: name, start: []int64{1, 0, -7, 1 << 40}[chance.IntN(4)], step: []int64{1, 1, 5, -3}[chance.IntN(4)],
		mode:    []sequence.Mode{sequence.Fast, sequence.Dense, sequence.Strict}[chance.IntN(3)],
		numbers: map[place]given{}, highest: order{}, storeEnds: map[int64]int64{},
		writeTimes: map[string]time.Duration{},
	}
	c.definition = sequence.Definition{
		Mode: c.mode, Start: &c.start, Step: c.step, MinRange: []int64{1, 5, 100}[chance.IntN(3)],
		AfterFailover: []int64{sequence.Stop, sequence.Stop, manyNumbers, sequence.Trust}[chance.IntN(4)],
	}
	c.definition.MaxRange = c.definition.MinRange * []int64{1, 10, 50}[chance.IntN(3)]
	if c.dated = chance.IntN(3) == 0; c.dated {
		c.start, c.step = max(c.start, 0), max(c.step, 1)
		c.definition.Step = c.step
		c.definition.Pattern = []string{
			"{year}{month}{day}-{n:4+}", "{yy}/{month}-{n:2+}", "R{n:3+}.{year}",
		}[chance.IntN(3)]
		c.definition.Zone = []string{"", "UTC"}[chance.IntN(2)]
	}
	return c
}

// manyNumbers is more than all programs take in a run.
const manyNumbers = 1 << 24

func (c *counter) recordKey() store.Key { return store.Key{Namespace: "#" + c.name, Node: plain} }

func (c *counter) numberOf(ordinal int64) int64 { return c.start + ordinal*c.step }

// highestEnd is the highest end that the store carried out, in any period.
func (c *counter) highestEnd() (end int64) {
	for _, until := range c.storeEnds {
		end = max(end, until)
	}
	return end
}

// lacksTooMuch reports whether a store that was put back lacks more numbers
// than the definition allows. Trust allows no loss, so it counts as too
// much. Otherwise a period may lack as many as are skipped. A missing
// sequence is created again, and lacks all.
func (c *counter) lacksTooMuch(st *medium) bool {
	r := st.records[c.recordKey()]
	var data struct {
		AfterFailover int64 `json:"after_failover"`
	}
	_ = json.Unmarshal([]byte(r.Data), &data) // what is no record of a sequence is found out by others
	lossy := r.Nonce == "" || data.AfterFailover == sequence.Trust
	for period, end := range c.storeEnds {
		k := store.Key{Namespace: r.Namespace, Node: period}
		lossy = lossy || data.AfterFailover > 0 && end-st.records[k].From > data.AfterFailover
	}
	return lossy
}

// noteSwap is told of each swap that the store carried out, with the record
// before it. A backup may have brought that record, with an earlier
// confirmation than the last one, or with a later one.
func (s *sim) noteSwap(old, r store.Record) {
	c := s.counterOf(r.Key)
	c.carryOut(s, r)
	if r.Node != plain {
		return
	}
	count := s.confirmationOf(r)
	if count > c.count || count > s.confirmationOf(old) {
		c.confirmTime = s.now
	}
	c.count = count
}

// confirmationOf returns the last confirmation or skip in a record: 0
// without one.
func (s *sim) confirmationOf(r store.Record) int64 {
	var data struct{ Confirmed int64 }
	if err := json.Unmarshal([]byte(r.Data), &data); err != nil && r.Nonce != "" {
		s.violate("the record of %s cannot be read: %v", r.Namespace, err)
	}
	return data.Confirmed
}

// counterOf returns the counter that a record belongs to.
func (s *sim) counterOf(k store.Key) *counter {
	i := slices.IndexFunc(s.counters, func(c *counter) bool { return c.recordKey().Namespace == k.Namespace })
	return s.counters[i]
}

func (c *counter) carryOut(s *sim, r store.Record) {
	c.storeEnds[r.Node] = max(c.storeEnds[r.Node], r.From)
	c.writeTimes[r.Nonce] = s.now
}

// carryAddition is an addition that has reached the store.
func (s *sim) carryAddition(p *process, a store.Addition) (store.Record, error) {
	r, err := s.store.add(a)
	if err == nil {
		s.counterOf(r.Key).carryOut(s, r)
	}
	if s.plan.Trace {
		s.traceLine("  store: %s adds %d to %s of %d, now %d, %q: %v", p.name, a.N, a.Key.Namespace, a.Key.Node, r.From,
			r.Nonce, err)
	}
	return r, err
}

// order is the highest ordinal of each period that was given so far.
type order map[int64]top

func (o order) raiseTo(period, ordinal int64, of *take) {
	if at, ok := o[period]; !ok || ordinal > at.ordinal {
		o[period] = top{ordinal, of}
	}
}

// asked is a call for numbers, with the end of the given numbers at its
// begin.
type asked struct {
	began       time.Duration
	handle, all order // to the caller's handle, and to all programs
}

// checkNumbers checks the numbers of one call, in their order. own counts
// for the order of its handle.
func (s *sim) checkNumbers(t *taker, own order, a asked, period int64, numbers []int64) {
	c := t.c
	for _, n := range numbers {
		ordinal := (n - c.start) / c.step
		if c.numberOf(ordinal) != n || ordinal < 0 {
			s.violate("%s got %d of %s, which is no number of it", t.p.name, n, c.name)
			return
		}
		if before, ok := a.handle[period]; ok && ordinal <= before.ordinal {
			s.violate("%s got %d of %s after %d", t.p.name, n, c.name, c.numberOf(before.ordinal))
			return
		}
		a.handle.raiseTo(period, ordinal, nil)
		own.raiseTo(period, ordinal, nil)
		t.most.raiseTo(period, ordinal, nil)
		if t.p.replay { // the other process got it
			continue
		}
		at := place{period, ordinal}
		if k := s.takeOf(t, a, at); k != nil {
			c.numbers[at] = given{t, k}
			c.highest.raiseTo(period, ordinal, k)
			s.figures.Numbers++
		}
		if s.bad != nil {
			return
		}
	}
	if len(numbers) > 0 && !t.p.replay {
		t.p.slot.madeAt = s.now
		s.hashEvent("gave", t.p.name, int64(len(numbers)), numbers[len(numbers)-1])
	}
}

// takeOf returns the take that a number is of, after it compared it with
// all that was given.
func (s *sim) takeOf(t *taker, a asked, at place) *take {
	c, n := t.c, t.c.numberOf(at.ordinal)
	k := t.takeOf(at)
	switch {
	case k == nil:
		s.violate("%s got %d of %s, and the store gave it no such number", t.p.name, n, c.name)
		return nil
	case t.isDoubted(k):
		s.violate("%s got %d of %s, after it had seen that the record went back", t.p.name, n, c.name)
		return nil
	}
	before, ok := a.all[at.period]
	if c.mode == sequence.Strict && ok && at.ordinal <= before.ordinal && !c.mayRepeat(k, before.of) && !k.isShared &&
		!before.of.isShared {
		s.violate("%s got %d of %s in a call that began after %d had been given", t.p.name, n, c.name,
			c.numberOf(before.ordinal))
	}
	if o, ok := c.numbers[at]; ok {
		if !c.mayRepeat(k, o.of) && !twice(t, k, a) && !twice(o.by, o.of, a) {
			s.violate("number %d of %s, period %d, came twice: to %s and to %s", n, c.name, at.period, o.by.p.name,
				t.p.name)
		}
		s.figures.Repeated++
	}
	return k
}

// twice reports whether a number may come twice because a machine was
// resumed twice: it was in memory then, in a range, or as the answer to a
// call that was under way.
func twice(t *taker, k *take, a asked) bool { return k.isShared && (!t.exact || a.began <= t.forkTime) }

// mayRepeat reports whether numbers of two takes may be the same, or out of
// order, because no program can see it: the store was rolled back between
// them, and has the identity of before. Later takers saw no later record:
// see isDoubted.
func (c *counter) mayRepeat(a, b *take) bool {
	lo, hi := min(a.writeTime, b.writeTime), max(a.writeTime, b.writeTime)
	return slices.ContainsFunc(c.silent, func(at time.Duration) bool { return lo <= at && at <= hi })
}
