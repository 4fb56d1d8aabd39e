package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
)

// long is what a run has of long ttls.
type long struct {
	ttl   time.Duration // the longest; 0 in runs whose namespace never has a long range
	ever  []lease.Long  // ranges that the namespace had, the present one last
	saved lease.Long    // the range in the backup
}

// lengthen decides whether the namespace has a long range at times, and which slots ask for long
// ttls. Its choices are its own, so that runs without one are as before.
func (s *sim) lengthen() {
	chance := rand.New(rand.NewPCG(s.plan.Seed, 11))
	if chance.IntN(8) > 0 && !s.plan.long {
		return
	}
	s.long.ttl = s.ttl * time.Duration([]int{3, 10, 40}[chance.IntN(3)])
	s.rates[faultLong] = 150
	var more int64
	for _, sl := range s.slots {
		if sl.long = chance.IntN(2) == 0; sl.long {
			more += int64(max(sl.nodes, int(s.unit)) * sl.leases)
		}
	}
	s.last = min(s.last+1+more+chance.Int64N(4), s.schemes[0].Nodes())/s.unit*s.unit - 1
}

// drawLong returns a long range as an operator may want it; at times none.
func (s *sim) drawLong(chance *rand.Rand) *lease.Long {
	step := s.unit
	for _, sl := range s.slots {
		step = max(step, int64(sl.nodes))
	}
	at := (s.first + step - 1) / step * step
	blocks := (s.last + 1 - at) / step
	if blocks < 2 || chance.IntN(4) == 0 {
		return &lease.Long{}
	}
	return &lease.Long{
		First: at + (1+chance.Int64N(blocks-1))*step, MaxTTL: s.long.ttl / time.Duration(1+chance.IntN(4)/3),
	}
}

// ranges has the operator make, move and end the long range a few times, one soon after the other.
func (s *sim) ranges() {
	p := s.operator
	for range 1 + p.own.IntN(3) {
		ctx, cancel := p.WithTimeout(world.With(context.Background(), p), 4*s.ttl)
		o := &lease.NamespaceOptions{Long: s.drawLong(p.own)}
		_, _ = lease.Namespaces(link{p: p}).Change(ctx, namespace, nil, o)
		cancel()
		p.sleep(time.Duration(p.own.Int64N(int64(2 * s.ttl))))
	}
}

// ranged sees whether a write to the namespace changed its long range. A backup from before a
// larger one is of no use: nothing in it knows of the grants that the larger one allows.
func (s *sim) ranged(ns lease.Namespace) {
	l := ns.Long
	l.Floor = 0
	if n := len(s.long.ever); n > 0 && s.long.ever[n-1] == l || n == 0 && l == (lease.Long{}) {
		return
	}
	s.long.ever = append(s.long.ever, l)
	s.trace("the long range is now: %s", l)
	if b := s.long.saved; l.MaxTTL > b.MaxTTL || l.MaxTTL > 0 && l.First < b.First {
		s.save()
	}
}

// ttlOf returns the longest ttl that leases of a node ever had.
func (s *sim) ttlOf(node int64) time.Duration {
	ttl := s.ttl
	for _, l := range s.long.ever {
		if node >= l.First {
			ttl = max(ttl, l.MaxTTL)
		}
	}
	return ttl
}

// lastShort is the last node that leases without a long ttl may have now.
func (s *sim) lastShort() int64 {
	if n := len(s.long.ever); n > 0 && s.long.ever[n-1].MaxTTL > 0 {
		return s.long.ever[n-1].First - 1
	}
	return s.last
}

// shorter reports whether a lease with a long ttl is refused, so that a shorter one may be had.
func shorter(err error) bool {
	return errors.Is(err, lease.ErrTaken) || errors.Is(err, lease.ErrInvalid)
}
