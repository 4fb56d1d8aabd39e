package sequence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// source is a durable record of which numbers are taken: of a plain
// sequence, or of one period. It decides which numbers a take gives, to
// programs with ranges and to transactions.
//
// Invariant: an ordinal is in at most one span that take returned, and
// durable before that.
type source struct {
	name   string
	store  store.Store
	world  world.World
	log    *slog.Logger
	of     *Dated // the sequence of a period; nil of a plain one
	period int64

	mu        sync.Mutex   // guards what follows; never held while the store is asked
	lastState state        // as it was read or written last; only who takes changes it
	last      store.Record // as the last take left it
	lastTaken int64        // end of the last take
	proof     int64        // revision of the last take; lower after its loss was told

	// least is the confirmation that the definition must have; of a period
	// its sequence has it. It changes under mu only.
	least atomic.Int64
}

// errSkipped means that this program left numbers out. As with every
// [store.ErrLost], the record is another one than it was.
var errSkipped = fmt.Errorf("numbers were skipped: %w", store.ErrLost)

// fetchOrdinals is takeOrdinals, but after an error that matches again it
// reads the record and repeats.
func (s *source) fetchOrdinals(ctx context.Context, n int64, again error) (span, error) {
	for range 3 {
		got, err := s.takeOrdinals(ctx, n)
		if !errors.Is(err, again) {
			return got, err
		}
		if err = s.rereadUsable(ctx); err != nil {
			return span{}, err
		}
	}
	return span{}, fmt.Errorf("sequence %q: it was changed again and again (%w)", s.name, store.ErrLost)
}

