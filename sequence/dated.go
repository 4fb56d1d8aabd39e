package sequence

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
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
		if now, _ := s.present(); now != p {
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
	switch {
	case period > s.dated.next(present):
		return Serials{}, fmt.Errorf("sequence %q: %w: %d is more than one period ahead of %d", s.name, ErrPeriod,
			period, present)
	case !s.dated.exists(period):
		return Serials{}, fmt.Errorf("sequence %q: %w: %d is no period: use one such as %d", s.name, ErrPeriod, period,
			present)
	}
	if err := s.dated.check(period); err != nil {
		return Serials{}, fmt.Errorf("sequence %q: %w", s.name, err)
	}
	p, err := s.present() // its numbers that were taken ahead are used first
	if err != nil {
		return Serials{}, err
	}
	if p.period != period {
		s.mu.Lock()
		p = s.in(period)
		s.mu.Unlock()
	}
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
	p.lead(true)
	d.present.Store(p)
	if was != nil {
		was.lead(false)
		s.world.Go(was.retire)
	}
	return p, nil
}
