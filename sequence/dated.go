package sequence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Dated gives out the numbers of a dated sequence in one program. It is
// safe for concurrent use.
//
// Each period has its own Sequence, and so its own numbers.
type Dated struct {
	source    // of the definition, which gives no numbers
	calendar  *calendar
	mode      Mode
	exact     bool
	anyPeriod bool
	life      context.Context // of calls to the store
	end       context.CancelFunc
	unpin     func()
	present   atomic.Pointer[Sequence] // the period in use; nil before the first

	// Guarded by mu.
	periods    map[int64]*Sequence // those that were used
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
	d := &Dated{periods: map[int64]*Sequence{}, closeDone: make(chan struct{})}
	d.useStore(ctx, st, name, o)
	unpin, err := d.openRecord(ctx)
	if err != nil {
		return nil, err
	}
	if d.calendar, err = d.lastState.calendar(); err != nil {
		unpin()
		return nil, fmt.Errorf("sequence %q: %w", name, err)
	}
	d.unpin, d.mode = unpin, d.lastState.Mode
	d.exact = o != nil && o.Exact || d.mode == Strict
	d.anyPeriod = o != nil && o.AnyPeriod
	d.life, d.end = context.WithCancel(world.With(context.Background(), d.world))
	return d, nil
}

// Next returns a number of the present period in the sequence's zone. It
// waits as [Sequence.Next] does.
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
		got, err := p.takeRow(ctx, n)
		return d.serials(p, got), err
	}
	for {
		p, err := d.presentPeriod()
		if err != nil {
			return Serials{}, err
		}
		if got, ok := p.cur.Load().takeRow(n); ok {
			return d.serials(p, got), nil
		}
		got, err := p.waitFor(ctx, n, true)
		if now, _ := d.presentPeriod(); now != p {
			continue // the period ended while the store was waited for
		}
		return d.serials(p, got), err
	}
}

func (d *Dated) serials(p *Sequence, got span) Serials {
	if got.len() == 0 {
		return Serials{}
	}
	taken := d.calendar.dayIn(p.period, d.world.Now())
	return Serials{p.period, got.firstNumber(p.step), got.len(), taken, p.step, d.calendar.pattern}
}

// namedPeriod opens a period that the caller names, one ahead at most.
func (d *Dated) namedPeriod(period int64) (*Sequence, error) {
	if err := d.calendar.admitPeriod(period, d.calendar.periodAt(d.world.Now())); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", d.name, err)
	}
	p, err := d.presentPeriod() // its numbers that were taken ahead are used first
	if err != nil || p.period == period {
		return p, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.periodSequence(period), nil
}

// stays reports whether a period is the one to take from: it is its time,
// or less than an hour before.
func (c *calendar) stays(p *Sequence, now time.Time) bool {
	if p == nil {
		return false
	}
	at := c.periodAt(now)
	return at == p.period || at < p.period && c.periodAt(now.Add(clockBehind)) >= p.period
}

// presentPeriod returns the period to take from.
func (d *Dated) presentPeriod() (*Sequence, error) {
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
	p := d.periodSequence(at)
	p.takeAhead(true)
	d.present.Store(p)
	if was != nil {
		was.takeAhead(false)
		d.world.Go(was.retirePeriod)
	}
	return p, nil
}

// periodSequence returns a period. mu is held.
func (d *Dated) periodSequence(period int64) *Sequence {
	if p := d.periods[period]; p != nil {
		return p
	}
	for other, p := range d.periods {
		if len(d.periods) < mostPeriods {
			break
		}
		if p != d.present.Load() && p.isIdle() {
			delete(d.periods, other)
		}
	}
	p := newSequence()
	p.name, p.store, p.world, p.log, p.of, p.period = d.name, d.store, d.world, d.log, d, period
	p.lastState, p.rereadReason, p.closed = d.lastState, errUnread, d.closed
	p.lastState.counter = store.Record{}
	p.startTakes(d.life, true, func() {})
	d.periods[period] = p
	return p
}

// Status returns the state of the period in use, in this program.
func (d *Dated) Status() Status {
	if p := d.present.Load(); p != nil {
		return p.Status()
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
	for _, period := range slices.Sorted(maps.Keys(d.periods)) {
		open = append(open, d.periods[period])
	}
	d.mu.Unlock()
	d.closeError = closeAll(d.world, open)
	d.end()
	d.unpin()
	close(d.closeDone)
	return d.closeError
}

// isIdle reports whether nothing is asked of the store.
func (s *Sequence) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storeCall == nil
}

// takeAhead makes a period take ahead, as its sequence does, or ends that.
func (s *Sequence) takeAhead(ahead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exact = s.of.exact || !ahead
}

// retirePeriod gives back the range that a dense period took ahead, because
// another period has begun. It takes nothing meanwhile.
func (s *Sequence) retirePeriod() {
	if s.mode != Dense {
		return
	}
	s.mu.Lock()
	for s.storeCall != nil {
		taking := s.storeCall
		s.mu.Unlock()
		s.world.Wait(-1, taking)
		s.mu.Lock()
	}
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.storeCall = make(chan struct{})
	rest := s.cur.Load().seal()
	s.mu.Unlock()
	ctx, cancel := s.world.WithTimeout(world.With(s.life, s.world), callTimeout)
	err := s.returnAll(ctx, rest)
	cancel()
	s.mu.Lock()
	if err != nil {
		s.log.Warn("numbers of a period that ended are a gap", "sequence", s.name, "period", s.period, "err", err)
	}
	close(s.storeCall)
	s.storeCall = nil
	s.startTaking() // for those who came meanwhile
	s.mu.Unlock()
}
