package remote

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence/sequence"
)

// Dated gives out numbers of a dated sequence of a server, each of which is asked for when it is
// wanted. It is safe for concurrent use.
type Dated struct{ s *Sequence }

// Dated opens a dated sequence of the server, as [Client.Sequence] opens a plain one.
func (c *Client) Dated(ctx context.Context, name string) (*Dated, error) {
	s, err := c.openSequence(ctx, name)
	if err != nil {
		return nil, err
	}
	if s.def.Pattern == "" {
		s.end()
		return nil, fmt.Errorf("remote: sequence %q: %w: it has no dates: use Sequence", name, sequence.ErrDated)
	}
	return &Dated{s}, nil
}

// Next returns the next number of the present period by the server's clock. It waits as
// [Sequence.Next] does.
func (d *Dated) Next(ctx context.Context) (sequence.Serial, error) {
	r, err := d.Reserve(ctx, 0, 1)
	if err != nil {
		return sequence.Serial{}, err
	}
	return r.At(0), nil
}

// Reserve takes n numbers that follow each other, 1 to 1,000,000, of a period such as 20261122,
// 202611 or 2026, or of the present one, which 0 stands for.
func (d *Dated) Reserve(ctx context.Context, period, n int64) (sequence.Serials, error) {
	got, err := d.take(ctx, period, n)
	if err != nil {
		return sequence.Serials{}, err
	}
	return sequence.Serials{Period: got.period, First: got.first, Count: got.count}.Of(d.s.def)
}

func (d *Dated) take(ctx context.Context, period, n int64) (numbers, error) {
	s := d.s
	if period == 0 {
		return s.wait(ctx, n, true)
	}
	if err := s.check(n); err != nil {
		return numbers{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	for failed := 0; ; failed++ {
		got, _, err := s.request(ctx, period, n)
		switch {
		case err == nil:
			return got, nil
		case s.life.Err() != nil:
			return numbers{}, s.errClosed()
		case ctx.Err() != nil || !isAway(err):
			return numbers{}, err
		}
		pause(ctx, failed)
	}
}

// Close ends the sequence at once, as [Sequence.Close] does.
func (d *Dated) Close() error { return d.s.Close() }
