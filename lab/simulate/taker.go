package simulate

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// taker is a sequence that a process has open. It stands between the
// sequence and the store, and tells the ledger the store's answers.
type taker struct {
	store.Store
	p     *process
	c     *counter
	q     *sequence.Sequence // nil of a dated one
	d     *sequence.Dated    // nil of a plain one
	exact bool

	takes    []*take
	seen     map[int64]sight // by period: the last take
	doubt    time.Duration   // when a take was carried out that showed that the record went back; 0 if none
	forkTime time.Duration   // when it was resumed twice
	highest  order           // of what it gave, handles for one goroutine aside
	most     order           // of what it gave
}

// sight is a record as a program saw it.
type sight struct {
	revision  int64
	writeTime time.Duration
}

// Add implements store.Store.
func (t *taker) Add(ctx context.Context, a store.Addition) (_ store.Record, reply store.Reply, _ error) {
	r, reply, err := store.Add(ctx, t.Store, a)
	if err == nil {
		t.noteTake(r)
	}
	return r, reply, err
}

// noteTake is told of each take with an answer that reached the process.
func (t *taker) noteTake(r store.Record) {
	s, c := t.p.s, t.c
	k := &take{period: r.Node, from: r.PrevUntil, until: r.From, writeTime: c.writeTimes[r.Nonce]}
	k.isShared = t.p.replay || k.writeTime <= t.forkTime // or its answer lay unread
	t.takes = append(t.takes, k)
	if t.doubt > 0 && c.confirmTime >= t.doubt && c.confirmTime <= k.writeTime {
		t.doubt = 0
	}
	given, ok := t.most[r.Node]
	below := ok && r.PrevUntil <= given.ordinal
	seen := t.seen[r.Node]
	confirmed := c.confirmTime >= seen.writeTime && c.confirmTime <= k.writeTime
	current := r.Generation == s.store.records[c.recordKey()].Generation // of a period: else it is not used anyway
	older := r.Revision <= seen.revision && !confirmed
	if !t.p.replay && current && (older || below) && t.doubt == 0 {
		t.doubt = max(k.writeTime, 1)
		s.traceLine("%s sees that %s went back: revision %d after %d", t.p.name, c.name, r.Revision, seen.revision)
	}
	t.seen[r.Node] = sight{r.Revision, k.writeTime}
	c.programEnd = max(c.programEnd, r.From)
	if !t.p.replay {
		s.figures.Takes++
		s.hashEvent("took", t.p.name, r.PrevUntil, r.From)
		s.traceLine("%s took %d to %d of %s, period %d", t.p.name, r.PrevUntil, r.From, c.name, r.Node)
	}
}

// takeOf returns the take of a number: a usable one, if there is one.
func (t *taker) takeOf(at place) (found *take) {
	for _, k := range slices.Backward(t.takes) {
		if k.period == at.period && k.from <= at.ordinal && at.ordinal < k.until {
			if found = k; !t.isDoubted(k) {
				break
			}
		}
	}
	return found
}

// isDoubted reports whether a take may not be used, because the record had
// gone back and was not confirmed since.
func (t *taker) isDoubted(k *take) bool {
	if t.doubt == 0 || k.writeTime < t.doubt {
		return false
	}
	return t.c.confirmTime < t.doubt || t.c.confirmTime > k.writeTime
}

// noteTwin is told that the process was resumed a second time, with twin in
// its place.
func (t *taker) noteTwin(twin *taker) {
	t.forkTime, twin.forkTime = t.p.s.now, t.p.s.now
	twin.doubt = t.doubt
	for _, k := range t.takes {
		k.isShared = true
	}
}

// useSequences is the work of a process with sequences: it opens one, takes
// numbers in every way there is, closes, and begins again.
func (p *process) useSequences() {
	ctx := world.With(context.Background(), p)
	for p.programRand.IntN(6) > 0 {
		c := p.s.counters[p.programRand.IntN(len(p.s.counters))]
		t := p.takerOf(c)
		o := &sequence.Options{Exact: p.programRand.IntN(4) == 0, Logger: slog.New(slog.DiscardHandler)}
		t.exact = o.Exact || c.mode == sequence.Strict
		octx, cancel := p.WithTimeout(ctx, 2*p.s.ttl)
		var err error
		if c.dated {
			t.d, err = sequence.OpenDated(octx, t, c.name, o)
		} else {
			t.q, err = sequence.Open(octx, t, c.name, o)
		}
		cancel()
		if err == nil {
			t.useSequence(ctx)
		}
		p.sleepFor(time.Duration(p.programRand.Int64N(int64(p.s.ttl))))
	}
	if p.programs--; p.programs == 0 && !p.replay {
		p.s.runAfter(0, func() { p.s.killProcess(p) })
	}
}

