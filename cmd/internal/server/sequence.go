package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// Numbers is numbers of a sequence that follow each other: First, First +
// Step, …
type Numbers struct {
	First, Step, Count int64
	Period             int64            // such as 20261122 of a dated sequence; 0 of another one
	Serials            sequence.Serials // the same numbers with their dates, of a dated one
}

// At returns the number of an index from 0 to Count-1.
func (n Numbers) At(i int64) int64 { return n.First + i*n.Step }

// Last returns the last number.
func (n Numbers) Last() int64 { return n.At(n.Count - 1) }

// Text returns the number of an index as people read it: with its date in a
// dated sequence.
func (n Numbers) Text(i int64) string {
	if n.Period != 0 {
		return n.Serials.At(i).Text
	}
	return strconv.FormatInt(n.At(i), 10)
}

// Sequence is an open sequence of the server.
type Sequence struct {
	Name string

	// Taken counts the numbers that were given out here.
	Taken atomic.Int64

	core        *Core
	counts      store.Store
	numbers     source
	plain       *sequence.Sequence  // the same, if it is a plain one
	dated       *sequence.Dated     // the same, if it is a dated one
	def         sequence.Definition // what of it can change is not used
	given       givenOut
	lastUse     atomic.Int64 // when it was used last, in Unix nanoseconds; see makeRoom
	lastRefusal atomic.Pointer[refusal]
	rate        meanRate
	knownPeriod atomic.Int64 // a period that there is
}

// refusal is a failure to take n numbers.
type refusal struct {
	failure
	period, n int64
}

// source is the common part of plain and dated sequences.
type source interface {
	Definition() sequence.Definition
	Status() sequence.Status
	Close() error
}

// openNumbers opens a sequence, plain or dated.
func openNumbers(ctx context.Context, st store.Store, name string, o *sequence.Options) (source, error) {
	plain, err := sequence.Open(ctx, st, name, o)
	if errors.Is(err, sequence.ErrDated) {
		return sequence.OpenDated(ctx, st, name, o)
	}
	return plain, err
}

func newSequence(c *Core, counts store.Store, name string, numbers source) *Sequence {
	now := c.now()
	sq := &Sequence{Name: name, core: c, counts: counts, numbers: numbers, def: numbers.Definition()}
	sq.plain, _ = numbers.(*sequence.Sequence)
	sq.dated, _ = numbers.(*sequence.Dated)
	sq.given.down = sq.def.Step < 0
	sq.given.last.Store(sq.given.none())
	sq.rate.before.at = now
	sq.rate.later = sq.rate.before
	sq.lastUse.Store(now.UnixNano())
	return sq
}

// Take takes n numbers in a row; see [Sequences.Take].
func (sq *Sequence) Take(ctx context.Context, period, n int64) (got Numbers, err error) {
	if err := sq.refusalOf(period, n); err != nil {
		return Numbers{}, err
	}
	p := call{Context: ctx, sq: sq}
	defer p.endWait()
	switch {
	case !sq.Dated() && period != 0:
		err = sq.CheckPeriod(period)
	case !sq.Dated():
		var r sequence.Range
		r, err = sq.plain.Reserve(&p, n)
		got = Numbers{First: r.First, Step: r.Step, Count: r.Count}
	default:
		got.Serials, err = sq.dated.Reserve(&p, period, n)
	}
	if err != nil {
		return Numbers{}, sq.rememberRefusal(ctx, period, n, err)
	}
	if sq.Dated() {
		r := got.Serials
		got.First, got.Step, got.Count, got.Period = r.First, sq.def.Step, r.Count, r.Period
	}
	sq.noteNumber(got.Period, got.Last(), n)
	return got, nil
}

// Fill writes numbers of a period, or of a plain sequence with 0, to dst,
// in their order; they need not follow each other. On an error the first n
// are good.
func (sq *Sequence) Fill(ctx context.Context, period int64, dst []int64) (n int, err error) {
	if err := sq.refusalOf(period, 1); err != nil {
		return 0, err
	}
	p := call{Context: ctx, sq: sq}
	defer p.endWait()
	if sq.Dated() {
		n, err = sq.dated.Fill(&p, period, dst)
	} else {
		n, err = sq.plain.Fill(&p, dst)
	}
	if err != nil {
		err = sq.rememberRefusal(ctx, period, 1, err)
	}
	if n > 0 {
		sq.noteNumber(period, dst[n-1], int64(n))
	}
	return n, err
}

