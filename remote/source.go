package remote

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// SourceOptions says how a Source gets IDs ahead. Nil and the zero value
// use the defaults.
type SourceOptions struct {
	// Batch is the largest number of IDs in one request; 0 means 1000. A
	// source begins with small requests.
	Batch int

	// MaxAge is how long an ID may wait in the source; 0 means a second.
	// The source drops older ones, because their timestamps would be too
	// far behind. So long may two copies of a machine give out the same
	// IDs, where no hypervisor tells of the copy.
	MaxAge time.Duration
}

// Source gets IDs from a server, some of them ahead, for processes that
// should not have a node. The generator of [Client.Open] is faster, and
// goes on while no server answers. If a server does not answer within 1.5
// seconds, the source also asks the next one. The IDs of a source increase,
// with the same bits above the time, unless several servers answer in turn.
// [snowfence.Scheme.Tag] of [Client.Scheme] gives them a tag. Its methods
// are safe for concurrent use.
type Source struct {
	c         *Client
	namespace string
	batch     int
	maxAge    time.Duration
	life      context.Context
	end       context.CancelFunc

	machine func() (copied func() bool) // wire.Machine

	mu      sync.Mutex
	hand    stock
	next    stock           // made ahead
	size    int             // of the next request
	request *pendingRequest // the request under way; nil when there is none
	closed  bool
}

// stock is IDs of one answer that no call has yet.
type stock struct {
	ids    []snowfence.ID
	born   time.Time
	copied func() bool // whether another machine may have them, too
}

// age is by both clocks, because one stands still while a machine is
// paused, and the other one may be set back.
func (b *stock) age(now time.Time) time.Duration {
	return max(now.Sub(b.born), now.Round(0).Sub(b.born))
}

// pendingRequest is one request. All callers that need its answer wait for
// done.
type pendingRequest struct {
	done chan struct{}
	err  error // valid when done
}

// Source returns a source of IDs of a namespace; nil options use the
// defaults. It sends no request before the first ID. The token needs the
// verb ids.
func (c *Client) Source(namespace string, o *SourceOptions) (*Source, error) {
	opts := *cmp.Or(o, &SourceOptions{})
	switch {
	case opts.Batch < 0 || opts.Batch > 1_000_000:
		return nil, fmt.Errorf("remote: SourceOptions.Batch is %d; it must be at most 1,000,000", opts.Batch)
	case opts.MaxAge < 0:
		return nil, fmt.Errorf("remote: SourceOptions.MaxAge is %v; it must not be negative", opts.MaxAge)
	}
	s := &Source{
		c: c, namespace: namespace, size: 1, machine: wire.Machine,
		batch: cmp.Or(opts.Batch, 1000), maxAge: cmp.Or(opts.MaxAge, time.Second),
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Next returns a new ID, from memory if there is one. It waits for a server
// until ctx ends.
func (s *Source) Next(ctx context.Context) (snowfence.ID, error) {
	for {
		id, copied, pending := s.takeID()
		if pending == nil {
			if !copied() { // last, because a call may stand still before
				return id, nil
			}
			continue
		}
		select {
		case <-pending.done:
			if pending.err != nil {
				return 0, pending.err
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("remote: waiting for IDs of namespace %q: %w", s.namespace, ctx.Err())
		}
	}
}

// takeID returns an ID in hand, and whether its machine was copied, or the
// request to wait for.
func (s *Source) takeID() (_ snowfence.ID, copied func() bool, _ *pendingRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.dropOld(&s.hand, now)
	if len(s.hand.ids) == 0 && s.next.ids != nil {
		s.hand, s.next = s.next, stock{}
		if !s.dropOld(&s.hand, now) {
			s.size = min(2*s.size, s.batch) // all of the batch before was used in time
		}
	}
	if len(s.hand.ids) == 0 {
		return 0, nil, s.askServer()
	}
	id := s.hand.ids[0]
	s.hand.ids = s.hand.ids[1:]
	if len(s.hand.ids) < s.size/2 && s.next.ids == nil {
		s.askServer()
	}
	return id, s.hand.copied, nil
}

// dropOld drops IDs that are too old. If these are many, the next request
// is smaller. mu is held.
func (s *Source) dropOld(b *stock, now time.Time) (dropped bool) {
	if len(b.ids) == 0 || b.age(now) <= s.maxAge {
		return false
	}
	if len(b.ids) > s.size/2 {
		s.size = max(s.size/2, 1)
	}
	b.ids = nil
	return true
}

// askServer asks a server, unless one is being asked. mu is held.
func (s *Source) askServer() *pendingRequest {
	if s.request != nil {
		return s.request
	}
	pending := &pendingRequest{done: make(chan struct{})}
	s.request = pending
	n, copied := s.size, s.machine() // before a server makes them
	go func() {
		res, err := s.ask(n)
		for ; n > 1 && connect.CodeOf(err) == connect.CodeResourceExhausted; n /= 2 {
			res, err = s.ask(n / 2) // perhaps so many may not be had at once
		}
		if err == nil && len(res.Msg.Ids) == 0 {
			err = fmt.Errorf("remote: the server gave no IDs")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			err = fmt.Errorf("remote: the source of namespace %q: %w", s.namespace, snowfence.ErrClosed)
		}
		s.request, pending.err = nil, err
		if s.size = min(s.size, n); err != nil {
			s.size = max(n/2, 1) // perhaps so many take too long
		} else {
			s.next = stock{make([]snowfence.ID, len(res.Msg.Ids)), time.Now(), copied}
			for i, id := range res.Msg.Ids {
				s.next.ids[i] = snowfence.ID(id)
			}
		}
		close(pending.done)
	}()
	return pending
}

// ask asks for n IDs.
func (s *Source) ask(n int) (*connect.Response[pb.NextResponse], error) {
	return race(s.life, s.c, func(ctx context.Context, p *peer) (*connect.Response[pb.NextResponse], error) {
		return p.ids.Next(ctx, connect.NewRequest(&pb.NextRequest{Namespace: s.namespace, Count: uint32(n)}))
	})
}

// Close ends the source at once: IDs in hand are lost, and Next fails. The
// error is nil.
func (s *Source) Close() error {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.hand, s.next = true, stock{}, stock{}
	return nil
}
