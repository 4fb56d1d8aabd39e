package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/lease/store"
)

// A store that was rolled back, or failed over to a replica that was
// behind, would give out numbers again. It shows in two ways: the store's
// identity is not the record's, or the record is older than a record that
// this program saw. Both are looked at after each take and before its use.

// rereadUsable reads the record again, and remembers it if it can be used.
func (s *source) rereadUsable(ctx context.Context) error {
	for {
		now, err := s.reread(ctx)
		if err != nil {
			return err
		}
		back := s.wentBack(now)
		if back {
			s.requireConfirmation()
			if err := s.changeIdentity(ctx, now.counter.Revision); err != nil {
				return err
			}
		}
		err = s.checkRecord(ctx, now, back)
		if err == nil {
			now, err = s.enterPeriod(ctx, now)
		}
		switch {
		case err == nil:
			s.learnState(now)
			return nil
		case !errors.Is(err, store.ErrLost):
			return err
		}
	}
}

// wentBack reports whether a record that was read is older than this
// program's knowledge. A confirmation since makes up for it, unless it is
// below this program's takes.
func (s *source) wentBack(now state) bool {
	k := &s.lastState
	older := now.record.Generation < k.record.Generation || now.record.Revision < k.record.Revision ||
		now.counter.Revision < k.counter.Revision
	return max(now.counter.From, now.lowestOrdinal(s.period)) < s.lastTaken || now.Confirmed < s.leastConfirmed() ||
		older && now.Confirmed <= k.Confirmed
}

// changeIdentity gives the whole store another identity if the revision of
// a record is below the last take's: the store acknowledged this take, and
// lost it. A lower count alone is no proof, because a copy of this program
// may have given numbers back.
func (s *source) changeIdentity(ctx context.Context, revision int64) error {
	s.mu.Lock()
	lost := revision < s.proof
	s.mu.Unlock()
	if !lost {
		return nil
	}
	if err := s.store.Suspect(ctx, s.lastState.Identity); err != nil {
		return fmt.Errorf("sequence %q: giving the store another identity: %w", s.name, err)
	}
	return nil
}

// leastConfirmed returns which confirmation the definition must have, over
// all periods.
func (s *source) leastConfirmed() int64 { return s.topSource().least.Load() }

// topSource returns the dated sequence of a period, and else the sequence
// itself.
func (s *source) topSource() *source {
	if s.of != nil {
		return &s.of.source
	}
	return s
}

// checkRecord returns the reason to refuse a record that was read or taken.
// It is a [store.ErrLost] if numbers were skipped, as the definition may
// say: then the record is another one.
func (s *source) checkRecord(ctx context.Context, now state, back bool) error {
	id, err := s.store.Identity(ctx, now.record.Namespace)
	if err != nil {
		return fmt.Errorf("sequence %q: %w", s.name, err)
	}
	same, less := store.Compare(id, now.Identity)
	moved := !same || less
	switch {
	case !back && (!moved || now.AfterFailover == Trust):
		return nil
	case now.AfterFailover > 0:
		return s.skipNumbers(ctx, now, id)
	}
	return s.rolledBack(now, id, back)
}

// requireConfirmation makes a later confirmation than the known one
// necessary, in all periods: takes of others may hide the rollback. Numbers
// that periods took ahead may come from the store that was rolled back:
// they go.
func (s *source) requireConfirmation() {
	top := s.topSource()
	top.mu.Lock()
	defer top.mu.Unlock()
	top.least.Store(max(top.least.Load(), s.lastState.Confirmed+1))
	if s.of == nil {
		return
	}
	for _, p := range s.of.periods {
		p.dropAhead()
	}
}

// dropAhead forgets the range taken ahead.
func (s *Sequence) dropAhead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cur.Load().seal()
	s.next = span{}
}

// skipNumbers leaves numbers out, once for all programs: the others find
// the sequence confirmed.
func (s *source) skipNumbers(ctx context.Context, now state, id string) error {
	from, open, err := now.firstUntaken(ctx, s.store)
	if err != nil {
		return err
	}
	from = max(from, s.tookSince(open))
	if err := now.confirmState(ctx, s.store, id, plus(from, now.AfterFailover)); err != nil {
		return err
	}
	if _, err := now.writeState(ctx, s.store); err != nil {
		return err
	}
	s.log.Warn("the store may have lost numbers of a sequence: some are skipped", "sequence", s.name,
		"skipped", now.AfterFailover, "identity", id)
	return errSkipped
}

// tookSince returns the end of this program's takes, in the periods from
// open on.
func (s *source) tookSince(open int64) int64 {
	if s.of == nil {
		return s.lastTaken
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	var own int64
	for period, p := range s.of.periods {
		if period >= open {
			p.mu.Lock()
			own = max(own, p.lastTaken)
			p.mu.Unlock()
		}
	}
	return own
}

func (s *source) rolledBack(now state, id string, back bool) error {
	given := ""
	if s.lastTaken > 0 {
		given = fmt.Sprintf("; this program knows of numbers up to %d", s.lastState.course.numberOf(s.lastTaken-1))
		if s.of != nil {
			given += fmt.Sprintf(" of period %d", s.period)
		}
	}
	if back {
		return now.distrustError("its record is older than one that this program saw" + given)
	}
	return now.distrustError(fmt.Sprintf("it says that it is %q, and was %q", id, now.Identity) + given)
}

func (s state) distrustError(why string) error {
	return fmt.Errorf("sequence %q: %w: %s: find a floor beyond all numbers that were given out or that programs "+
		"hold. Then confirm the sequence with it", s.name, ErrRolledBack, why)
}
