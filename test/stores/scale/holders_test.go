package scale

import (
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// holder is what a program has to remember of its node.
type holder struct {
	until  uint32 // tick, of the last answer; 0 before the first one
	node   int32
	next   int32 // in a slot of the wheel; −1 ends it
	server int8  // that gave the node
	size   uint8 // of the ticket
	ticket [200]byte
}

// holders are programs with a node each, which renew as the servers say: up
// to a hundred share a request. Each answer is judged.
type holders struct {
	pair   *pair
	layout snowfence.Layout
	all    []holder
	life   <-chan struct{}
	work   sync.WaitGroup

	batches chan batch
	fresh   chan int32 // of those that need a node
	lacking atomic.Int64
	away    atomic.Int64 // server that did not answer; −1 for none

	mu    sync.Mutex // of what follows
	wheel [slots][2]int32
	last  []tenancy // of each node
	given [2]int    // nodes that holders have now, by server
	seen  seen
}

// seen is what happened in some time.
type seen struct {
	acquired, renewed, lost, twice int
	gaps                           int            // times that a holder had no grant
	longestGap                     time.Duration  // of these
	why                            map[string]int // answers that are no lease
}

// batch is holders whose renewals are due at one server.
type batch struct {
	server  int
	holders []int32
}

const (
	together = 100                   // renewals in a request
	slot     = 10 * time.Millisecond // of the wheel
	slots    = 4096                  // more than the longest wait
	patience = 100 * time.Millisecond
)

func newHolders(p *pair, layout snowfence.Layout, n int, life <-chan struct{}) *holders {
	h := &holders{
		pair: p, layout: layout, all: make([]holder, n), life: life, batches: make(chan batch, n),
		fresh: make(chan int32, n), last: make([]tenancy, 1<<layout.Bits(snowfence.FieldNode)),
	}
	h.away.Store(-1)
	for i := range h.wheel {
		h.wheel[i] = [2]int32{-1, -1}
	}
	for range 64 {
		h.work.Go(h.renewals)
		h.work.Go(h.acquisitions)
	}
	h.work.Go(h.turn)
	return h
}

// since returns what happened since the last call.
func (h *holders) since() seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.seen
	h.seen = seen{why: map[string]int{}}
	return s
}

// take has the holders from i up to j take a node, and waits until all have
// one.
func (h *holders) take(i, j int) {
	h.lacking.Add(int64(j - i))
	for ; i < j; i++ {
		h.fresh <- int32(i)
	}
	for h.lacking.Load() > 0 {
		time.Sleep(slot)
	}
}

// turn sends what is due. A batch that is not full waits for others, but
// not for long.
func (h *holders) turn() {
	var waiting [2][]int32
	ticks := time.NewTicker(slot)
	defer ticks.Stop()
	for at := time.Now().UnixNano() / int64(slot); ; {
		select {
		case <-ticks.C:
		case <-h.life:
			return
		}
		h.mu.Lock()
		for now := time.Now().UnixNano() / int64(slot); at <= now; at++ {
			for s := range waiting {
				for i := h.wheel[at%slots][s]; i >= 0; i = h.all[i].next {
					waiting[s] = append(waiting[s], i)
				}
				h.wheel[at%slots][s] = -1
			}
		}
		h.mu.Unlock()
		for s := range waiting {
			for n := len(waiting[s]); n >= together || n > 0 && at%int64(patience/slot) == 0; n = len(waiting[s]) {
				n = min(n, together)
				h.batches <- batch{s, slices.Clone(waiting[s][:n])}
				waiting[s] = append(waiting[s][:0], waiting[s][n:]...)
			}
		}
	}
}

func (h *holders) renewals() {
	for {
		select {
		case b := <-h.batches:
			h.renew(b)
		case <-h.life:
			return
		}
	}
}

// renew asks the server of a batch, and the other one if that does not
// answer.
func (h *holders) renew(b batch) {
	m, out, at := &pb.RenewAllRequest{}, &pb.RenewAllResponse{}, b.server
	for _, i := range b.holders {
		x := &h.all[i]
		m.Renewals = append(m.Renewals, &pb.RenewRequest{Ticket: x.ticket[:x.size]})
	}
	for {
		attempt := rand.Text()
		for _, r := range m.Renewals {
			if r.Attempt != "" {
				r.Earlier = append(r.Earlier, r.Attempt)
			}
			r.Attempt = attempt
		}
		err := h.pair.call(at, "LeaseService/RenewAll", m, out)
		if err == nil && len(out.Renewals) == len(b.holders) {
			break
		}
		select {
		case <-time.After(slot):
		case <-h.life:
			return
		}
		h.away.Store(int64(at))
		at = 1 - at
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, r := range out.Renewals {
		i := b.holders[k]
		switch {
		case r.Lease != nil:
			h.seen.renewed++
			h.granted(i, h.all[i].server, r.Lease, false)
		case r.Reason == "elsewhere", r.Reason == "lost":
			if r.Reason == "lost" {
				h.seen.lost++
			}
			h.lacking.Add(1)
			h.fresh <- i
		default:
			h.seen.why[r.Reason]++
			h.later(i, time.Second)
		}
	}
}

func (h *holders) acquisitions() {
	for {
		select {
		case i := <-h.fresh:
			h.acquire(i)
		case <-h.life:
			return
		}
	}
}

// acquire asks the servers in turn until one gives a node.
func (h *holders) acquire(i int32) {
	m, out := &pb.AcquireRequest{Namespace: namespace, Label: "holder", Ttl: durationpb.New(ttl)}, &pb.Lease{}
	at := int(i % 2)
	for {
		if h.away.Load() == int64(at) {
			at = 1 - at
		}
		m.Attempt = rand.Text()
		err := h.pair.call(at, "LeaseService/Acquire", m, out)
		if err == nil {
			break
		}
		h.mu.Lock()
		h.seen.why[err.Error()]++
		h.mu.Unlock()
		m.Earlier = append(m.Earlier[max(0, len(m.Earlier)-60):], m.Attempt)
		if errors.Is(err, errAway) {
			h.away.Store(int64(at))
			continue
		}
		select {
		case <-time.After(patience):
		case <-h.life:
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen.acquired++
	h.granted(i, int8(at), out, true)
	h.lacking.Add(-1)
}
