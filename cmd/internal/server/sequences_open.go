package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/sequence"
)

// opening is an attempt to open a sequence, for all its callers.
type opening struct {
	who  string        // its place is of this client's share
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

// Find returns an open sequence. A client's first use opens it.
func (s *Sequences) Find(ctx context.Context, c *Caller, name string) (*Sequence, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("sequence %q: %w", name, context.Cause(ctx))
	}
	s.mu.Lock()
	if sq := s.all[name]; sq != nil {
		s.mu.Unlock()
		return sq, nil
	}
	if f := s.failures[name]; f.err != nil && s.core.now().Before(f.until) {
		s.mu.Unlock()
		return nil, f.err
	}
	o, who := s.attempts[name], c.shareName()
	switch {
	case s.ended:
		s.mu.Unlock()
		return nil, ErrStopping
	case o == nil && !s.opening.takeShare(who, 1, maxOpening):
		s.mu.Unlock()
		return nil, Errorf(TooMuch, "too many sequences are being opened: ask again")
	case o == nil:
		o = &opening{who: who, done: make(chan struct{})}
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
	s.opening.takeShare(o.who, -1, maxOpening)
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
