package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

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
	opening  shares             // of the attempts
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

// Take takes n numbers in a row, 1 to [MaxBatch]. period is 0, or
// the period of a dated sequence such as 20261122; 0 is the present one
// then. They count as n for the caller's rate. texts is how many of them
// the answer has as texts at a time. Their room is reserved before any is
// taken, because a refusal would lose them.
func (s *Sequences) Take(ctx context.Context, c *Caller, name string, period, n, texts int64) (Numbers, error) {
	if err := CheckNumbers(n); err != nil {
		return Numbers{}, err
	}
	if err := c.Authorize(VerbIDs, name, n); err != nil {
		return Numbers{}, err
	}
	for {
		sq, err := s.Find(ctx, c, name)
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

// CheckNumbers refuses counts that no answer can have.
func CheckNumbers(n int64) error {
	if n < 1 || n > MaxBatch {
		return Errorf(Invalid, "%d numbers: ask for 1 to %d at a time", n, MaxBatch)
	}
	return nil
}

// List returns the open sequences in the order of their names.
func (s *Sequences) List() []*Sequence {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.all))
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b *Sequence) int { return cmp.Compare(a.Name, b.Name) })
	return all
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
