package sequence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
)

// mostPeriods is how many periods a program remembers.
const mostPeriods = 100

// errUnread makes a period read its record before its first take.
var errUnread = errors.New("the period was not read yet")

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
		closed: s.closed, closing: make(chan struct{}), gone: make(chan struct{}),
	}
	p.known.counter = lease.Record{}
	p.life, p.end = context.WithCancel(s.life)
	p.cur.Store(p.way.piece(span{}))
	d.periods[period] = p
	return p
}

// idle reports whether nothing is asked of the store.
func (s *Sequence) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flight == nil
}

// lead makes a period take ahead, as its sequence does, or ends that.
func (s *Sequence) lead(ahead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exact = s.parent.exact || !ahead
}

// retire gives back what a dense period took ahead, because another period has begun. It takes
// nothing meanwhile.
func (s *Sequence) retire() {
	if s.mode != Dense {
		return
	}
	s.mu.Lock()
	for s.flight != nil {
		flight := s.flight
		s.mu.Unlock()
		s.world.Wait(-1, flight)
		s.mu.Lock()
	}
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.flight = make(chan struct{})
	rest := s.cur.Load().seal()
	s.mu.Unlock()
	ctx, cancel := s.world.WithTimeout(world.With(s.life, s.world), callTimeout)
	err := s.giveBack(ctx, rest)
	cancel()
	s.mu.Lock()
	if err != nil {
		s.log.Warn("numbers of a period that ended are a gap", "sequence", s.name, "period", s.period, "err", err)
	}
	close(s.flight)
	s.flight = nil
	s.fly() // for those who came meanwhile
	s.mu.Unlock()
}

// confirmUnchanged is a [lease.ErrLost] if the definition is another one than is known. It is read
// after each take of a period, because a confirmation writes the definition alone.
func (s *Sequence) confirmUnchanged(ctx context.Context) error {
	rs, err := s.store.Get(ctx, []lease.Key{keyOf(s.name)})
	if err != nil {
		return fmt.Errorf("sequence %q: reading it after a take: %w", s.name, err)
	}
	if rs[0].Nonce != s.known.record.Nonce {
		return lease.ErrLost
	}
	return nil
}

// enter makes the record of a period one of this definition: it has its generation, and counts from
// the floor on. It is a [lease.ErrLost] if somebody was faster. The record of a plain sequence is
// always so.
func (s *Sequence) enter(ctx context.Context, now state) (state, error) {
	r := now.counter
	if r.Generation == now.record.Generation { // it is 0 where there is no record
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

// taken returns the first ordinal that was never taken, as far as the store knows: of a dated
// sequence in the periods that a confirmation leaves open, which are those from open on.
func (s state) taken(ctx context.Context, st lease.Store) (from, open int64, err error) {
	if s.Pattern == "" {
		return max(s.counter.From, s.Reached), 0, nil
	}
	c, err := s.calendar()
	if err != nil {
		return 0, 0, fmt.Errorf("sequence %q: %w", s.name, err)
	}
	open = c.at(world.From(ctx).Now().Add(-patience))
	from, err = s.highest(ctx, st, open)
	return from, open, err
}

// tookSince returns the end of what this program took, in the periods from open on.
func (s *Sequence) tookSince(open int64) int64 {
	top := s.top()
	top.mu.Lock()
	defer top.mu.Unlock()
	if top.dated == nil {
		return s.own
	}
	var own int64
	for period, p := range top.dated.periods {
		if period >= open {
			p.mu.Lock()
			own = max(own, p.own)
			p.mu.Unlock()
		}
	}
	return own
}

// confirmPeriods closes the periods that were over an hour ago. Those that can be open begin at the
// floor: up to the one after that of a clock that is a day ahead.
func (s *state) confirmPeriods(ctx context.Context, st lease.Store, floor int64) error {
	c, err := s.calendar()
	if err != nil {
		return fmt.Errorf("sequence %q: %w", s.name, err)
	}
	now := world.From(ctx).Now()
	at, err := st.Now(ctx)
	if err != nil {
		return fmt.Errorf("sequence %q: asking the store for its time: %w", s.name, err)
	}
	if off := now.Sub(at); !at.IsZero() && off.Abs() > patience {
		return fmt.Errorf("sequence %q: this clock and that of the store differ by %v, so it is not certain which "+
			"period it is: set them right, and confirm again (%w)", s.name, off.Round(time.Second), lease.ErrRefused)
	}
	s.Open = max(s.Open, c.at(now.Add(-patience)))
	if s.Through >= s.Open {
		floor = max(floor, s.Floor)
	}
	s.Floor = floor
	s.Through = max(s.Through, c.next(c.at(now.Add(24*time.Hour))))
	return nil
}
