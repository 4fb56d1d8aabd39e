package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/lease"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

// Sequence gives out numbers of a sequence of a server. Of a fast one, some are asked for ahead, so
// that most calls need not wait; they rise, unless servers take turns, and what is in hand is a gap
// at Close. Each number of a dense, strict or dated one is asked for when it is wanted. While no
// server answers, calls wait as long as their ctx. It is safe for concurrent use.
type Sequence struct {
	c     *Client
	name  string
	def   sequence.Definition
	ahead bool // numbers are asked for ahead
	life  context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	cur     numbers   // in hand
	next    numbers   // asked for ahead
	began   time.Time // when the range in hand came into use; zero before any
	size    int64     // of the next range
	most    int64     // of a range
	queue   []*caller // who waits for the next request
	aboard  []*caller // where nothing is asked for ahead: who waits for the request under way
	wanted  bool      // somebody wanted a number without waiting
	asking  bool      // a request is under way
	halted  error     // why servers are not asked ahead; nil when they are
	trouble error     // what servers said last, while none answers
	closed  bool
}

// numbers follow each other.
type numbers struct{ first, step, count, period int64 }

// split returns the first n and the others.
func (r numbers) split(n int64) (first, rest numbers) {
	first, rest = r, r
	first.count = n
	rest.first, rest.count = r.first+r.step*n, r.count-n
	return first, rest
}

// caller is a call that waits for numbers.
type caller struct {
	n    int64
	row  bool // it needs all n; else fewer will do
	got  numbers
	err  error
	done chan struct{} // closed when got or err is there
}

const (
	mostNumbers = 1_000_000 // in one request

	// A range of numbers asked for ahead is doubled when it was used up sooner than quick, and
	// halved when it lasted longer than slow: so a crash loses the numbers of a minute or two.
	quick = 10 * time.Second
	slow  = time.Minute

	// Servers that do not answer are asked again after shortestPause, and then ever later.
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// Sequence opens a sequence of the server. It is a [sequence.ErrNoSequence] if there is none of the
// name. The token needs the verbs ids and read.
func (c *Client) Sequence(ctx context.Context, name string) (*Sequence, error) {
	res, err := ask(ctx, c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.Sequence], error) {
		return p.sequences.Show(ctx, connect.NewRequest(&pb.SequenceShowRequest{Name: name}))
	})
	if err != nil {
		return nil, err
	}
	m := res.Msg
	if m.State == "deleted" {
		return nil, fmt.Errorf("remote: sequence %q: %w: it was deleted: create it again, with the same definition, "+
			"and it goes on", name, sequence.ErrNoSequence)
	}
	s := &Sequence{c: c, name: name, size: 1, most: min(m.MaxRange, mostNumbers), def: sequence.Definition{
		Mode: sequence.Mode(m.Mode), Start: &m.Start, Step: m.Step, Max: &m.Max, MinRange: m.MinRange,
		MaxRange: m.MaxRange, Pattern: m.Pattern, Zone: m.Zone,
	}}
	s.ahead = s.def.Mode == sequence.Fast && m.Pattern == ""
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Next returns a number. It waits for a server as long as ctx lasts, and returns at once what no
// waiting mends: sequence.ErrEnded, ErrRolledBack, ErrNoSequence, ErrClosed, and ErrDated.
func (s *Sequence) Next(ctx context.Context) (int64, error) {
	got, err := s.take(ctx, 1, true)
	return got.first, err
}

// TryNext returns a number if one is in hand, and else a [sequence.ErrNotReady]: then it asks a
// server for the next call.
func (s *Sequence) TryNext() (int64, error) {
	if err := s.plain(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.errClosed()
	}
	if got, ok := s.inHand(1, false); ok {
		return got.first, nil
	}
	if !s.ahead {
		return 0, fmt.Errorf("remote: sequence %q: %w: each number is asked of the server: use Next", s.name,
			sequence.ErrNotReady)
	}
	s.wanted = true
	s.ask()
	if s.halted != nil {
		return 0, s.halted
	}
	return 0, fmt.Errorf("remote: sequence %q: %w: try again, or use Next", s.name, sequence.ErrNotReady)
}

// Fill writes numbers to dst, in their order, and returns how many. It waits as Next does; when it
// gives up, the first n are good.
func (s *Sequence) Fill(ctx context.Context, dst []int64) (n int, err error) {
	for n < len(dst) {
		got, err := s.take(ctx, min(int64(len(dst)-n), mostNumbers), false)
		if err != nil {
			return n, err
		}
		for i := range got.count {
			dst[n] = got.first + got.step*i
			n++
		}
	}
	return n, nil
}

