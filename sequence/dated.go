package sequence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// Dated gives out the numbers of a dated sequence in one program. It is
// safe for concurrent use.
//
// Each period has its own Sequence, and so its own numbers.
type Dated struct {
	*plain    // the definition, which counts nothing
	calendar  *calendar
	exact     bool
	anyPeriod bool
	unpin     func()
	present   atomic.Pointer[period] // the period in use; nil before the first

	// Guarded by mu.
	periods    map[int64]*period // those that were used
	closed     bool
	closeDone  chan struct{} // closed when Close has ended
	closeError error         // what Close returns
}

const (
	// clockBehind is how far a clock may be behind before an earlier period
	// is used again. At St. John's the date went back for an hour on
	// 2010-11-07.
	clockBehind = time.Hour

	// mostPeriods is how many periods a program remembers.
	mostPeriods = 100
)

// errUnread makes a period read its record before its first take.
var errUnread = errors.New("the period was not read yet")

// OpenDated is [Open] for a dated sequence. For a plain one it returns
// [ErrDated].
func OpenDated(ctx context.Context, st store.Store, name string, o *Options) (*Dated, error) {
	d := &Dated{plain: newPlain(ctx, st, name, o), periods: map[int64]*period{}, closeDone: make(chan struct{})}
	unpin, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	if d.calendar, err = d.lastState.calendar(); err != nil {
		unpin()
		return nil, fmt.Errorf("sequence %q: %w", name, err)
	}
	d.unpin = unpin
	d.exact = o != nil && o.Exact || d.lastState.Mode == Strict
	d.anyPeriod = o != nil && o.AnyPeriod
	return d, nil
}

// Next returns a number of the present period in the sequence's zone. It
// waits as [Sequence.Next] does. A call that waits over the end of a period
// leaves a gap in it.
func (d *Dated) Next(ctx context.Context) (Serial, error) {
	r, err := d.Reserve(ctx, 0, 1)
	if err != nil {
		return Serial{}, err
	}
	return r.At(0), nil
}

// Reserve takes n numbers that follow each other, 1 to 1,000,000, of a
// period: the present one (0), an earlier one, or the next. From a period
// that is not the present one, it takes exactly n from the store.
func (d *Dated) Reserve(ctx context.Context, period, n int64) (Serials, error) {
	if err := d.checkCount(n); err != nil {
		return Serials{}, err
	}
	if period != 0 {
		p, err := d.namedPeriod(period)
		if err != nil {
			return Serials{}, err
		}
		got, err := p.numbers.takeRow(ctx, n)
		return d.serials(p, got), err
	}
	for {
		p, err := d.presentPeriod()
		if err != nil {
			return Serials{}, err
		}
		if got, ok := p.numbers.cur.Load().takeRow(n); ok {
			return d.serials(p, got), nil
		}
		got, err := p.numbers.waitFor(ctx, n, true)
		if now, _ := d.presentPeriod(); now != p {
			continue // the period ended while the store was waited for
		}
		return d.serials(p, got), err
	}
}

// Fill is [Sequence.Fill] for a period, which the caller names.
func (d *Dated) Fill(ctx context.Context, period int64, dst []int64) (int, error) {
	p, err := d.namedPeriod(period)
	if err != nil {
		return 0, err
	}
	return p.numbers.Fill(ctx, dst)
}

func (d *Dated) serials(p *period, got span) Serials {
	taken := d.calendar.dayIn(p.at, d.world.Now())
	return Serials{p.at, got.firstNumber(p.numbers.step), got.len(), taken, p.numbers.step, d.calendar.pattern}
}

// namedPeriod opens a period that the caller names, one ahead at most.
func (d *Dated) namedPeriod(at int64) (*period, error) {
	if err := d.calendar.admitPeriod(at, d.calendar.periodAt(d.world.Now())); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", d.name, err)
	}
	if _, err := d.presentPeriod(); err != nil { // its numbers that were taken ahead are used first
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.usePeriod(at), nil
}

// stays reports whether a period is the one to take from: it is its time,
// or less than an hour before.
func (c *calendar) stays(p *period, now time.Time) bool {
	if p == nil {
		return false
	}
	at := c.periodAt(now)
	return at == p.at || at < p.at && c.periodAt(now.Add(clockBehind)) >= p.at
}

// presentPeriod returns the period to take from.
func (d *Dated) presentPeriod() (*period, error) {
	if p := d.present.Load(); d.calendar.stays(p, d.world.Now()) {
		return p, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.world.Now()
	was := d.present.Load()
	if d.calendar.stays(was, now) {
		return was, nil
	}
	at := d.calendar.periodAt(now)
	if err := d.calendar.checkYears(at); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", d.name, err)
	}
	p := d.usePeriod(at)
	p.numbers.takeAhead(!d.exact)
	d.present.Store(p)
	if was != nil {
		was.numbers.takeAhead(false)
	}
	return p, nil
}

// usePeriod returns a period. mu is held.
func (d *Dated) usePeriod(at int64) *period {
	if p := d.periods[at]; p != nil {
		return p
	}
	for other, p := range d.periods {
		if len(d.periods) < mostPeriods {
			break
		}
		if p != d.present.Load() && p.numbers.isIdle() {
			delete(d.periods, other)
		}
	}
	p := d.newPeriod(at)
	p.numbers = newSequence(p.facts, p)
	p.numbers.start(true, func(context.Context) {})
	p.numbers.rereadReason, p.numbers.closed = errUnread, d.closed
	d.periods[at] = p
	return p
}

// Status returns the state of the period in use, in this program.
func (d *Dated) Status() Status {
	if p := d.present.Load(); p != nil {
		return p.numbers.Status()
	}
	return Status{}
}

// Close ends the sequence in all its periods, as [Sequence.Close] does.
func (d *Dated) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		d.world.Wait(-1, d.closeDone)
		return d.closeError
	}
	d.closed = true
	var open []*Sequence
	for _, at := range slices.Sorted(maps.Keys(d.periods)) {
		open = append(open, d.periods[at].numbers)
	}
	d.mu.Unlock()
	d.closeError = closeAll(d.world, open)
	d.unpin()
	close(d.closeDone)
	return d.closeError
}

// isIdle reports whether nothing is asked of the store.
func (s *Sequence) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takes == nil
}

// takeAhead makes a period take ahead, or ends that: a dense one gives the
// rest back.
func (s *Sequence) takeAhead(ahead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exact = !ahead
	if !ahead && s.dense {
		s.retired = true
		s.startTaking()
	}
}

// returnRests gives back the rest of a dense period, because another one
// has begun.
func (s *Sequence) returnRests(rests []span) {
	ctx, cancel := s.world.WithTimeout(s.life, callTimeout)
	defer cancel()
	if err := s.from.giveBack(ctx, rests); err != nil {
		s.log.Warn("numbers of a period that ended are a gap", "sequence", s.name, "err", err)
	}
}
