package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

// Sequences are those that a server keeps open. Each takes ranges of its
// own. All methods are safe for concurrent use.
type Sequences struct {
	core   *Core
	counts store.Store

	mu       sync.Mutex // never held while the store is asked
	all      map[string]*Sequence
	attempts map[string]*opening
	failures map[string]failure // of opening, for a moment
	work     sync.WaitGroup     // of what opens and closes them
	ended    bool
}

func newSequences(c *Core) *Sequences {
	s := &Sequences{
		core: c, counts: c.store, all: map[string]*Sequence{}, attempts: map[string]*opening{},
		failures: map[string]failure{},
	}
	if c.opts.Direct != nil {
		s.counts = boundedStore(c.opts.Direct, c.opts.Connections)
	}
	return s
}

// opening is an attempt to open a sequence, for all its callers.
type opening struct {
	done chan struct{} // closed when the others are set
	sq   *Sequence
	err  error
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

// Take takes n numbers in a row, 1 to [MaxBatch]. period is 0, or
// the period of a dated sequence such as 20261122; 0 is the present one
// then. They count as n for the caller's rate. texts is how many of them
// the answer has as texts at a time. Their room is reserved before any is
// taken, because a refusal would lose them.
func (s *Sequences) Take(
	ctx context.Context, c *Caller, name string, period, n, texts int64,
) (Numbers, error) {
	if err := CheckNumbers(n); err != nil {
		return Numbers{}, err
	}
	if err := c.Authorize(VerbIDs, name, n); err != nil {
		return Numbers{}, err
	}
	for {
		sq, err := s.Find(ctx, name)
		if err == nil {
			err = s.core.Reserve(c, texts*sq.TextRoom())
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

// Last returns the last number that this server gave, of a period as
// in [Sequences.Take]. Before the first one, that is the highest
// number that anybody may have; any is false if there is none.
func (s *Sequences) Last(ctx context.Context, id *Identity, name string, period int64) (
	last int64, any bool, err error,
) {
	if err := id.Authorize(VerbRead, name, 1); err != nil {
		return 0, false, err
	}
	sq, err := s.Find(ctx, name)
	if err != nil {
		return 0, false, err
	}
	return sq.LastNumber(ctx, period)
}

// LastNumber returns the last number; see [Sequences.Last].
func (sq *Sequence) LastNumber(ctx context.Context, period int64) (last int64, any bool, err error) {
	if period == 0 {
		period = sq.Present()
	} else if err := sq.CheckPeriod(period); err != nil {
		return 0, false, err
	}
	if last, any = sq.given.lastOf(period); any {
		return last, true, nil
	}
	ctx, cancel := WithStoreTimeout(ctx)
	defer cancel()
	last, any, err = sequence.Highest(ctx, sq.counts, sq.Name, period)
	return last, any, sequenceError(sq.Name, err)
}

// CheckNumbers refuses counts that no answer can have.
func CheckNumbers(n int64) error {
	if n < 1 || n > MaxBatch {
		return Errorf(Invalid, "%d numbers: ask for 1 to %d at a time", n, MaxBatch)
	}
	return nil
}

// Find returns an open sequence, and opens it at the first use.
func (s *Sequences) Find(ctx context.Context, name string) (*Sequence, error) {
	s.mu.Lock()
	if sq := s.all[name]; sq != nil {
		s.mu.Unlock()
		return sq, nil
	}
	if f := s.failures[name]; f.err != nil && s.core.now().Before(f.until) {
		s.mu.Unlock()
		return nil, f.err
	}
	o := s.attempts[name]
	switch {
	case s.ended:
		s.mu.Unlock()
		return nil, ErrStopping
	case o == nil && len(s.attempts) >= maxOpening:
		s.mu.Unlock()
		return nil, Errorf(TooMuch, "%d sequences are being opened: ask again", maxOpening)
	case o == nil:
		o = &opening{done: make(chan struct{})}
		s.attempts[name] = o
		s.work.Go(func() { s.openSequence(name, o) })
	}
	s.mu.Unlock()
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
func (s *Sequences) openSequence(name string, o *opening) {
	ctx, cancel := WithStoreTimeout(s.core.life)
	defer cancel()
	var open source
	err := s.core.checkRecord(ctx)
	if err == nil {
		open, err = openNumbers(ctx, s.counts, name, &sequence.Options{Logger: s.core.opts.Logger})
	}
	if err != nil {
		switch err = sequenceError(name, err); {
		case s.core.life.Err() != nil:
			err = ErrStopping
		case ctx.Err() != nil:
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.ended {
		err = errors.Join(ErrStopping, open.Close()) // it holds nothing yet
	}
	if err == nil {
		if err = s.makeRoom(); err != nil {
			err = errors.Join(err, open.Close())
		}
	}
	if err == nil {
		o.sq = newSequence(s.core, s.counts, name, open)
		s.all[name] = o.sq
	} else if len(name) <= maxSequenceName {
		if len(s.failures) >= maxOpening {
			clear(s.failures)
		}
		s.failures[name] = failure{err, s.core.now().Add(failureTTL)}
	}
	o.err = err
	delete(s.attempts, name)
	close(o.done)
}

// makeRoom makes room for one more sequence: it closes the sequence that
// was unused for the longest time. mu is held.
func (s *Sequences) makeRoom() error {
	if len(s.all) < s.core.opts.Sequences {
		return nil
	}
	var oldest *Sequence
	for _, sq := range s.all {
		if oldest == nil || sq.lastUse.Load() < oldest.lastUse.Load() {
			oldest = sq
		}
	}
	if s.core.now().UnixNano()-oldest.lastUse.Load() < int64(unusedAfter) {
		return Errorf(TooMuch, "the server has %d sequences in use, its limit: ask another one", s.core.opts.Sequences)
	}
	delete(s.all, oldest.Name)
	s.work.Go(func() { oldest.close() })
	return nil
}

// List returns the open sequences in the order of their names.
func (s *Sequences) List() []*Sequence {
	s.mu.Lock()
	defer s.mu.Unlock()
	byName := func(a, b *Sequence) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(s.all), byName)
}

// askAnew makes the next request for a sequence ask the store
// again, where an error is remembered. Management calls it.
func (s *Sequences) askAnew(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failures, name)
	if sq := s.all[name]; sq != nil {
		sq.lastRefusal.Store(nil)
	}
}

// close closes all, and waits until ctx ends for dense ones to
// give numbers back.
func (s *Sequences) close(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	all := s.all
	s.all = nil
	s.mu.Unlock()
	for _, sq := range all {
		s.work.Go(func() { sq.close() })
	}
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("some sequences may have a gap, because giving numbers back took too long: %w", ctx.Err())
	}
}

// dropSequence closes a sequence if the server has it open. The next
// request opens it anew.
func (s *Sequences) dropSequence(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sq := s.all[name]; sq != nil && !s.ended {
		delete(s.all, name)
		s.work.Go(sq.close)
	}
}

// Numbers returns numbers that were taken as callers see them, without
// their texts.
func (s *Sequences) Numbers(name string, got Numbers) *pb.SequenceNextResponse {
	out := &pb.SequenceNextResponse{First: got.First, Last: got.Last(), Step: got.Step, Period: got.Period}
	if got.Serials.Taken > 0 {
		out.Taken = &got.Serials.Taken
	}
	s.mu.Lock()
	sq := s.all[name]
	s.mu.Unlock()
	if sq != nil {
		out.Left = sq.numbers.Status().Left
	}
	return out
}
