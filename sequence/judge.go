package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/lease"
)

// A store that was rolled back, or failed over to a replica that was behind, would give out numbers
// again. It shows in two ways: the store has another identity than the record says, or the record
// is older than one that this program saw. Both are looked at after each take and before its use.

// refresh reads the record again, and takes it if it can be used.
func (s *Sequence) refresh(ctx context.Context) error {
	for {
		now, err := s.reread(ctx)
		if err != nil {
			return err
		}
		back := s.wentBack(now)
		if back {
			s.doubt()
		}
		err = s.judge(ctx, now, back)
		if err == nil {
			now, err = s.enter(ctx, now)
		}
		switch {
		case err == nil:
			s.learn(now)
			return nil
		case !errors.Is(err, lease.ErrLost):
			return err
		}
	}
}

// admit refuses a record that gives no numbers, or other ones than when the sequence was opened.
func (s *Sequence) admit(now state) error {
	if was := s.known.Start; was != nil && (*was != *now.Start || s.known.Step != now.Step) {
		return fmt.Errorf("sequence %q: it starts at %d in steps of %d, and had started at %d in steps of %d: open it "+
			"again (%w)", s.name, *now.Start, now.Step, *was, s.known.Step, lease.ErrRefused)
	}
	return now.live()
}

// reread reads the record with the definition, and first that of the period: then the definition is
// never the older one.
func (s *Sequence) reread(ctx context.Context) (state, error) {
	var counter lease.Record
	if s.parent != nil {
		rs, err := s.store.Get(ctx, []lease.Key{periodKey(s.name, s.period)})
		if err != nil {
			return state{}, fmt.Errorf("sequence %q: reading period %d: %w", s.name, s.period, err)
		}
		counter = rs[0]
	}
	now, err := read(ctx, s.store, s.name)
	if err == nil {
		err = s.admit(now)
	}
	if err != nil || s.parent == nil {
		return now, err
	}
	now.counter = counter
	if s.period < now.Open {
		return now, fmt.Errorf("sequence %q: %w: period %d was closed when the sequence was confirmed: take from a "+
			"later one", s.name, ErrPeriod, s.period)
	}
	return now, nil
}

// learn keeps what can be used.
func (s *Sequence) learn(now state) {
	s.mu.Lock()
	s.known, s.least = now, now.Confirmed
	s.mu.Unlock()
	if s.parent != nil {
		s.parent.learnOf(now)
	}
}

// learnOf keeps what a period read of the definition, unless another one read more.
func (s *Sequence) learnOf(now state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now.counter = now.record
	if now.record.Generation > s.known.record.Generation {
		s.known = now
	}
	s.least = max(s.least, now.Confirmed) // another period may doubt meanwhile
}

// wentBack reports whether a record that was read is older than what this program knows. A
// confirmation since makes up for it, unless it is below what this program took.
func (s *Sequence) wentBack(now state) bool {
	k := &s.known
	older := now.record.Generation < k.record.Generation || now.record.Revision < k.record.Revision ||
		now.counter.Revision < k.counter.Revision
	return max(now.counter.From, now.floor(s.period)) < s.own || now.Confirmed < s.leastConfirmed() ||
		older && now.Confirmed <= k.Confirmed
}

// leastConfirmed returns which confirmation the definition must have, over all periods.
func (s *Sequence) leastConfirmed() int64 {
	top := s.top()
	top.mu.Lock()
	defer top.mu.Unlock()
	return top.least
}

// top returns the dated sequence of a period, and else the sequence itself.
func (s *Sequence) top() *Sequence {
	if s.parent != nil {
		return s.parent
	}
	return s
}

// judge returns why what was read or taken cannot be used. It is a [lease.ErrLost] if numbers were
// skipped, as the definition may say: then the record is another one.
func (s *Sequence) judge(ctx context.Context, now state, back bool) error {
	id, err := s.store.Identity(ctx, now.record.Namespace)
	if err != nil {
		return fmt.Errorf("sequence %q: %w", s.name, err)
	}
	moved := id != now.Identity
	switch {
	case !back && (!moved || now.AfterFailover == Trust):
		return nil
	case now.AfterFailover > 0:
		return s.skip(ctx, now, id)
	}
	return s.rolledBack(now, id, back)
}

// doubt makes a later confirmation than the known one necessary, in all periods: takes of others
// may hide what was seen.
func (s *Sequence) doubt() {
	top := s.top()
	top.mu.Lock()
	defer top.mu.Unlock()
	top.least = max(top.least, s.known.Confirmed+1)
}

// skip leaves numbers out, once for all programs: the others find the sequence confirmed.
func (s *Sequence) skip(ctx context.Context, now state, id string) error {
	from, open, err := now.taken(ctx, s.store)
	if err != nil {
		return err
	}
	from = max(from, s.tookSince(open))
	if err := now.confirm(ctx, s.store, id, plus(from, now.AfterFailover)); err != nil {
		return err
	}
	if _, err := now.write(ctx, s.store); err != nil {
		return err
	}
	s.log.Warn("the store may have lost numbers of a sequence: some are skipped", "sequence", s.name,
		"skipped", now.AfterFailover, "identity", id)
	return lease.ErrLost
}

func (s *Sequence) rolledBack(now state, id string, back bool) error {
	given := ""
	if s.own > 0 {
		given = fmt.Sprintf("; this program took numbers up to %d", s.way.number(s.own-1))
		if s.parent != nil {
			given += fmt.Sprintf(" of period %d", s.period)
		}
	}
	if back {
		return now.distrusted("its record is older than one that this program saw" + given)
	}
	return now.distrusted(now.differentStore(id) + given)
}

func (s state) differentStore(id string) string {
	return fmt.Sprintf("it says that it is %q, and was %q", id, s.Identity)
}

func (s state) distrusted(why string) error {
	return fmt.Errorf("sequence %q: %w: %s: find a floor at or above which nothing was given and no program "+
		"holds anything, and confirm the sequence with it", s.name, ErrRolledBack, why)
}
