package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
)

// role is where the programs of a slot get their nodes.
type role int

const (
	direct role = iota // from the store, or a server over it
	lessor             // the same, and they sublet them
	tenant             // from a lessor
)

// drawLessors decides whether the namespace has a unit, and which slots are
// lessors and their holders. It draws from a source of its own, so that
// runs without a lessor stay the same. A lessor's answers to others are not
// part of its log, so no machine is resumed twice.
func (s *sim) drawLessors() {
	s.unit = 1
	chance := rand.New(rand.NewPCG(s.plan.Seed, 10))
	if chance.IntN(8) > 0 && !s.plan.sublets {
		return
	}
	s.unit = 1 << (1 + chance.IntN(3))
	units := int64(len(s.slots))
	for i, sl := range s.slots {
		sl.role = []role{lessor, tenant, tenant, direct}[chance.IntN(4)]
		if i < 2 {
			sl.role = []role{lessor, tenant}[i]
		}
		sl.node, sl.guard, sl.nodes = nil, false, int(s.unit)
		if sl.role == tenant {
			sl.nodes = 1
		}
		units += int64(sl.leases - 1)
	}
	s.first, s.last = 0, min(units+chance.Int64N(4), s.schemes[0].Nodes()/s.unit)*s.unit-1
	s.rates[faultTwins] = 0
}

// recordKey returns the key of the record of a node: the first node of its
// unit.
func (s *sim) recordKey(node int64) []store.Key { return keysOf(node &^ (s.unit - 1)) }

func (p *process) runLessor(ctx context.Context, h *holding) {
	s := p.s
	var err error
	if h.sublets, err = sublet.New(h.l, ""); err != nil {
		s.violate("%s cannot sublet the nodes of its lease: %v", p.name, err)
		return
	}
	if _, err := snowfence.New(snowfence.Config{Fence: h}); !errors.Is(err, snowfence.ErrBound) {
		s.violate("%s has a generator on a lease that it sublets: %v", p.name, err)
	}
	s.lessors = append(slices.DeleteFunc(s.lessors, func(o *holding) bool { return o.p.dead }), h)
	p.sleepFor(time.Duration(p.programRand.Int64N(int64(20 * s.ttl))))
	p.endLease(ctx, h)
	p.sleepFor(time.Duration(p.programRand.Int64N(int64(s.ttl)))) // its holders still ask it
	s.lessors = slices.DeleteFunc(s.lessors, func(o *holding) bool { return o == h })
}

// lessors is the lessors of the namespace, as the network leads one holder
// to them: mostly to the one it had.
type lessors struct {
	link
	last *holding
}

// lent is the answer of a lessor.
type lent struct {
	wire.Lease
	of  *claim // the lessor's
	err error
}

// lendNode is a request that has reached a lessor.
func (s *sim) lendNode(to *holding, f func(wire.Server) (wire.Lease, error)) lent {
	switch {
	case to.p.dead:
		return lent{err: errUnanswered}
	case to.p.pausedUntil > s.now:
		s.runAt(to.p.pausedUntil, func() { s.lendNode(to, f) })
		return lent{err: errUnanswered}
	}
	l, err := f(to.sublets)
	if err != nil || len(l.Ticket) == 0 {
		return lent{err: err}
	}
	return lent{l, s.noteGrant(to, to.l.Status().Grant), nil}
}

// noteGrant notes of which grant an answer is a part.
func (v *lessors) noteGrant(l lent) (wire.Lease, error) {
	if l.err != nil {
		return wire.Lease{}, l.err
	}
	v.h.parts[l.Grant] = l.of
	return l.Lease, nil
}

// Acquire implements wire.Server.
func (v *lessors) Acquire(ctx context.Context, name string, r wire.Request) (wire.Lease, error) {
	return v.noteGrant(v.askLessor(ctx, "acquire", func(to wire.Server) (wire.Lease, error) {
		return to.Acquire(ctx, name, r)
	}))
}

// askLessor has a lessor do something.
func (v *lessors) askLessor(ctx context.Context, what string, f func(wire.Server) (wire.Lease, error)) (none lent) {
	s, p := v.p.s, v.p
	if v.last == nil || v.last.p.dead || p.programRand.IntN(16) == 0 {
		if len(s.lessors) == 0 {
			return lent{err: errUnanswered}
		}
		v.last = s.lessors[p.programRand.IntN(len(s.lessors))]
	}
	to := v.last
	out, err := v.link.sendRequest(ctx, what, func() any { return s.lendNode(to, f) }, nil)
	if err != nil {
		return lent{err: err}
	}
	return out.(lent)
}

// Renew implements wire.Server.
func (v *lessors) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	l := v.askLessor(ctx, "renew", func(to wire.Server) (wire.Lease, error) {
		return to.Renew(ctx, t, attempt, earlier)
	})
	if errors.Is(l.err, store.ErrLost) {
		v.p.s.loseNode(v.h, said(t).Grant.Node, acked{})
	}
	return v.noteGrant(l)
}

// Release implements wire.Server.
func (v *lessors) Release(ctx context.Context, t wire.Ticket, used int64) error {
	return v.askLessor(ctx, "release", func(to wire.Server) (wire.Lease, error) {
		return wire.Lease{}, to.Release(ctx, t, used)
	}).err
}

// drawServer is whom the hostile client asks: mostly a lessor, where there
// is one.
func (x *hostile) drawServer(v server) wire.Server {
	if n := len(x.s.lessors); n > 0 && x.chance.IntN(4) > 0 {
		if to := x.s.lessors[x.chance.IntN(n)]; !to.p.dead {
			return to.sublets
		}
	}
	return v.leaseServer()
}
