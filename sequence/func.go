package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
)

// OpenFunc returns a sequence that gets its numbers by calling take, for
// example from a server. take returns n numbers, none of them twice, and
// how many are left for all programs. After an [ErrNotReady] it is called
// again. After another error it is called for no more numbers than callers
// wait for, and they get the error of that call.
//
// d is the definition of that sequence. A fast sequence takes ranges ahead,
// others do not. Ranges begin small, and grow while they last less than 10
// seconds, so a crash loses few numbers.
func OpenFunc(name string, d Definition, take func(ctx context.Context, n int64) (r Range, left int64, err error),
	o *Options,
) (*Sequence, error) {
	s := newSequence()
	s.useStore(context.Background(), nil, name, o)
	var err error
	if s.lastState.Definition, s.lastState.course, err = d.withDefaults(); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", name, err)
	}
	if d.Pattern != "" {
		return nil, fmt.Errorf("sequence %q: %w: it is dated (%w)", name, ErrDated, lease.ErrInvalid)
	}
	s.ask = take
	s.startTakes(world.With(context.Background(), s.world), d.Mode == Dense || d.Mode == Strict || o != nil && o.Exact,
		func() {})
	s.mode = Fast // nothing of it can be given back
	return s, nil
}

// ofProgram reports whether a program keeps the sequence: asking it is
// quick, so ranges are short.
func (s *Sequence) ofProgram() bool { return s.ask != nil && s.stores == nil }

// askFor takes n numbers, or as many as callers wait for.
func (s *Sequence) askFor(least, n int64) (span, error) {
	r, left, err := s.ask(s.life, n)
	if err != nil && s.isFinal(err) && n > least { // perhaps so many may not be taken at once
		s.shrinkRange(n / 4)
		n = least
		r, left, err = s.ask(s.life, n)
	}
	if err != nil {
		return span{}, err
	}
	way := s.lastState.course
	if r.Step != s.step || way.numberOf(way.ordinalOf(r.First)) != r.First || s.ofProgram() && r.Count != n {
		return span{}, errors.New("the numbers of the answer are not those of the request")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastState.counter.From = s.lastState.course.count - left
	return span{r.First, 0, r.Count}, nil
}
