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
	s, c, err := openTx(ctx, newPlain(ctx, st, name, nil), period)
	var got span
	if err == nil { // after a change of others the number that was taken would be a gap
		got, err = s.fetchOrdinals(ctx, 1, errDoubted)
	}
	switch {
	case errors.Is(err, store.ErrLost):
		return Serial{}, fmt.Errorf("sequence %q: %w: another program changed it: %w", name, ErrRetry, err)
	case err != nil:
		return Serial{}, err
	}
	now := s.lastState
	return c.serialOf(now.counter.Node, now.course.numberOf(got.from), s.world.Now()), nil
}

// openTx reads a sequence from which a transaction may take. The calendar
// is nil of a plain one.
func openTx(ctx context.Context, p *plain, at int64) (s *source, c *calendar, err error) {
	now, err := p.reread(ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case now.Mode != Strict:
		return nil, nil, fmt.Errorf("sequence %q: its mode is %s, so programs hold ranges of it: "+
			"for numbers in a transaction "+
			"make a strict sequence that starts above this one (%w)", p.name, now.Mode, lease.ErrRefused)
	case now.Pattern == "" && at != 0:
		return nil, nil, fmt.Errorf("sequence %q: %w: it is a plain one, without period %d", p.name, ErrDated, at)
	}
	s = &p.source
	if now.Pattern != "" {
		if c, err = now.calendar(); err == nil {
			present := c.periodAt(p.world.Now())
			at = cmp.Or(at, present)
			err = c.admitPeriod(at, present)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("sequence %q: %w", p.name, err)
		}
		of := (&Dated{plain: p, calendar: c}).newPeriod(at)
		s = &of.source
		if err = of.admit(now); err == nil {
			now.counter, _, err = readPeriod(ctx, p.store, p.name, at)
		}
	}
	if err == nil {
		err = s.kind.adopt(ctx, now)
	}
	if err != nil {
		return nil, nil, err
	}
	s.lastTaken = s.lastState.counter.From // what others took
	return s, c, nil
}
