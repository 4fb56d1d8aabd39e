package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence/sequence"
)

// sequences are those that a service keeps open. Each takes ranges of its
// own.
type sequences struct {
	mu       sync.Mutex // never held while the store is asked
	all      map[string]*Sequence
	attempts map[string]*opening
	failures map[string]failure // of opening, for a moment
	work     sync.WaitGroup     // of what opens and closes them
	ended    bool
}

// opening is an attempt to open a sequence, for all its callers.
type opening struct {
	done chan struct{} // closed when the others are set
	sq   *Sequence
	err  error
}

func newSequences() sequences {
	return sequences{all: map[string]*Sequence{}, attempts: map[string]*opening{}, failures: map[string]failure{}}
}

const (
	// maxOpening bounds the sequences that are opened at a time, and the
	// errors remembered.
	maxOpening = 1000

	// unusedAfter is how long a sequence must be unused before it makes
	// room for another one.
	unusedAfter = time.Minute

	// maxSequenceName is how long names are that exist.
	maxSequenceName = 63
)

// TakeNumbers takes n numbers in a row, 1 to [MaxBatch]. period is 0, or
// the period of a dated sequence such as 20261122; 0 is the present one
// then. They count as n for the caller's rate. texts is how many of them
// the answer has as texts at a time. Their room is reserved before any is
// taken, because a refusal would lose them.
func (s *Service) TakeNumbers(
	ctx context.Context, c *Caller, name string, period, n, texts int64,
) (Numbers, error) {
	if err := CheckNumbers(n); err != nil {
		return Numbers{}, err
	}
	if err := c.Authorize(VerbIDs, name, n); err != nil {
		return Numbers{}, err
	}
	for {
		sq, err := s.Sequence(ctx, name)
		if err == nil {
			err = s.Reserve(c, texts*sq.TextRoom())
			texts = 0
		}
		if err != nil {
			return Numbers{}, err
		}
		got, err := sq.Take(ctx, period, n)
		if !errors.Is(err, sequence.ErrClosed) { // else it made room for another one just now
			return got, err
		}
	}
}

// LastNumber returns the last number that this server gave, of a period as
// in [Service.TakeNumbers]. Before the first one, that is the highest
// number that anybody may have; any is false if there is none.
func (s *Service) LastNumber(ctx context.Context, id *Identity, name string, period int64) (
	last int64, any bool, err error,
) {
	if err := id.Authorize(VerbRead, name, 1); err != nil {
		return 0, false, err
	}
	sq, err := s.Sequence(ctx, name)
	if err != nil {
		return 0, false, err
	}
	return sq.LastNumber(ctx, period)
}

// LastNumber returns the last number; see [Service.LastNumber].
func (sq *Sequence) LastNumber(ctx context.Context, period int64) (last int64, any bool, err error) {
	if period == 0 {
		period = sq.Present()
	} else if err := sq.CheckPeriod(period); err != nil {
		return 0, false, err
	}
	if last, any = sq.given.lastOf(period); any {
		return last, true, nil
	}
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	last, any, err = sequence.Highest(ctx, sq.service.counts, sq.Name, period)
	return last, any, sequenceError(sq.Name, err)
}

// CheckNumbers refuses counts that no answer can have.
func CheckNumbers(n int64) error {
	if n < 1 || n > MaxBatch {
		return Errorf(Invalid, "%d numbers: ask for 1 to %d at a time", n, MaxBatch)
	}
	return nil
}

// Sequence returns an open sequence, and opens it at the first use.
func (s *Service) Sequence(ctx context.Context, name string) (*Sequence, error) {
	q := &s.sequences
	q.mu.Lock()
	if sq := q.all[name]; sq != nil {
		q.mu.Unlock()
		return sq, nil
	}
	if f := q.failures[name]; f.err != nil && s.now().Before(f.until) {
		q.mu.Unlock()
		return nil, f.err
	}
	o := q.attempts[name]
	switch {
	case q.ended:
		q.mu.Unlock()
		return nil, ErrStopping
	case o == nil && len(q.attempts) >= maxOpening:
		q.mu.Unlock()
		return nil, Errorf(TooMuch, "%d sequences are being opened: ask again", maxOpening)
	case o == nil:
		o = &opening{done: make(chan struct{})}
		q.attempts[name] = o
		q.work.Go(func() { s.openSequence(name, o) })
	}
	q.mu.Unlock()
	select {
	case <-o.done:
		return o.sq, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("sequence %q: opening it: %w", name, context.Cause(ctx))
	}
}

// openSequence opens a sequence for all its waiters. It keeps no missing
// sequence, only its error for a moment, so that wrong names cost no
// memory.
func (s *Service) openSequence(name string, o *opening) {
	ctx, cancel := withStoreTimeout(s.life)
	defer cancel()
	var open source
	err := s.checkRecord(ctx)
	if err == nil {
		open, err = openNumbers(ctx, s.counts, name, &sequence.Options{Logger: s.opts.Logger})
	}
	if err != nil {
		switch err = sequenceError(name, err); {
		case s.life.Err() != nil:
			err = ErrStopping
		case ctx.Err() != nil:
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
	q := &s.sequences
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil && q.ended {
		err = errors.Join(ErrStopping, open.Close()) // it holds nothing yet
	}
	if err == nil {
		if err = s.makeRoom(); err != nil {
			err = errors.Join(err, open.Close())
		}
	}
	if err == nil {
		o.sq = newSequence(s, name, open)
		q.all[name] = o.sq
	} else if len(name) <= maxSequenceName {
		if len(q.failures) >= maxOpening {
			clear(q.failures)
		}
		q.failures[name] = failure{err, s.now().Add(failureTTL)}
	}
	o.err = err
	delete(q.attempts, name)
	close(o.done)
}

// makeRoom makes room for one more sequence: it closes the sequence that
// was unused for the longest time. sequences.mu is held.
func (s *Service) makeRoom() error {
	q := &s.sequences
	if len(q.all) < s.opts.Sequences {
		return nil
	}
	var oldest *Sequence
	for _, sq := range q.all {
		if oldest == nil || sq.lastUse.Load() < oldest.lastUse.Load() {
			oldest = sq
		}
	}
	if s.now().UnixNano()-oldest.lastUse.Load() < int64(unusedAfter) {
		return Errorf(TooMuch, "the server has %d sequences in use, its limit: ask another one", s.opts.Sequences)
	}
	delete(q.all, oldest.Name)
	q.work.Go(func() { oldest.close() })
	return nil
}

// Sequences returns the open sequences in the order of their names.
func (s *Service) Sequences() []*Sequence {
	q := &s.sequences
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]*Sequence, 0, len(q.all))
	for _, sq := range q.all {
		out = append(out, sq)
	}
	slices.SortFunc(out, func(a, b *Sequence) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// SequenceChanged makes the next request for a sequence ask the store
// again, where an error is remembered. Management calls it.
func (s *Service) SequenceChanged(name string) {
	q := &s.sequences
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.failures, name)
	if sq := q.all[name]; sq != nil {
		sq.lastRefusal.Store(nil)
	}
}

// closeSequences closes all, and waits until ctx ends for dense ones to
// give numbers back.
func (s *Service) closeSequences(ctx context.Context) error {
	q := &s.sequences
	q.mu.Lock()
	q.ended = true
	all := q.all
	q.all = nil
	q.mu.Unlock()
	for _, sq := range all {
		q.work.Go(func() { sq.close() })
	}
	done := make(chan struct{})
	go func() {
		q.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("some sequences may have a gap, because giving numbers back took too long: %w", ctx.Err())
	}
}
