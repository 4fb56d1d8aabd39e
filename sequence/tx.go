package sequence

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// NextTx takes one number of a strict sequence through a store that writes
// in its caller's transaction. If that transaction is rolled back, the
// number comes again. Programs call sqlstore.SequenceTx, which calls NextTx
// for a *sql.Tx.
//
// In a dated sequence, period is an earlier period or the next one; 0 means
// the present one in its zone, which may be over when the transaction
// commits. It is 0 for a plain sequence.
//
// It keeps no state and tries once: if another transaction or program took
// a number first, it returns [ErrRetry]. After any error roll the
// transaction back.
func NextTx(ctx context.Context, st store.Store, name string, period int64) (Serial, error) {
	s := &source{}
	s.useStore(ctx, st, name, nil)
	c, err := s.openTx(ctx, period)
	var got span
	if err == nil { // after a change of others the number that was taken would be a gap
		got, err = s.fetchOrdinals(ctx, 1, errSkipped)
	}
	switch {
	case errors.Is(err, store.ErrLost):
		return Serial{}, fmt.Errorf("sequence %q: %w: another program changed it: %w", name, ErrRetry, err)
	case err != nil:
		return Serial{}, err
	}
	return c.serialOf(s.period, s.lastState.course.numberOf(got.from), s.world.Now()), nil
}

// openTx reads a sequence from which a transaction may take. The calendar
// is nil of a plain one.
func (s *source) openTx(ctx context.Context, period int64) (c *calendar, err error) {
	now, err := s.reread(ctx)
	if err != nil {
		return nil, err
	}
	if now.Mode != Strict {
		return nil, fmt.Errorf("sequence %q: its mode is %s, so programs hold ranges of it: "+
			"for numbers in a transaction "+
			"make a strict sequence that starts above this one (%w)", s.name, now.Mode, lease.ErrRefused)
	}
	if now.Pattern == "" && period != 0 {
		return nil, fmt.Errorf("sequence %q: %w: it is a plain one, without period %d", s.name, ErrDated, period)
	}
	if now.Pattern != "" {
		if c, err = now.calendar(); err == nil {
			present := c.periodAt(s.world.Now())
			s.of, s.period = &Dated{calendar: c}, cmp.Or(period, present)
			err = c.admitPeriod(s.period, present)
		}
		if err != nil {
			return nil, fmt.Errorf("sequence %q: %w", s.name, err)
		}
		if err = s.admitPeriod(now); err == nil {
			now.counter, err = readPeriod(ctx, s.store, s.name, s.period)
		}
	}
	if err == nil {
		now, err = s.enterPeriod(ctx, now)
	}
	if err != nil {
		return nil, err
	}
	s.learnState(now)
	s.lastTaken = now.counter.From // what others took
	return c, nil
}
