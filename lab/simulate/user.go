package simulate

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
)

// slot is where a process runs, again and again: what its configuration
// says.
type slot struct {
	index      int
	label      string
	node       *int64 // fixed
	nodes      int    // length of a block
	leases     int    // in one process
	lead       int64
	coarse     bool
	guard      bool
	idle       time.Duration
	overServer bool // through a server
	role       role
	process    *process
	clock      clock // of its machine
	starts     int
	alive
}

// holding is one lease of a process with the generator on it. It stands
// between the two as their fence, and tells the ledger of all calls.
type holding struct {
	p      *process
	l      *lease.Lease
	g      *snowfence.Generator
	reader *reader
	claims []*claim
	acks   map[int64]acked // by node: what the store acknowledged last
	behind int64           // it lost a swap to a store that was rolled back behind this tick

	// The highest until of each node, written or on its way, at the
	// snapshot that was resumed twice.
	snapshot map[int64]int64
	forkTime time.Duration

	attempts map[int64]int64 // by node: the highest until that was written, acknowledged or not

	renewal       string // attempt of the renewal that a server has in hand
	sharedRenewal string // the same at the snapshot: both copies have sent it

	sublets *sublet.Server             // of a lessor
	parts   map[snowfence.Grant]*claim // answers of lessors, and the grants that they are parts of
}

// World lets the generator run in the simulation.
func (h *holding) World() world.World { return h.p }

// Scheme implements snowfence.Fence.
func (h *holding) Scheme() *snowfence.Scheme { return h.l.Scheme() }

// Grant implements snowfence.Fence.
func (h *holding) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	g, err := h.l.Grant(ctx, after)
	if err == nil && !h.p.replay {
		h.p.s.noteGrant(h, g)
	}
	return g, err
}

// Held implements snowfence.Fence.
func (h *holding) Held(after int64) (snowfence.Grant, bool) {
	g, ok := h.l.Held(after)
	if ok && !h.p.replay {
		h.p.s.noteGrant(h, g)
	}
	return g, ok
}

// Release implements snowfence.Fence.
func (h *holding) Release(ctx context.Context, g snowfence.Grant, used int64) error {
	for _, c := range slices.Backward(h.claims) {
		if c.node == g.Node && c.from == g.From {
			c.stopAt(used, h.p.s.now)
			break // an earlier one that began at the same tick was given back before
		}
	}
	return h.l.Release(ctx, g, used)
}

// Bind implements snowfence.Binder.
func (h *holding) Bind(seal func() int64) (func(), error) {
	return h.l.Bind(func() int64 {
		used := seal()
		for _, c := range h.claims {
			c.stopAt(used, h.p.s.now)
		}
		return used
	})
}

// useLease is the work of a process with one of its leases: it opens it,
// makes IDs in every way there is, closes, and begins again.
func (p *process) useLease() {
	ctx := world.With(context.Background(), p)
	for p.programRand.IntN(6) > 0 {
		h := &holding{p: p, acks: map[int64]acked{}, attempts: map[int64]int64{}, parts: map[snowfence.Grant]*claim{}}
		p.holdings = append(p.holdings, h)
		err := p.openLease(ctx, h)
		switch {
		case err != nil:
		case p.slot.role == lessor:
			p.runLessor(ctx, h)
		default:
			for p.programRand.IntN(3) > 0 && !p.s.shy() {
				p.useGenerator(ctx, h)
			}
			p.endLease(ctx, h)
		}
		if errors.Is(err, lease.ErrMismatch) {
			break // this program is of an earlier layout
		}
		p.sleepFor(time.Duration(p.programRand.Int64N(int64(p.s.ttl))))
	}
	if p.programs--; p.programs == 0 && !p.replay {
		p.s.runAfter(0, func() { p.s.killProcess(p) })
	}
}

func (p *process) openLease(ctx context.Context, h *holding) error {
	s, sl := p.s, p.slot
	scheme := s.schemes[p.era]
	h.reader = s.readers[p.era]
	o := &lease.Options{
		TTL: s.ttl, Label: sl.label, Node: sl.node, Nodes: sl.nodes, Guard: sl.guard, Wait: p.programRand.IntN(2) == 0,
		MaxSkew: s.skew, Idle: sl.idle, Time: p.timeSource(), Logger: slog.New(slog.DiscardHandler),
	}
	began := p.virtualTime()
	octx, cancel := p.WithTimeout(ctx, 2*s.ttl)
	defer cancel()
	err := p.acquireLease(octx, h, scheme, o)
	s.noteOpening(h, began, err)
	return err
}

// acquireLease opens the lease from where the slot gets its nodes.
func (p *process) acquireLease(
	octx context.Context, h *holding, scheme *snowfence.Scheme, o *lease.Options,
) (err error) {
	sl := p.slot
	st := link{p: p, h: h}
	if sl.overServer || sl.role == tenant {
		var v wire.Server = server{st, p, scheme, h, func() bool { return p.programRand.IntN(16) == 0 }}
		if sl.role == tenant {
			st.peer = true
			v = &lessors{link: st}
		}
		var all []*lease.Lease
		if all, err = lease.Keep(octx, v, namespace, scheme, 1, o); err == nil {
			h.l = all[0]
		}
	} else {
		h.l, err = lease.Open(octx, st, namespace, scheme, o)
	}
	return err
}

