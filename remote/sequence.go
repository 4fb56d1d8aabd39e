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
// at Close. Each number of a dense or strict one is asked for when it is wanted. While no server
// answers, calls wait as long as their ctx. It is safe for concurrent use.
type Sequence struct {
	c     *Client
	name  string
	def   sequence.Definition
	ahead bool // numbers are asked for ahead
	life  context.Context
	end   context.CancelFunc

	mu        sync.Mutex
	cur       numbers   // in hand
	next      numbers   // asked for ahead
	began     time.Time // when the range in hand came into use; zero before any
	size      int64     // of the next range
	most      int64     // of a range
	queue     []*caller // who waits for the next request
	inRequest []*caller // where nothing is asked for ahead: who waits for the request under way
	wanted    bool      // somebody wanted a number without waiting
	asking    bool      // a request is under way
	halted    error     // why servers are not asked ahead; nil when they are
	trouble   error     // what servers said last, while none answers
	closed    bool
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

// Sequence opens a plain sequence of the server; for a dated one use [Client.Dated]. It is a
// [sequence.ErrNoSequence] if there is none of the name. The token needs the verbs ids and read.
func (c *Client) Sequence(ctx context.Context, name string) (*Sequence, error) {
	s, err := c.openSequence(ctx, name)
	if err == nil && s.def.Pattern != "" {
		s.end()
		return nil, fmt.Errorf("remote: sequence %q: %w: it is dated: use Dated", name, sequence.ErrDated)
	}
	return s, err
}

func (c *Client) openSequence(ctx context.Context, name string) (*Sequence, error) {
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
// waiting mends: sequence.ErrEnded, ErrRolledBack, ErrNoSequence, ErrClosed.
func (s *Sequence) Next(ctx context.Context) (int64, error) {
	got, err := s.wait(ctx, 1, true)
	return got.first, err
}

// TryNext returns a number if one is in hand, and else a [sequence.ErrNotReady]: then it asks a
// server for the next call.
func (s *Sequence) TryNext() (int64, error) {
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
		got, err := s.wait(ctx, min(int64(len(dst)-n), mostNumbers), false)
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
	got, err := s.wait(ctx, n, true)
	return sequence.Range{First: got.first, Step: got.step, Count: got.count}, err
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
	refuse(s.inRequest, s.errClosed())
	refuse(s.queue, s.errClosed())
	s.inRequest, s.queue = nil, nil
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
