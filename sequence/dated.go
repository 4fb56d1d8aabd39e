package sequence

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// dated is what a dated sequence has: for each period a Sequence of its own, which never gives a
// number of another one.
type dated struct {
	*calendar
	present atomic.Pointer[Sequence] // the period in use; nil before the first
	periods map[int64]*Sequence      // those that were used, guarded by mu of the sequence
}

// patience is how far a clock may be behind before an earlier period is used again. At St. John's
// the date went back for an hour on 2010-11-07.
const patience = time.Hour

// mostPeriods is how many periods a program remembers.
const mostPeriods = 100

// errUnread makes a period read its record before its first take.
var errUnread = errors.New("the period was not read yet")

func (s state) dated() (*dated, error) {
	c, err := s.calendar()
	if err != nil {
		return nil, fmt.Errorf("sequence %q: %w", s.name, err)
	}
	return &dated{calendar: c, periods: map[int64]*Sequence{}}, nil
}

// Serial returns a number of a dated sequence: of the period that its zone has when it is taken. It
// waits as [Sequence.Next] does.
func (s *Sequence) Serial(ctx context.Context) (Serial, error) {
	r, err := s.Serials(ctx, 1)
	if err != nil {
		return Serial{}, err
	}
	return r.At(0), nil
}

// Serials returns n numbers that follow each other, 1 to 1,000,000, of the present period.
func (s *Sequence) Serials(ctx context.Context, n int64) (Serials, error) {
	if err := s.allowed(n); err != nil {
		return Serials{}, err
	}
	for {
		p, err := s.present()
		if err != nil {
			return Serials{}, err
		}
		if got, ok := p.cur.Load().row(n); ok {
			return p.serials(got), nil
		}
		got, err := p.wait(ctx, n, true)
		if now, failed := s.present(); failed == nil && now != p {
			continue // the period ended while the store was waited for
		}
		if err != nil {
			return Serials{}, err
		}
		return p.serials(got), nil
	}
}

// SerialsIn returns n numbers of a period, 1 to 1,000,000: the present one, an earlier one, or the
// next. Of those that are not the present one, it takes exactly n from the store.
func (s *Sequence) SerialsIn(ctx context.Context, period, n int64) (Serials, error) {
	if err := s.allowed(n); err != nil {
		return Serials{}, err
	}
	present := s.dated.at(s.world.Now())
	err := s.dated.check(period)
	switch {
	case err != nil:
		return Serials{}, fmt.Errorf("sequence %q: %w", s.name, err)
	case !s.dated.exists(period):
		return Serials{}, fmt.Errorf("sequence %q: %w: %d is no period: use one such as %d", s.name, ErrPeriod, period,
			present)
	case period > s.dated.next(present):
		return Serials{}, fmt.Errorf("sequence %q: %w: %d is more than one period ahead of %d", s.name, ErrPeriod,
			period, present)
	}
	s.mu.Lock()
	p := s.in(period)
	s.mu.Unlock()
	got, ok := p.cur.Load().row(n)
	if !ok {
		if got, err = p.wait(ctx, n, true); err != nil {
			return Serials{}, err
		}
	}
	return p.serials(got), nil
}

func (s *Sequence) allowed(n int64) error {
	switch {
	case s.dated == nil:
		return s.errNotDated()
	case n < 1 || n > mostAtOnce:
		return s.errCount(n)
	}
	return nil
}

func (s *Sequence) serials(got span) Serials {
	return Serials{s.period, s.way.number(got.from), got.len(), s.way.step, s.parent.dated.pattern}
}

// stays reports whether a period is the one to take from: it is its time, or less than an hour
// before.
func (d *dated) stays(p *Sequence, now time.Time) bool {
	if p == nil {
		return false
	}
	at := d.at(now)
	return at == p.period || at < p.period && d.at(now.Add(patience)) >= p.period
}

// present returns the period to take from.
func (s *Sequence) present() (*Sequence, error) {
	d := s.dated
	if p := d.present.Load(); d.stays(p, s.world.Now()) {
		return p, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.world.Now()
	was := d.present.Load()
	if d.stays(was, now) {
		return was, nil
	}
	at := d.at(now)
	if err := d.check(at); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", s.name, err)
	}
	p := s.in(at)
	p.lead()
	d.present.Store(p)
	if was != nil {
		s.world.Go(was.retire)
	}
	return p, nil
}

// in returns a period. mu is held.
func (s *Sequence) in(period int64) *Sequence {
	d := s.dated
	if p := d.periods[period]; p != nil {
		return p
	}
	for other, p := range d.periods {
		if len(d.periods) < mostPeriods {
			break
		}
		if p != d.present.Load() && p.idle() {
			delete(d.periods, other)
		}
	}
	p := &Sequence{
		name: s.name, store: s.store, world: s.world, log: s.log, mode: s.mode, exact: true, way: s.way,
		unpin: func() {}, parent: s, period: period, known: s.known, halted: errUnread,
		closing: make(chan struct{}), gone: make(chan struct{}),
	}
	p.known.counter = lease.Record{}
	p.life, p.end = context.WithCancel(s.life)
	p.cur.Store(p.way.piece(span{}))
	if s.closed {
		p.closed = true
		p.closing, p.gone = s.closing, s.gone
	}
	d.periods[period] = p
	return p
}

// idle reports whether nobody waits for the store.
func (s *Sequence) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flight == nil
}

// lead makes a period take ahead, as its sequence does.
func (s *Sequence) lead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exact = s.parent.exact
}

// retire ends taking ahead, because another period has begun. What a dense sequence took ahead
// goes back.
func (s *Sequence) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exact = true
}

// unchanged reports whether the definition is the one that is known. It is read after each take of
// a period, because a confirmation writes the definition alone.
func (s *Sequence) unchanged(ctx context.Context) (bool, error) {
	rs, err := s.store.Get(ctx, []lease.Key{keyOf(s.name)})
	if err != nil {
		return false, fmt.Errorf("sequence %q: reading it: %w", s.name, err)
	}
	return rs[0].Nonce == s.known.record.Nonce, nil
}

// enter makes the record of a period one of this definition: it has its generation, and counts from
// the floor on. It is a [lease.ErrLost] if somebody was faster.
func (s *Sequence) enter(ctx context.Context, now state) (state, error) {
	r := now.counter
	if r.Nonce != "" && r.Generation == now.record.Generation {
		return now, nil
	}
	old := r.Nonce
	r.Key, r.Nonce, r.Generation = periodKey(s.name, s.period), s.world.Text(), now.record.Generation
	r.From = max(r.From, now.floor(s.period))
	r.Revision++
	r.At = s.world.Now().UnixMilli()
	if err := s.store.Swap(ctx, []lease.Write{{Old: old, New: r}})[0]; err != nil {
		return now, fmt.Errorf("sequence %q: writing period %d: %w", s.name, s.period, err)
	}
	now.counter = r
	return now, nil
}

// confirmPeriods closes the periods that were over an hour ago. Those that can be open begin at the
// floor: up to one after that of a clock that is a day ahead.
func (s *state) confirmPeriods(now time.Time, floor int64) error {
	c, err := s.calendar()
	if err != nil {
		return fmt.Errorf("sequence %q: %w", s.name, err)
	}
	s.Open = max(s.Open, c.at(now.Add(-patience)))
	if s.Through >= s.Open {
		floor = max(floor, s.Floor)
	}
	s.Floor = floor
	s.Through = max(s.Through, c.next(c.at(now.Add(24*time.Hour))))
	return nil
}
