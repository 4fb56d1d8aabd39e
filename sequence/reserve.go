package sequence

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence/lease"
)

// Range is Count numbers of a sequence that follow each other: First, First
// + Step, …
type Range struct {
	First, Step, Count int64
}

// Last returns the last number of the range.
func (r Range) Last() int64 { return r.First + (r.Count-1)*r.Step }

// mostAtOnce is how many numbers one call of Reserve takes at most.
const mostAtOnce = 1_000_000

// Reserve takes n numbers that follow each other, 1 to 1,000,000. It waits
// as [Sequence.Next] does. If the range in use is too short for them,
// Reserve drops the rest of it, so that numbers go on rising.
func (s *Sequence) Reserve(ctx context.Context, n int64) (Range, error) {
	if err := s.checkCount(n); err != nil {
		return Range{}, err
	}
	got, err := s.takeRow(ctx, n)
	if err != nil {
		return Range{}, err
	}
	return s.rangeOf(got), nil
}

func (s *facts) checkCount(n int64) error {
	if n < 1 || n > mostAtOnce {
		return fmt.Errorf("sequence %q: %d numbers at once: use 1 to %d (%w)", s.name, n, mostAtOnce, lease.ErrInvalid)
	}
	return nil
}

// takeRow takes n ordinals that follow each other.
func (s *Sequence) takeRow(ctx context.Context, n int64) (span, error) {
	if got, ok := s.cur.Load().takeRow(n); ok {
		return got, nil
	}
	return s.waitFor(ctx, n, true)
}

// Fill writes numbers to dst, in their order, and returns how many. It
// waits as [Sequence.Next] does; when it gives up, the first n are good.
func (s *Sequence) Fill(ctx context.Context, dst []int64) (n int, err error) {
	for n < len(dst) {
		more := min(int64(len(dst)-n), mostAtOnce)
		got, ok := s.cur.Load().takeSome(more)
		if !ok {
			if got, err = s.waitFor(ctx, more, false); err != nil {
				return n, err
			}
		}
		r := s.rangeOf(got)
		for i := range r.Count {
			dst[n] = r.First + r.Step*i
			n++
		}
	}
	return n, nil
}

func (s *Sequence) rangeOf(got span) Range { return Range{got.firstNumber(s.step), s.step, got.len()} }
