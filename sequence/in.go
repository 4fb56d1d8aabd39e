package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// NextIn takes one number of a strict sequence through a store whose writes are part of a
// transaction of its caller: a number of a transaction that is rolled back comes again. Programs
// call sqlstore.SequenceTx, which is this over a *sql.Tx.
//
// It remembers nothing, and asks once: it is an [ErrRetry] if others were at work. After any error
// roll the transaction back.
func NextIn(ctx context.Context, st lease.Store, name string) (int64, error) {
	s, err := openIn(ctx, st, name)
	if err != nil {
		return 0, err
	}
	if s.Pattern != "" {
		return 0, fmt.Errorf("sequence %q: %w: it is dated, so a number needs its period: use SequenceTxSerial", name,
			ErrDated)
	}
	ordinal, err := s.takeIn(ctx, st)
	if err != nil {
		return 0, err
	}
	return s.course.number(ordinal), nil
}

// SerialIn is NextIn for a dated sequence. The number is of the period that the zone of the
// sequence has when it is taken, which may be over when the transaction commits.
func SerialIn(ctx context.Context, st lease.Store, name string) (Serial, error) {
	s, err := openIn(ctx, st, name)
	if err != nil {
		return Serial{}, err
	}
	if s.Pattern == "" {
		return Serial{}, fmt.Errorf("sequence %q: %w: it is a plain one: use SequenceTx", name, ErrDated)
	}
	c, err := s.calendar()
	if err != nil {
		return Serial{}, fmt.Errorf("sequence %q: %w", name, err)
	}
	period := c.at(world.From(ctx).Now())
	if err = c.check(period); err == nil {
		s, err = s.enterIn(ctx, st, period)
	}
	if err != nil {
		return Serial{}, fmt.Errorf("sequence %q: %w", name, err)
	}
	ordinal, err := s.takeIn(ctx, st)
	if err != nil {
		return Serial{}, err
	}
	n := s.course.number(ordinal)
	return Serial{c.format(period, n), period, n}, nil
}

// openIn reads a sequence from which a transaction may take.
func openIn(ctx context.Context, st lease.Store, name string) (state, error) {
	s, err := read(ctx, st, name)
	if err == nil {
		err = s.live()
	}
	if err == nil && s.Mode != Strict {
		err = fmt.Errorf("sequence %q: its mode is %s, so programs hold ranges of it: for numbers in a transaction "+
			"make another sequence, which is strict and starts above (%w)", name, s.Mode, lease.ErrRefused)
	}
	return s, err
}

// enterIn returns the state with the record of a period, which is made one of this definition.
func (s state) enterIn(ctx context.Context, st lease.Store, period int64) (state, error) {
	if period < s.Open {
		return s, fmt.Errorf("%w: period %d was closed when the sequence was confirmed", ErrPeriod, period)
	}
	rs, err := st.Get(ctx, []lease.Key{periodKey(s.name, period)})
	if err != nil {
		return s, fmt.Errorf("reading period %d: %w", period, err)
	}
	w, r := world.From(ctx), rs[0]
	if r.Generation != s.record.Generation { // also where there is no record
		r.Nonce, r.Generation, r.From = w.Text(), s.record.Generation, max(r.From, s.floor(period))
		r.Revision++
		r.At = w.Now().UnixMilli()
		err := st.Swap(ctx, []lease.Write{{Old: rs[0].Nonce, New: r}})[0]
		switch {
		case errors.Is(err, lease.ErrLost):
			return s, fmt.Errorf("%w (somebody else began period %d)", ErrRetry, period)
		case err != nil:
			return s, fmt.Errorf("writing period %d: %w", period, err)
		}
	}
	s.counter = r
	return s, nil
}

// takeIn takes one ordinal. After the take, as with every take, it compares what else may have
// changed meanwhile: the definition, where the count is in another record, and the store.
func (s state) takeIn(ctx context.Context, st lease.Store) (int64, error) {
	if s.counter.From >= s.course.count {
		return 0, s.ended()
	}
	r, err := s.addIn(ctx, st)
	if err != nil {
		return 0, err
	}
	if s.Pattern != "" {
		now, err := read(ctx, st, s.name)
		if err != nil {
			return 0, err
		}
		if now.record.Nonce != s.record.Nonce {
			return 0, s.retry("its definition was changed meanwhile")
		}
	}
	id, err := st.Identity(ctx, r.Namespace)
	switch {
	case err != nil:
		return 0, fmt.Errorf("sequence %q: %w", s.name, err)
	case id == s.Identity || s.AfterFailover == Trust:
		if r.From == r.PrevUntil {
			return 0, s.ended()
		}
		return r.PrevUntil, nil
	case s.AfterFailover == Stop:
		return 0, s.distrusted(s.differentStore(id))
	}
	return s.skipIn(ctx, st, id)
}

// addIn raises the count by one. If the record is not the one that was read any more, the next
// transaction reads why.
func (s state) addIn(ctx context.Context, st lease.Store) (lease.Record, error) {
	r, err := st.Add(ctx, store.Addition{
		Key: s.counter.Key, N: 1, Limit: s.course.count, Generation: s.counter.Generation,
		Nonce: world.From(ctx).Text(),
	})
	switch {
	case errors.Is(err, lease.ErrLost):
		return r, s.retry("it was changed meanwhile")
	case err != nil:
		return r, fmt.Errorf("sequence %q: taking a number: %w", s.name, err)
	case r.PrevUntil < s.counter.From:
		return r, s.retry("its record is older than a moment ago")
	}
	return r, nil
}

// skipIn leaves numbers out, and takes the one after them. The record is read again, because others
// may have written it before the row was locked.
func (s state) skipIn(ctx context.Context, st lease.Store, id string) (int64, error) {
	now, err := read(ctx, st, s.name)
	if err != nil {
		return 0, err
	}
	from, _, err := now.taken(ctx, st)
	if err == nil {
		err = now.confirm(ctx, st, id, plus(from, now.AfterFailover))
	}
	if err == nil {
		now, err = now.write(ctx, st)
	}
	switch {
	case errors.Is(err, lease.ErrLost):
		return 0, s.retry("others skipped numbers after a failover")
	case err != nil:
		return 0, err
	case s.Pattern == "":
		now.counter = now.record
	default:
		if now, err = now.enterIn(ctx, st, s.counter.Node); err != nil {
			return 0, fmt.Errorf("sequence %q: %w", s.name, err)
		}
	}
	return now.takeIn(ctx, st)
}

func (s state) retry(why string) error {
	return fmt.Errorf("sequence %q: %w (%s)", s.name, ErrRetry, why)
}