// spreadOf is the spread of every third slot. It is not drawn, so that
// seeds draw the rest as before.
func (sl *slot) spreadOf(l snowfence.Layout) int64 {
	last := l.Fields[len(l.Fields)-1]
	if sl.index%3 != 2 || l.Cipher != snowfence.Plain || last.Name != snowfence.FieldSequence {
		return 0
	}
	return min(16, l.Last-l.First+1)
}

// useGenerator is the life of one generator on the lease.
func (p *process) useGenerator(ctx context.Context, h *holding) {
	s, sl := p.s, p.slot
	c := snowfence.Config{
		Fence: h, Lead: sl.lead, Coarse: sl.coarse, Spread: sl.spreadOf(h.l.Scheme().Layout()),
		Time: p.stallingSource(), MaxWait: time.Duration(1 + p.programRand.Int64N(int64(s.ttl))),
	}
	g, err := snowfence.New(c)
	if err != nil {
		p.sleepFor(time.Duration(p.programRand.Int64N(int64(s.ttl / 4))))
		return
	}
	h.g = g
	defer s.sessionEnded(h, p.virtualTime())
	shared := &caller{highest: heights{}}
	if p.programRand.IntN(4) == 0 {
		if _, err := snowfence.New(c); !errors.Is(err, snowfence.ErrBound) {
			s.violate("%s has two generators on one lease: %v", p.name, err)
		}
	}
	rounds := 1 + p.programRand.IntN(14)
	others := 0
	if !h.reader.encrypted {
		others = p.programRand.IntN(3)
	}
	for range others {
		p.Go(func() { p.makeRounds(ctx, h, g, shared, rounds) })
	}
	p.makeRounds(ctx, h, g, shared, rounds)
	if p.programRand.IntN(16) == 0 {
		h.l.Orphan()
	}
	p.closeOrLose(ctx, g)
	if _, err := g.TryNext(); !errors.Is(err, snowfence.ErrClosed) {
		s.violate("%s: a closed generator says %v", p.name, err)
	}
}

// endLease ends the lease, in one of the ways in which programs end.
func (p *process) endLease(ctx context.Context, h *holding) {
	if p.programRand.IntN(4) == 0 {
		h.l.Orphan()
		return
	}
	p.closeOrLose(ctx, h.l)
}

// closeOrLose closes a generator or a lease. Without an answer of the store
// the grant runs out by itself.
func (p *process) closeOrLose(ctx context.Context, c interface {
	Close() error
	Shutdown(context.Context) error
},
) {
	if p.programRand.IntN(3) == 0 {
		_ = c.Close()
	}
	for p.programRand.IntN(3) > 0 {
		cctx, cancel := p.WithTimeout(ctx, time.Duration(1+p.programRand.Int64N(int64(p.s.ttl))))
		err := c.Shutdown(cctx)
		cancel()
		if err == nil {
			return
		}
	}
	_ = c.Close()
}

// makeRounds makes IDs for a number of rounds.
func (p *process) makeRounds(ctx context.Context, h *holding, g *snowfence.Generator, shared *caller, rounds int) {
	s := p.s
	local := g.Local()
	handle, filled := &caller{highest: heights{}}, shared
	if h.reader.encrypted {
		// single IDs come from batches made ahead, and the two ways are in
		// order each on its own
		filled = &caller{highest: heights{}}
	}
	for range rounds {
		if s.mute() {
			break
		}
		wctx, cancel := p.WithTimeout(ctx, time.Duration(p.programRand.Int64N(int64(s.ttl))))
		switch n := 1 + p.programRand.IntN(1<<p.programRand.IntN(7)); p.programRand.IntN(4) {
		case 0:
			ids := make([]snowfence.ID, n*n*max(s.plan.blocks, 1))
			began, highest := p.virtualTime(), maps.Clone(filled.highest)
			k, _ := g.Fill(wctx, ids)
			s.noteIDs(h, filled, ids[:k], began, highest)
		case 1:
			for range n {
				began, highest := p.virtualTime(), maps.Clone(shared.highest)
				if id, err := h.next(wctx, g); err == nil {
					s.noteIDs(h, shared, []snowfence.ID{id}, began, highest)
				}
			}
		case 2:
			for range n {
				began, highest := p.virtualTime(), maps.Clone(shared.highest)
				if id, err := g.TryNext(); err == nil {
					s.noteIDs(h, shared, []snowfence.ID{id}, began, highest)
				}
			}
		default:
			for range n {
				began := p.virtualTime()
				if id, err := local.Next(wctx); err == nil {
					s.noteIDs(h, handle, []snowfence.ID{id}, began, maps.Clone(handle.highest))
				}
			}
		}
		cancel()
		p.sleepFor(time.Duration(1 + p.programRand.Int64N(int64(1+p.programRand.Int64N(int64(s.ttl))))))
	}
}

func (s *sim) noteIDs(h *holding, c *caller, ids []snowfence.ID, began time.Duration, highest heights) {
	if len(ids) > 0 && s.bad == nil {
		s.checkIDs(h, c, ids, began, highest)
	}
}