// takerOf returns the layer between a sequence of the process and its
// store.
func (p *process) takerOf(c *counter) *taker {
	t := &taker{Store: link{p: p}, p: p, c: c, seen: map[int64]sight{}, highest: order{}, most: order{}}
	p.takers = append(p.takers, t)
	return t
}

// useSequence is the life of an open sequence.
func (t *taker) useSequence(ctx context.Context) {
	p := t.p
	rounds := 1 + p.programRand.IntN(14)
	for range p.programRand.IntN(3) {
		p.Go(func() { t.takeRounds(ctx, rounds) })
	}
	t.takeRounds(ctx, rounds)
	if p.programRand.IntN(4) == 0 {
		return // as who forgets it
	}
	var err error
	if t.c.dated {
		_ = t.d.Close()
		_, err = t.d.Next(ctx)
	} else {
		_ = t.q.Close()
		_, err = t.q.TryNext()
	}
	if !errors.Is(err, sequence.ErrClosed) {
		p.s.violate("%s: a closed sequence says %v", p.name, err)
	}
}

// takeRounds takes numbers for some rounds.
func (t *taker) takeRounds(ctx context.Context, rounds int) {
	p, s := t.p, t.p.s
	var local *sequence.Local
	handle := t.highest
	if !t.c.dated {
		local = t.q.Local()
	}
	if t.c.mode == sequence.Fast && !t.exact {
		handle = order{}
	}
	for range rounds {
		wctx, cancel := p.WithTimeout(ctx, time.Duration(p.programRand.Int64N(int64(2*s.ttl))))
		n := 1 + p.programRand.IntN(1<<p.programRand.IntN(6))
		if t.c.dated {
			t.takeSerials(wctx, int64(n))
		} else {
			t.takeNumbers(wctx, n, local, handle)
		}
		cancel()
		p.sleepFor(time.Duration(1 + p.programRand.Int64N(int64(1+p.programRand.Int64N(int64(s.ttl))))))
	}
}

// takeNumbers takes some numbers of a plain sequence.
func (t *taker) takeNumbers(ctx context.Context, n int, local *sequence.Local, handle order) {
	switch t.p.programRand.IntN(5) {
	case 0:
		for range n {
			t.takeOne(t.highest, func() (int64, error) { return t.q.Next(ctx) })
		}
	case 1:
		for range n {
			t.takeOne(t.highest, t.q.TryNext)
		}
	case 2:
		numbers, a := make([]int64, n), t.beginCall(t.highest)
		k, _ := t.q.Fill(ctx, numbers)
		t.p.s.checkNumbers(t, t.highest, a, plain, numbers[:k])
	case 3:
		a := t.beginCall(t.highest)
		if r, err := t.q.Reserve(ctx, int64(n)); err == nil {
			t.noteRow(a, plain, r.First, r.Count, r.Step)
		}
	default:
		for range n {
			t.takeOne(handle, func() (int64, error) { return local.Next(ctx) })
		}
	}
}

// takeSerials takes some numbers of a dated sequence: mostly of the present
// period.
func (t *taker) takeSerials(ctx context.Context, n int64) {
	for range 1 + n/8 {
		a := t.beginCall(t.highest)
		var r sequence.Serials
		var err error
		if near := t.p.programRand.IntN(8); near < 3 {
			period, _ := t.c.definition.Period(t.p.Now().AddDate(0, 0, near-1))
			r, err = t.d.Reserve(ctx, period, n)
		} else {
			r, err = t.d.Reserve(ctx, 0, n)
		}
		switch {
		case err == nil:
			t.noteRow(a, r.Period, r.First, r.Count, t.c.step)
		case errors.Is(err, sequence.ErrPeriod): // closed, or far ahead of a clock that is behind
			t.p.slot.madeAt = t.p.s.now
		}
	}
}

// noteRow is numbers that follow each other.
func (t *taker) noteRow(a asked, period, first, count, step int64) {
	numbers := make([]int64, count)
	for i := range count {
		numbers[i] = first + i*step
	}
	t.p.s.checkNumbers(t, t.highest, a, period, numbers)
}

// takeOne makes a call for one number.
func (t *taker) takeOne(own order, call func() (int64, error)) {
	a := t.beginCall(own)
	if n, err := call(); err == nil {
		t.p.s.checkNumbers(t, own, a, plain, []int64{n})
	}
}

func (t *taker) beginCall(own order) asked {
	a := asked{began: t.p.virtualTime(), handle: maps.Clone(own)}
	if !t.p.replay {
		a.all = maps.Clone(t.c.highest)
	}
	return a
}