// takeOrdinals takes up to n ordinals, and returns those that can be used.
// It is a [store.ErrLost] if the record is another one than is known. A
// take with an unknown outcome is lost: reading the record would not tell,
// because databases show writes that are not on the disk yet.
func (s *source) takeOrdinals(ctx context.Context, n int64) (span, error) {
	k := s.lastState
	r, err := store.Add(ctx, s.store, store.Addition{
		Key: k.counter.Key, N: n, Limit: k.course.count, Generation: k.counter.Generation, Nonce: s.world.Text(),
	})
	if err != nil {
		return span{}, fmt.Errorf("sequence %q: taking numbers: %w", s.name, err)
	}
	s.mu.Lock()
	lastTaken := s.lastTaken // a return lowers it, perhaps during the call
	s.mu.Unlock()
	back := k.Confirmed < s.leastConfirmed() || r.Revision <= k.counter.Revision || r.PrevUntil < lastTaken
	if back { // at once, because what follows may fail, and later takes may hide it
		s.requireConfirmation()
		if err := s.changeIdentity(ctx, r.Revision-1); err != nil {
			return span{}, err
		}
	} else { // even if it cannot be used
		s.noteRevision(r.Revision)
	}
	k.counter = r
	if s.of == nil {
		k.record = r
	} else {
		err = s.confirmUnchanged(ctx)
	}
	if err == nil {
		err = s.checkRecord(ctx, k, back)
	}
	if err != nil {
		return span{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastState = k
	if r.From == r.PrevUntil {
		return span{}, k.endError()
	}
	s.last, s.lastTaken, s.proof = r, r.From, r.Revision
	return span{k.course.start, r.PrevUntil, r.From}, nil
}

// noteRevision keeps the revision of a take: a record with a lower one was
// rolled back.
func (s *source) noteRevision(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastState.counter.Revision = revision
	if s.of == nil {
		s.lastState.record.Revision = revision
	}
}

// confirmUnchanged returns [store.ErrLost] if the definition is not the
// known one. It reads it after each take of a period, because a
// confirmation writes the definition alone.
func (s *source) confirmUnchanged(ctx context.Context) error {
	rs, err := s.store.Get(ctx, []store.Key{keyOf(s.name)})
	if err != nil {
		return fmt.Errorf("sequence %q: reading it after a take: %w", s.name, err)
	}
	if rs[0].Nonce != s.lastState.record.Nonce {
		return store.ErrLost
	}
	return nil
}

// reread reads the record with the definition, and first the record of the
// period: then the definition is never the older one.
func (s *source) reread(ctx context.Context) (state, error) {
	var counter store.Record
	if s.of != nil {
		var err error
		if counter, err = readPeriod(ctx, s.store, s.name, s.period); err != nil {
			return state{}, err
		}
	}
	now, err := read(ctx, s.store, s.name)
	if err == nil {
		err = s.admitRecord(now)
	}
	if err == nil && s.of != nil {
		now.counter, err = counter, s.admitPeriod(now)
	}
	return now, err
}

// admitRecord refuses a record that gives no numbers, or other ones than
// when the sequence was opened.
func (s *source) admitRecord(now state) error {
	if was := s.lastState.Definition; was.Start != nil {
		if different := now.firstDifference(Definition{}, was); different != "" {
			return fmt.Errorf("sequence %q: it was created again, and %s: open it again (%w)", s.name, different,
				lease.ErrRefused)
		}
	}
	return now.liveError()
}

// admitPeriod refuses a period that is closed.
func (s *source) admitPeriod(now state) error {
	if s.period >= now.Open {
		return nil
	}
	return fmt.Errorf("sequence %q: %w: period %d was closed when the sequence was confirmed: take a later one",
		s.name, ErrPeriod, s.period)
}

// enterPeriod makes the record of a period one of this definition: it has
// its generation, and counts from the floor on. It is a [store.ErrLost] if
// another process was faster. The record of a plain sequence is always so.
func (s *source) enterPeriod(ctx context.Context, now state) (state, error) {
	r := now.counter
	if r.Generation == now.record.Generation { // it is 0 where there is no record
		return now, nil
	}
	old := r.Nonce
	if old == "" {
		if err := s.checkNear(ctx); err != nil {
			return now, err
		}
	}
	r.Key, r.Nonce, r.Generation = periodKey(s.name, s.period), s.world.Text(), now.record.Generation
	r.From = max(r.From, now.lowestOrdinal(s.period))
	r.Revision++
	r.At = s.world.Now().UnixMilli()
	if err := s.store.Swap(ctx, []store.Write{{Old: old, New: r}})[0]; err != nil {
		return now, fmt.Errorf("sequence %q: writing period %d: %w", s.name, s.period, err)
	}
	now.counter = r
	return now, nil
}

// checkNear refuses a new period more than a year away from this clock or
// the store's: each has a record that stays.
func (s *source) checkNear(ctx context.Context) error {
	if s.of.anyPeriod {
		return nil
	}
	at, err := s.store.Now(ctx)
	if err != nil {
		return fmt.Errorf("sequence %q: asking the store for its time: %w", s.name, err)
	}
	for _, t := range []time.Time{s.world.Now(), at} {
		c := s.of.calendar
		if !t.IsZero() && (s.period < c.periodAt(t.AddDate(-1, 0, 0)) || s.period > c.periodAt(t.AddDate(1, 0, 0))) {
			return fmt.Errorf("sequence %q: %w: period %d has no number yet, and is more than a year away from %s: "+
				"set the clock right, or allow it (Options.AnyPeriod, --any-period)", s.name, ErrPeriod, s.period,
				t.In(c.zone).Format(time.DateOnly))
		}
	}
	return nil
}

// learnState keeps a usable state.
func (s *source) learnState(now state) {
	s.mu.Lock()
	s.lastState = now
	s.proof = min(s.proof, now.counter.Revision) // a loss is told once
	s.least.Store(now.Confirmed)
	s.mu.Unlock()
	if s.of != nil {
		s.of.learnOf(now)
	}
}

// learnOf keeps a period's reading of the definition, unless another period
// read more.
func (d *Dated) learnOf(now state) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now.counter = now.record
	if now.record.Generation > d.lastState.record.Generation {
		d.lastState = now
	}
	d.least.Store(max(d.least.Load(), now.Confirmed)) // another period may doubt meanwhile
}
