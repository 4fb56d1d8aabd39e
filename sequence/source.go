package sequence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// source is a durable record of which numbers are taken, plain or of one
// period. It decides which numbers a take gives, to programs with ranges
// and to transactions.
//
// Invariant: the numbers of a take are durable before it returns.
type source struct {
	*facts
	kind  recordKind
	store store.Store

	// Guarded by mu.
	last      store.Record // as the last take left it
	lastTaken int64        // end of the last take
	proof     int64        // revision of the last take; lower after its loss was learned

	unread atomic.Int64 // revision of a take after which the record was not read; else 0

	least  *highest                // the confirmation that the definition must have, of all periods
	seen   *highest                // its generation, as any period read it
	untold *atomic.Pointer[string] // identity of a store that lost a take of any period, and was not told; else nil
}

// recordKind is the difference between plain and period.
type recordKind interface {
	// reread reads the definition and the record that counts.
	reread(ctx context.Context) (state, error)

	// confirmTake returns the record with the definition after a take with
	// this reply. It is a [store.ErrLost] if the definition is not the
	// known one.
	confirmTake(ctx context.Context, taken store.Record, reply store.Reply) (store.Record, error)

	// adopt keeps a state that can be used. It is a [store.ErrLost] if
	// another process changed it.
	adopt(ctx context.Context, now state) error

	// dropAhead drops numbers that the program holds and did not check.
	dropAhead()

	// tookSince returns the end of this program's takes, in the periods
	// from open on.
	tookSince(open int64) int64

	// lower keeps in a record how far it counted before it is lowered.
	lower(r *store.Record, known state)
}

// highest is a number that only rises.
type highest struct{ atomic.Int64 }

func (h *highest) raise(to int64) {
	for is := h.Load(); is < to && !h.CompareAndSwap(is, to); is = h.Load() {
	}
}

// errDoubted means that the record has to be read before the next take. As
// with every [store.ErrLost], it is another one than it was.
var errDoubted = fmt.Errorf("the store may have lost numbers: %w", store.ErrLost)

func (s *source) take(ctx context.Context, _, n int64) (span, error) {
	ctx, cancel := s.world.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.fetchOrdinals(ctx, n, store.ErrLost)
}

// doubted reports whether another period saw that the store was rolled
// back.
func (s *source) doubted() bool { return s.lastState.Confirmed < s.least.Load() }

// resume reads the record after an error that no waiting mends.
func (s *source) resume(ctx context.Context) error {
	ctx, cancel := s.world.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := s.rereadUsable(ctx); err != nil {
		return err
	}
	if s.lastState.counter.From >= s.lastState.course.count {
		return s.lastState.endError()
	}
	return nil
}

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
	if s.unread.Load() != 0 { // a later take would hide what was lost
		return span{}, errDoubted
	}
	k := s.lastState
	a := store.Addition{
		Key: k.counter.Key, N: n, Limit: k.course.count, Generation: k.counter.Generation, Nonce: s.world.Text(),
	}
	r, told, err := store.Add(ctx, s.store, a)
	if err != nil {
		s.unread.Store(r.Revision) // 0 unless it was done
		return span{}, fmt.Errorf("sequence %q: taking numbers: %w", s.name, err)
	}
	s.mu.Lock()
	lastTaken := s.lastTaken // a return lowers it, perhaps during the call
	s.mu.Unlock()
	back := k.Confirmed < s.least.Load() || r.Revision <= k.counter.Revision || r.PrevUntil < lastTaken
	if back { // at once, because later takes may hide it
		err = cmp.Or(s.requireConfirmation(ctx, back, r.Revision-1, &told), errDoubted)
	} else {
		if r.Nonce != a.NonceAt(r.Revision) { // of a later write, which a crash may undo
			r.Revision = k.counter.Revision + 1
		}
		s.mu.Lock()
		s.proof = r.Revision // even if it cannot be used
		s.mu.Unlock()
		k.counter, k.told = r, told
		if k.record, err = s.kind.confirmTake(ctx, r, told); err == nil && !k.isTrusted() {
			err = errDoubted // others may have skipped numbers already
		}
	}
	if err != nil {
		s.unread.Store(r.Revision)
		return span{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastState = k
	if r.From == r.PrevUntil {
		return span{}, k.endError()
	}
	s.last, s.lastTaken = r, r.From
	return span{k.course.start, r.PrevUntil, r.From}, nil
}

// giveBack lowers the end of the given numbers to the lowest unused
// ordinal, if all above it is this program's and nothing was written since
// its last take. Else it is a gap.
//
// Invariant: Reached tells where the count was. A promoted replica may lack
// the takes of others from there on, and numbers are skipped above that.
func (s *source) giveBack(ctx context.Context, rests []span) error { // the last take comes first
	s.mu.Lock()
	r, low, known := s.last, s.lastTaken, s.lastState
	for _, rest := range rests {
		if rest.start == known.course.start && rest.until == low {
			low = rest.from
		}
	}
	s.lastTaken = low // they are not this program's any more, whatever becomes of the write
	s.mu.Unlock()
	if low == r.From || s.unread.Load() != 0 {
		return nil
	}
	old, was := r.Nonce, r.From
	s.kind.lower(&r, known)
	r.Nonce, r.From = s.world.Text(), low
	r.Revision++
	_, err := store.Put(ctx, s.store, store.Write{Old: old, New: r})
	switch {
	case err == nil: // a record with a lower one was rolled back
		s.mu.Lock()
		defer s.mu.Unlock()
		revision := &s.lastState.counter.Revision
		*revision, s.proof = max(*revision, r.Revision), max(s.proof, r.Revision)
		return nil
	case errors.Is(err, store.ErrLost):
		return nil
	}
	return fmt.Errorf("sequence %q: %d numbers from %d on may be a gap: giving them back: %w", s.name, was-low,
		known.course.numberOf(low), err)
}

// readDefinition reads the record with the definition.
func (s *source) readDefinition(ctx context.Context) (state, error) {
	now, err := read(ctx, s.store, s.name)
	if err == nil {
		err = s.admitRecord(now)
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

// learnState keeps a usable state.
func (s *source) learnState(now state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastState = now
	s.unread.Store(0)
	s.proof = min(s.proof, now.counter.Revision) // a loss is told once
	s.least.raise(now.Confirmed)
	s.seen.raise(now.record.Generation)
}
