package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// host is a machine whose agents die, in a namespace of two units, and its server.
type host struct {
	*testing.T
	server  wire.Server
	s       *snowfence.Scheme
	path    string        // of the state
	counter atomic.Uint64 // of resumptions of the machine
	loss    int           // one answer in so many gets lost, and one agent in so many dies at a request; 0 for none

	away atomic.Bool // the server does not answer

	mu     sync.Mutex // of chance
	chance *rand.Rand
	p      *process
	n      int
	last   snowfence.Grant // of a holder
	old    []byte          // what the file had before
	used   []span
	held   map[string]*span // by the ticket
}

// span is what a holder may have used of a node.
type span struct{ node, from, until int64 }

// process is an agent.
type process struct {
	*lessor.Lessor
	h       *host
	a       *Agent
	subs    []*lease.Sublets
	dead    atomic.Bool
	offline bool // it began while the server was unreachable
	given   int  // subleases
}

const (
	hostLayout = "time=41,node=5,seq=10,epoch=2020-01-01,tick=1ms"
	hostUnit   = 16
)

func newHost(t *testing.T, seed uint64) *host {
	t.Helper()
	time.Sleep(27 * 365 * 24 * time.Hour) // synctest begins in 2000
	dir, err := os.MkdirTemp("/dev/shm", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := snowfence.ParseLayout(hostLayout)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{
		T: t, path: filepath.Join(dir, "state"), chance: rand.New(rand.NewPCG(seed, 0)), held: map[string]*span{},
	}
	if h.s, err = snowfence.NewScheme(l); err != nil {
		t.Fatal(err)
	}
	st := store.NewMemory()
	o := &lease.NamespaceOptions{Unit: hostUnit}
	if _, err := lease.Namespaces(st).Create(t.Context(), "jobs", h.s, o); err != nil {
		t.Fatal(err)
	}
	h.server = lease.Serve(st, h.s, nil)
	return h
}

// Machine is the machine of a world that is resumed from snapshots.
func (h *host) Machine() world.Machine { return world.At(&h.counter) }

// resumable is a world with the machine of a host.
type resumable struct {
	world.World
	h *host
}

func (w resumable) Machine() world.Machine { return w.h.Machine() }

func (h *host) ctx() context.Context {
	return world.With(h.Context(), resumable{world.Real(), h})
}

// start starts an agent, and reports whether it knows what it needs.
func (h *host) start() bool {
	h.Helper()
	h.n++
	p := &process{h: h, offline: h.away.Load()}
	h.p = p
	a := &Agent{label: "agent", logger: slog.New(slog.DiscardHandler)}
	var err error
	if a.state, err = openState(h.path, a.logger); err != nil {
		h.Fatal(err)
	}
	p.a = a
	a.origin, err = reach(h.ctx(), &Source{
		Name: "here", Namespace: "jobs", Scheme: func(snowfence.Layout) (*snowfence.Scheme, error) { return h.s, nil },
		Open: func(context.Context) (*Opened, error) {
			if h.away.Load() {
				return nil, errAway
			}
			return &Opened{link{p}, h.s.Layout(), hostUnit, lease.DefaultTTL, func() {}}, nil
		},
	}, a.state)
	if err == nil {
		err = a.state.begin(a.origin.about)
	}
	if err != nil {
		p.kill()
		return false
	}
	a.Nodes = a.origin.about.Nodes
	open := func(ctx context.Context, within snowfence.NodeRange, life string) (*lease.Sublets, error) {
		sub, err := a.unit(world.With(ctx, resumable{world.Real(), h}), within, life)
		if err == nil {
			p.subs = append(p.subs, sub)
		}
		return sub, err
	}
	p.Lessor = lessor.New("life-"+strconv.Itoa(h.n), open, a.keeps, func(error) {})
	return true
}

// kill ends the process as SIGKILL does: nothing it does counts any more.
func (p *process) kill() {
	if p.dead.Swap(true) {
		return
	}
	p.a.state.mu.Lock()
	p.a.state.ended = true
	_ = p.a.state.lock.Close() // as the kernel does
	p.a.state.mu.Unlock()
	p.bury()
}

// bury ends the goroutines of a process that has ended.
func (p *process) bury() {
	if p.Lessor != nil {
		go func() { _ = p.Close(context.Background()) }()
	}
}

var errAway = errors.New("the server is away")

// strike reports whether a request or an answer gets lost, and may kill the process.
func (p *process) strike() bool {
	h := p.h
	if h.loss > 0 && h.intN(2*h.loss) == 0 {
		p.kill()
	}
	return p.dead.Load() || h.away.Load() || h.loss > 0 && h.intN(2*h.loss) == 0
}

func (h *host) intN(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chance.IntN(n)
}

// request sends something to the server, while processes die and answers get lost.
func (p *process) request(send func() error) error {
	if p.strike() {
		return errAway
	}
	err := send()
	if p.strike() {
		return errAway
	}
	return err
}

// link is the server as a process reaches it.
type link struct{ p *process }

// Acquire implements [wire.Server].
func (v link) Acquire(ctx context.Context, name string, r wire.Request) (l wire.Lease, err error) {
	err = v.p.request(func() (err error) { l, err = v.p.h.server.Acquire(ctx, name, r); return err })
	return l, err
}

// Renew implements [wire.Server].
func (v link) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (l wire.Lease, err error) {
	err = v.p.request(func() (err error) { l, err = v.p.h.server.Renew(ctx, t, attempt, earlier); return err })
	return l, err
}

// Release implements [wire.Server].
func (v link) Release(ctx context.Context, t wire.Ticket, used int64) error {
	return v.p.request(func() error { return v.p.h.server.Release(ctx, t, used) })
}

// holder asks the agent for a node.
func (h *host) holder() error {
	l, err := h.p.Acquire(h.ctx(), "jobs", wire.Request{Attempt: world.Real().Text(), Label: "holder"})
	if err == nil {
		h.p.given++
		h.last = l.Grant
		h.note("", l)
	}
	return err
}

// note is told what a holder has, in place of what it had by another ticket.
func (h *host) note(before string, l wire.Lease) {
	g, s := l.Grant, h.held[before]
	delete(h.held, before)
	if s == nil || s.from != g.From {
		if s != nil { // ticks between were left out
			h.used = append(h.used, *s)
		}
		s = &span{g.Node, g.From, g.Until}
	}
	s.until = g.Until
	h.held[string(l.Ticket)] = s
}

// one returns the ticket of some holder, or "".
func (h *host) one() string {
	all := slices.Sorted(maps.Keys(h.held))
	if len(all) == 0 {
		return ""
	}
	return all[h.intN(len(all))]
}

func (h *host) renew() {
	t := h.one()
	if t == "" {
		return
	}
	if l, err := h.p.Renew(h.ctx(), wire.Ticket(t), world.Real().Text(), nil); err == nil {
		h.note(t, l)
	}
}

func (h *host) release() {
	t := h.one()
	if t == "" {
		return
	}
	s := h.held[t]
	used := s.from + int64(h.intN(int(s.until-s.from+1)))
	delete(h.held, t)
	if h.p.Release(h.ctx(), wire.Ticket(t), used) == nil {
		s.until = used
	}
	h.used = append(h.used, *s)
}

// rival leases a unit from the server, if one is free, and uses some of it.
func (h *host) rival() {
	l, err := h.server.Acquire(h.ctx(), "jobs", wire.Request{
		Attempt: world.Real().Text(), Label: "rival", Nodes: hostUnit, TTL: time.Second,
	})
	if err != nil {
		return
	}
	used := l.Grant.From + int64(h.intN(int(l.Grant.Until-l.Grant.From+1)))
	for i := range l.Grant.Nodes {
		h.used = append(h.used, span{l.Grant.Node + i, l.Grant.From, used})
	}
	if err := h.server.Release(h.ctx(), l.Ticket, used); err != nil {
		h.Error(err)
	}
}

// audit is an error if two holders have a tick of a node.
func (h *host) audit() {
	h.Helper()
	for _, s := range h.held {
		h.used = append(h.used, *s)
	}
	all := slices.DeleteFunc(slices.Clone(h.used), func(s span) bool { return s.from >= s.until })
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.from, b.from))
	})
	for i, s := range all[min(1, len(all)):] {
		if before := all[i]; before.node == s.node && before.until > s.from {
			h.Fatalf("node %d: ticks %d to %d, and %d to %d", s.node, before.from, before.until, s.from, s.until)
		}
	}
}

// end ends the agent, and waits for its goroutines.
func (h *host) end() {
	h.p.kill()
	synctest.Wait()
}