// Reserve takes n numbers that follow each other, 1 to 1,000,000. It waits as Next does.
func (s *Sequence) Reserve(ctx context.Context, n int64) (sequence.Range, error) {
	got, err := s.take(ctx, n, true)
	return sequence.Range{First: got.first, Step: got.step, Count: got.count}, err
}

// plain refuses a dated sequence.
func (s *Sequence) plain() error {
	if s.def.Pattern != "" {
		return fmt.Errorf("remote: sequence %q: %w: use Serial", s.name, sequence.ErrDated)
	}
	return nil
}

// take takes up to n numbers of a plain sequence.
func (s *Sequence) take(ctx context.Context, n int64, row bool) (numbers, error) {
	if err := s.plain(); err != nil {
		return numbers{}, err
	}
	return s.wait(ctx, n, row)
}

// Serial returns the next number of a dated sequence, of the present period by the server's clock.
func (s *Sequence) Serial(ctx context.Context) (sequence.Serial, error) {
	r, err := s.Serials(ctx, 1)
	if err != nil {
		return sequence.Serial{}, err
	}
	return r.At(0), nil
}

// Serials takes n numbers of the present period that follow each other, 1 to 1,000,000.
func (s *Sequence) Serials(ctx context.Context, n int64) (sequence.Serials, error) {
	if err := s.dated(); err != nil {
		return sequence.Serials{}, err
	}
	got, err := s.wait(ctx, n, true)
	if err != nil {
		return sequence.Serials{}, err
	}
	return s.serials(got)
}

func (s *Sequence) serials(got numbers) (sequence.Serials, error) {
	return sequence.Serials{Period: got.period, First: got.first, Count: got.count}.Of(s.def)
}

// SerialsIn takes n numbers of a period, such as 20261122, 202611 or 2026.
func (s *Sequence) SerialsIn(ctx context.Context, period, n int64) (sequence.Serials, error) {
	if err := s.dated(); err != nil {
		return sequence.Serials{}, err
	}
	if err := s.check(n); err != nil {
		return sequence.Serials{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	for failed := 0; ; failed++ {
		got, _, err := s.request(ctx, period, n)
		switch {
		case err == nil:
			return s.serials(got)
		case s.life.Err() != nil:
			return sequence.Serials{}, s.errClosed()
		case ctx.Err() != nil || !isAway(err):
			return sequence.Serials{}, err
		}
		pause(ctx, failed)
	}
}

// dated refuses a plain sequence.
func (s *Sequence) dated() error {
	if s.def.Pattern == "" {
		return fmt.Errorf("remote: sequence %q: %w: it has no dates: use Next", s.name, sequence.ErrDated)
	}
	return nil
}

func (s *Sequence) check(n int64) error {
	if n < 1 || n > mostNumbers {
		return fmt.Errorf("remote: sequence %q: %d numbers at once: use 1 to %d (%w)", s.name, n, mostNumbers,
			lease.ErrInvalid)
	}
	return nil
}

// Close ends the sequence at once: numbers in hand are a gap, and calls get a
// [sequence.ErrClosed]. The error is nil.
func (s *Sequence) Close() error {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.cur, s.next = true, numbers{}, numbers{}
	refuse(s.aboard, s.errClosed())
	refuse(s.queue, s.errClosed())
	s.aboard, s.queue = nil, nil
	return nil
}

func (s *Sequence) errClosed() error {
	return fmt.Errorf("remote: sequence %q: %w", s.name, sequence.ErrClosed)
}

// request asks servers for n numbers in a row. Without an answer they are lost, as a gap.
func (s *Sequence) request(ctx context.Context, period, n int64) (got numbers, left int64, err error) {
	req := &pb.SequenceNextRequest{Name: s.name, Count: uint32(n), Period: period, WithoutTexts: true}
	res, err := race(ctx, s.c,
		func(ctx context.Context, p *peer) (*connect.Response[pb.SequenceNextResponse], error) {
			return p.sequences.Next(ctx, connect.NewRequest(req))
		})
	if err != nil {
		return numbers{}, 0, err
	}
	m := res.Msg
	if m.Step == 0 || (m.Last-m.First)/m.Step+1 != n {
		return numbers{}, 0, errors.New("the server gave another count of numbers than it was asked for")
	}
	return numbers{m.First, m.Step, n, m.Period}, m.Left, nil
}

// pause waits before the next request, longer after each that failed.
func pause(ctx context.Context, failed int) {
	d := min(shortestPause<<min(failed, 10), longestPause)
	select {
	case <-time.After(d/2 + rand.N(d)):
	case <-ctx.Done():
	}
}
