package sequence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// program gives numbers that a program keeps, such as a server. It says
// itself when they end.
type program struct {
	*facts
	ask func(ctx context.Context, n int64) (r Range, left int64, err error)
}

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
	p := &program{newFacts(context.Background(), name, o), take}
	var err error
	if p.lastState.Definition, p.lastState.course, err = d.withDefaults(); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", name, err)
	}
	if d.Pattern != "" {
		return nil, fmt.Errorf("sequence %q: %w: it is dated (%w)", name, ErrDated, lease.ErrInvalid)
	}
	s := newSequence(p.facts, p)
	s.start(d.Mode == Dense || d.Mode == Strict || o != nil && o.Exact, func(context.Context) {})
	s.dense, s.single, s.short, s.long = false, true, 10*time.Second, time.Minute
	return s, nil
}

// take takes n ordinals, or as many as callers wait for.
func (p *program) take(ctx context.Context, least, n int64) (span, error) {
	r, left, err := p.ask(ctx, n)
	if err != nil && p.final(err) && n > least { // perhaps so many may not be taken at once
		n = least
		r, left, err = p.ask(ctx, n)
	}
	if err != nil {
		return span{}, err
	}
	way := p.lastState.course
	from := way.ordinalOf(r.First)
	if r.Step != way.step || r.Count != n || way.numberOf(from) != r.First {
		return span{}, errors.New("the numbers of the answer are not those of the request")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastState.counter.From = way.count - left
	return span{way.start, from, from + n}, nil
}

func (*program) final(err error) bool { return !errors.Is(err, ErrNotReady) }

func (*program) doubted() bool { return false }

func (*program) giveBack(context.Context, []span) error { return nil }
