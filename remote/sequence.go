package remote

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

const mostNumbers = 1_000_000 // in one request

// Sequence opens a plain sequence of the server; for a dated one use
// [Client.Dated]. It returns [sequence.ErrNoSequence] if there is none of
// that name. The token needs the verbs ids and read.
//
// For a fast sequence, the client asks for some numbers ahead. They rise
// unless several servers answer in turn, and those that are left at Close
// are a gap. For a dense or strict sequence, it asks for each number when a
// caller wants it. After a late or lost answer it asks again, and leaves a
// gap. While no server answers, calls wait until their ctx ends.
func (c *Client) Sequence(ctx context.Context, name string) (*sequence.Sequence, error) {
	d, err := c.definition(ctx, name)
	if err != nil {
		return nil, err
	}
	if d.Pattern != "" {
		return nil, fmt.Errorf("remote: sequence %q: %w: it is dated: use Dated", name, sequence.ErrDated)
	}
	d.MinRange, d.MaxRange = 1, min(d.MaxRange, mostNumbers) // the server has the ranges of the store
	s, err := sequence.OpenFunc(name, d, func(ctx context.Context, n int64) (sequence.Range, int64, error) {
		m, err := c.takeNumbers(ctx, name, 0, n)
		switch {
		case err == nil:
			return sequence.Range{First: m.First, Step: m.Step, Count: n}, m.Left, nil
		case isAway(err):
			err = fmt.Errorf("%w (%w)", err, sequence.ErrNotReady)
		}
		return sequence.Range{}, 0, err
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	return s, nil
}

// definition returns the server's definition of a sequence.
func (c *Client) definition(ctx context.Context, name string) (sequence.Definition, error) {
	res, err := ask(ctx, c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.Sequence], error) {
		return p.sequences.Show(ctx, connect.NewRequest(&pb.SequenceShowRequest{Name: name}))
	})
	if err != nil {
		return sequence.Definition{}, err
	}
	m := res.Msg
	if m.State == "deleted" {
		return sequence.Definition{}, fmt.Errorf("remote: sequence %q: %w: it was deleted: create it again, with the "+
			"same definition, and it goes on", name, sequence.ErrNoSequence)
	}
	return sequence.Definition{
		Mode: sequence.Mode(m.Mode), Start: &m.Start, Step: m.Step, Max: &m.Max, MinRange: m.MinRange,
		MaxRange: m.MaxRange, Pattern: m.Pattern, Zone: m.Zone,
	}, nil
}

// takeNumbers asks servers for n numbers in a row. Without an answer they
// are lost, as a gap.
func (c *Client) takeNumbers(ctx context.Context, name string, period, n int64) (*pb.SequenceNextResponse, error) {
	req := &pb.SequenceNextRequest{Name: name, Count: uint32(n), Period: period, WithoutNumbers: true}
	res, err := race(ctx, c, func(ctx context.Context, p *peer) (*connect.Response[pb.SequenceNextResponse], error) {
		return p.sequences.Next(ctx, connect.NewRequest(req))
	})
	if err != nil {
		return nil, err
	}
	m := res.Msg
	if m.Step == 0 || (m.Last-m.First)/m.Step+1 != n {
		return nil, errors.New("remote: the server gave too many or too few numbers")
	}
	return m, nil
}
