package remote

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
)

// Dated gives out numbers of a dated sequence of a server. It asks for each
// number when a caller wants it. A late or lost answer leaves a gap. It is
// safe for concurrent use.
type Dated struct {
	c    *Client
	name string
	def  sequence.Definition
	life context.Context
	end  context.CancelFunc
}

// Dated opens a dated sequence of the server, as [Client.Sequence] opens a
// plain one.
func (c *Client) Dated(ctx context.Context, name string) (*Dated, error) {
	d := &Dated{c: c, name: name}
	var err error
	if d.def, err = c.definition(ctx, name); err != nil {
		return nil, err
	}
	if d.def.Pattern == "" {
		return nil, fmt.Errorf("remote: sequence %q: %w: it has no dates: use Sequence", name, sequence.ErrDated)
	}
	d.life, d.end = context.WithCancel(context.Background())
	return d, nil
}

// Next returns the next number of the present period by the server's clock.
// While no server answers, it waits as long as ctx.
func (d *Dated) Next(ctx context.Context) (sequence.Serial, error) {
	r, err := d.Reserve(ctx, 0, 1)
	if err != nil {
		return sequence.Serial{}, err
	}
	return r.At(0), nil
}

// Reserve takes n numbers that follow each other, 1 to 1,000,000, of a
// period such as 20261122, 202611 or 2026, or of the present one (0). It
// waits as Next does.
func (d *Dated) Reserve(ctx context.Context, period, n int64) (sequence.Serials, error) {
	if n < 1 || n > mostNumbers {
		return sequence.Serials{}, fmt.Errorf("remote: sequence %q: %d numbers at once: use 1 to %d (%w)", d.name, n,
			mostNumbers, lease.ErrInvalid)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	for failed := 0; ; failed++ {
		m, err := d.c.takeNumbers(ctx, d.name, period, n)
		switch {
		case err == nil:
			return sequence.Serials{Period: m.Period, First: m.First, Count: n, Taken: m.GetTaken()}.Of(d.def)
		case d.life.Err() != nil:
			return sequence.Serials{}, fmt.Errorf("remote: sequence %q: %w", d.name, sequence.ErrClosed)
		case ctx.Err() != nil || !isAway(err):
			return sequence.Serials{}, err
		}
		pause(ctx, failed)
	}
}

// Close ends the sequence at once: calls get a [sequence.ErrClosed]. The
// error is nil.
func (d *Dated) Close() error {
	d.end()
	return nil
}

// pause waits before the next request, longer after each that failed.
func pause(ctx context.Context, failed int) {
	p := min(20*time.Millisecond<<min(failed, 10), time.Second)
	select {
	case <-time.After(p/2 + rand.N(p)):
	case <-ctx.Done():
	}
}