// noteNumber keeps the last given number.
func (sq *Sequence) noteNumber(period, last, n int64) {
	sq.Taken.Add(n)
	sq.lastUse.Store(sq.core.now().UnixNano())
	sq.given.noteNumber(period, last)
}

// refusalOf returns why as many numbers could not be had a moment ago.
func (sq *Sequence) refusalOf(period, n int64) error {
	r := sq.lastRefusal.Load()
	switch {
	case r == nil:
		return nil
	case !sq.core.now().Before(r.until):
		sq.lastRefusal.CompareAndSwap(r, nil)
		return nil
	case r.period != period || n < r.n:
		return nil
	}
	return r.err
}

// rememberRefusal remembers an error for a moment if it is not the
// caller's.
func (sq *Sequence) rememberRefusal(ctx context.Context, period, n int64, err error) error {
	if errors.Is(err, sequence.ErrClosed) {
		return err
	}
	err = sequenceError(sq.Name, err)
	if ctx.Err() == nil {
		sq.lastRefusal.Store(&refusal{failure{err, sq.core.now().Add(failureTTL)}, period, n})
	}
	return err
}

func (sq *Sequence) close() {
	if err := sq.numbers.Close(); err != nil {
		sq.core.opts.Logger.Warn("a sequence was closed", "sequence", sq.Name, "cause", err)
	}
}

// Dated reports whether the numbers begin again each period.
func (sq *Sequence) Dated() bool { return sq.dated != nil }

// Step returns the difference of a number and the next one.
func (sq *Sequence) Step() int64 { return sq.def.Step }

// Present returns the period that numbers are taken of now; 0 where there
// is none.
func (sq *Sequence) Present() int64 {
	if !sq.Dated() {
		return 0
	}
	period, err := sq.def.Period(sq.core.now())
	if err != nil {
		return 0 // the pattern has no place for the year
	}
	return period
}

// CheckPeriod returns why there is no such period.
func (sq *Sequence) CheckPeriod(period int64) error {
	if !sq.Dated() {
		return fmt.Errorf("sequence %q: %w: it is not dated: leave out the period %d, or where that is no "+
			"date, take another name, as in %[1]s.c%[3]d", sq.Name, sequence.ErrPeriod, period)
	}
	if period == sq.knownPeriod.Load() { // programs of Redis ask after each number
		return nil
	}
	if _, err := (sequence.Serials{Period: period, First: 1, Count: 1}).Of(sq.def); err != nil {
		return fmt.Errorf("sequence %q: %w: %d is no period: use one such as %d", sq.Name, sequence.ErrPeriod, period,
			sq.Present())
	}
	sq.knownPeriod.Store(period)
	return nil
}

// SequenceStatus is how this server does with a sequence.
type SequenceStatus struct {
	sequence.Status
	Last    int64   // number given out here, in whichever period
	Given   bool    // whether there is one
	Taken   int64   // numbers given out here
	Rate    float64 // of them a second, lately
	Reserve float64 // seconds that the numbers held last at that rate; infinite without one
	Ends    float64 // seconds that those left last
}

// Status returns how this server does with the sequence.
func (sq *Sequence) Status() SequenceStatus {
	st := SequenceStatus{Status: sq.numbers.Status(), Taken: sq.Taken.Load()}
	st.Last, st.Given = sq.given.lastOf(sq.given.period())
	st.Rate = sq.rate.of(st.Taken, sq.core.now())
	st.Reserve, st.Ends = math.Inf(1), math.Inf(1)
	if st.Rate > 0 {
		st.Reserve, st.Ends = float64(st.Held)/st.Rate, float64(st.Left)/st.Rate
	}
	return st
}

// TextRoom is the room of a number's text in a message and in its encoded
// form, in bytes.
func (sq *Sequence) TextRoom() int64 { return 24 + 4*max(20, 4+int64(len(sq.def.Pattern))) }
