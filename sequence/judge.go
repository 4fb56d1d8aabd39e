package sequence

import (
	"context"
	"fmt"
)

// A store that was rolled back, or failed over to a replica that was behind, would give out numbers
// again. It shows in two ways: the store has another identity than the record says, or the record
// is older than one that this program saw. Both are looked at after each take and before its use.

// refresh reads the record again, and takes it if it can be used.
func (s *Sequence) refresh(ctx context.Context) error {
	now, err := read(ctx, s.store, s.name)
	if err != nil {
		return err
	}
	if err := now.live(); err != nil {
		return err
	}
	if now, err = s.judge(ctx, now, s.wentBack(now)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.doubt = now, false
	return nil
}

// wentBack reports whether a record that was read is older than what this program knows. A
// confirmation since makes up for it, unless it is below what this program took.
func (s *Sequence) wentBack(now state) bool {
	older := s.doubt || now.record.Generation < s.known.record.Generation ||
		now.record.Revision < s.known.record.Revision
	confirmed := now.Confirmed > s.known.Confirmed
	return now.record.From < s.own || now.Confirmed < s.known.Confirmed || older && !confirmed
}

// judge returns the record if it can be used, or the one after it where the definition says that
// numbers are skipped.
func (s *Sequence) judge(ctx context.Context, now state, back bool) (state, error) {
	if back { // later takes may hide it
		s.mu.Lock()
		s.doubt = true
		s.mu.Unlock()
	}
	id, err := s.store.Identity(ctx, now.record.Namespace)
	if err != nil {
		return now, fmt.Errorf("sequence %q: %w", s.name, err)
	}
	moved := id != now.Identity
	switch {
	case !back && (!moved || now.AfterFailover == Trust):
		return now, nil
	case now.AfterFailover > 0:
		return s.skip(ctx, now, id)
	}
	return now, s.rolledBack(now, id, back)
}

// skip leaves numbers out, once for all programs: the others find the record confirmed. It is a
// [lease.ErrLost] if one of them was faster.
func (s *Sequence) skip(ctx context.Context, now state, id string) (state, error) {
	now.confirm(s.world, id, plus(max(now.record.From, now.Reached, s.own), now.AfterFailover))
	now, err := now.write(ctx, s.store)
	if err == nil {
		s.log.Warn("the store may have lost numbers of a sequence: some are skipped", "sequence", s.name,
			"skipped", now.AfterFailover, "identity", id)
	}
	return now, err
}

func (s *Sequence) rolledBack(now state, id string, back bool) error {
	why := fmt.Sprintf("it says that it is %q, and was %q", id, now.Identity)
	if back {
		why = "its record is older than one that this program saw"
	}
	given := ""
	if s.own > 0 {
		given = fmt.Sprintf("; this program took numbers up to %d", s.way.number(s.own-1))
	}
	return fmt.Errorf("sequence %q: %w: %s%s: find a floor at or above which nothing was given and no program "+
		"holds anything, and confirm the sequence with it (Confirm)", s.name, ErrRolledBack, why, given)
}
