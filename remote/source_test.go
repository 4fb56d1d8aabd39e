package remote

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
)

// counting is a server that makes the IDs 1, 2, 3, …
type counting struct {
	snowfencev1connect.IDServiceClient
	last   int64 // a source sends one request at a time
	answer func(first, last int64)
}

func (s *counting) Next(
	_ context.Context, r *connect.Request[pb.NextRequest],
) (*connect.Response[pb.NextResponse], error) {
	m, first := new(pb.NextResponse), s.last+1
	for range r.Msg.Count {
		s.last++
		m.Ids = append(m.Ids, s.last)
	}
	s.answer(first, s.last)
	return connect.NewResponse(m), nil
}

func sourceOf(t *testing.T, server *counting, o *SourceOptions) *Source {
	c := &Client{servers: []*peer{{ids: server}}, timeout: time.Minute}
	s, err := c.Source("n", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Each ID is of the machine that asked for it, whenever that is copied: in
// hand, made ahead, while an answer is on its way, and while a call takes
// it.
func TestSourceOfACopiedMachine(t *testing.T) {
	for at := range int64(60) {
		var resumed, looks atomic.Int64
		var machines [10_000]atomic.Int64 // that asked, by ID
		server := &counting{answer: func(first, last int64) {
			for id := first; id <= last; id++ {
				machines[id].Store(resumed.Load())
			}
			if at < 10 && first > at {
				resumed.CompareAndSwap(0, 1)
			}
		}}
		s := sourceOf(t, server, &SourceOptions{Batch: 8, MaxAge: time.Hour})
		s.machine = func() func() bool {
			m := resumed.Load()
			return func() bool {
				if at >= 10 && looks.Add(1) == at {
					resumed.Add(1)
				}
				return resumed.Load() != m
			}
		}
		for range 100 {
			before := resumed.Load() // an answer in the background may raise it
			id, err := s.Next(t.Context())
			if m := machines[id].Load(); err != nil || m < before || at >= 10 && m != resumed.Load() {
				t.Fatalf("%d: ID %d is of machine %d, and this is %d: %v", at, id, m, resumed.Load(), err)
			}
		}
		if resumed.Load() != 1 {
			t.Errorf("%d: resumed %d times", at, resumed.Load())
		}
	}
}

// An ID is as old as the clock says that saw more.
func TestAgeOfAStock(t *testing.T) {
	now := time.Now()
	for _, c := range []struct{ wall, mono, want time.Duration }{
		{time.Second, time.Second, time.Second},
		{time.Hour, time.Second, time.Hour}, // after a pause
		{-time.Hour, time.Second, time.Second},
	} {
		b := stock{ids: []snowfence.ID{1}, born: now.Add(-c.wall)}
		(*[2]int64)(unsafe.Pointer(&b.born))[1] += int64(c.wall - c.mono) // the monotonic clock of a time
		if got := b.age(now); got != c.want {
			t.Errorf("%v by the wall clock, %v by the monotonic one: %v", c.wall, c.mono, got)
		}
	}
}

// A renewal is not sent when its caller has gone.
func TestRenewalThatNobodyAwaits(t *testing.T) {
	s := &tickets{under: atOnce} // without a server
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Renew(ctx, nil, "", nil); err == nil {
		t.Error("it is renewed")
	}
	s.renewAll()
}
