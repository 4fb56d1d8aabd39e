package sequence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// A store that was rolled back, or failed over to a replica that was
// behind, would give out numbers again. It shows in two ways: the store's
// identity is not the record's, or the record is older than a record that
// this program saw. Both are looked at after each take and before its use.

// rereadUsable reads the record again, and remembers it if it can be used.
func (s *source) rereadUsable(ctx context.Context) error {
	for {
		now, err := s.kind.reread(ctx)
		if err != nil && now.told == (store.Reply{}) { // nothing was read
			return err
		}
		if now.counter.Revision < s.unread.Load() { // perhaps only after the confirmation that it found
			s.least.raise(now.Confirmed + 1)
			s.unread.Store(0)
		}
		back := err == nil && s.wentBack(now)
		// A record that is gone lost what was taken, too.
		err = cmp.Or(s.requireConfirmation(ctx, back, now.counter.Revision, &now.told), err)
		if err != nil {
			return err
		}
		if err = s.checkRecord(ctx, now, back); err == nil {
			err = s.kind.adopt(ctx, now)
		}
		if !errors.Is(err, store.ErrLost) {
			return err
		}
	}
}

// wentBack reports whether a record that was read is older than this
// program's knowledge. A confirmation since makes up for it, unless it is
// below this program's takes.
func (s *source) wentBack(now state) bool {
	k := &s.lastState
	older := now.record.Generation < s.seen.Load() || now.record.Revision < k.record.Revision ||
		now.counter.Revision < k.counter.Revision
	return max(now.counter.From, now.lowestOrdinal()) < s.lastTaken || now.Confirmed < s.least.Load() ||
		older && now.Confirmed <= k.Confirmed
}

// requireConfirmation makes a later confirmation than the known one
// necessary after a rollback, in all periods: takes of others may hide it.
// It gives the whole store another identity if the revision of a record is
// below the last take's: the store acknowledged this take, and lost it. A
// lower count alone is no proof, because a copy of this program may have
// given numbers back. The store's reply is then a later one.
func (s *source) requireConfirmation(ctx context.Context, back bool, revision int64, told *store.Reply) error {
	s.mu.Lock()
	lost := revision < s.proof
	s.mu.Unlock()
	if lost { // noted before it is told, because that may fail
		s.untold.Store(new(s.lastState.told.Identity))
	}
	if back || lost {
		s.least.raise(s.lastState.Confirmed + 1)
		s.kind.dropAhead()
	}
	id := s.untold.Load()
	if id == nil {
		return nil
	}
	err := s.store.Suspect(ctx, *id)
	if err == nil {
		s.untold.CompareAndSwap(id, nil)
		*told, err = store.Ask(ctx, s.store, keyOf(s.name).Namespace)
	}
	if err != nil {
		err = fmt.Errorf("sequence %q: giving the store another identity: %w", s.name, err)
	}
	return err
}

// isTrusted reports whether the record names this store, or the definition
// trusts any.
func (s state) isTrusted() bool {
	same, less := store.Compare(s.told.Identity, s.Identity)
	moved := !same || less
	return !moved || s.AfterFailover == Trust
}

// checkRecord returns the reason to refuse a record that was read. It is a
// [store.ErrLost] if numbers were skipped, as the definition may say: then
// the record is another one.
func (s *source) checkRecord(ctx context.Context, now state, back bool) error {
	switch {
	case !back && now.isTrusted():
		return nil
	case now.AfterFailover > 0:
		return s.skipNumbers(ctx, now)
	}
	return s.rolledBack(now, back)
}

// skipNumbers leaves numbers out, once for all programs: the others find
// the sequence confirmed.
func (s *source) skipNumbers(ctx context.Context, now state) error {
	from, open, err := now.firstUntaken(ctx, s.store)
	if err != nil {
		return err
	}
	from = max(from, s.kind.tookSince(open))
	now.Confirmed = max(now.Confirmed, s.least.Load()) // a fast clock may have set it
	if err := now.confirmState(ctx, plus(from, now.AfterFailover)); err != nil {
		return err
	}
	if _, err := now.writeState(ctx, s.store); err != nil {
		return err
	}
	s.log.Warn("the store may have lost numbers of a sequence: some are skipped", "sequence", s.name,
		"skipped", now.AfterFailover, "identity", now.Identity)
	return errDoubted
}

func (s *source) rolledBack(now state, back bool) error {
	given := ""
	if s.lastTaken > 0 {
		given = fmt.Sprintf("; this program knows of numbers up to %d%s", s.lastState.course.numberOf(s.lastTaken-1),
			s.lastState.ofPeriod())
	}
	if lost := time.UnixMilli(s.least.Load()); lost.After(s.world.Now()) { // by a fast clock
		given += "; confirm it after " + lost.Add(time.Second).UTC().Format(time.RFC3339)
	}
	if back {
		return now.distrustError("its record is older than one that this program saw" + given)
	}
	return now.distrustError(fmt.Sprintf("it says that it is %q, and was %q", now.told.Identity, now.Identity) + given)
}

func (s state) distrustError(why string) error {
	return fmt.Errorf("sequence %q: %w: %s: find a floor beyond all numbers that were given out or that programs "+
		"hold. Then confirm the sequence with it", s.name, ErrRolledBack, why)
}
