package scope

import (
	"cmp"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
)

// The least and the greatest ttl of a lease.
const (
	MinTTL = 10 * time.Millisecond
	MaxTTL = 24 * time.Hour
)

// limits say how far ahead of the true time a lease of a namespace may use
// ticks: a ttl by its own clock, which may be off by the skew.
type limits struct{ ttl, skew time.Duration }

// limits returns those that hold at time now. Larger ones from before a
// change hold until the grants of that time have ended.
func (ns Namespace) limits(now time.Time) limits {
	l := limits{ns.MaxTTL, ns.MaxSkew}
	if b := ns.before; now.UnixMilli() < b.Ends {
		l.ttl, l.skew = max(l.ttl, b.MaxTTL), max(l.skew, b.MaxSkew)
	}
	return l
}

// rollback returns how long grants can be used after a store was rolled
// back. If a program notices, new grants start later than that; else an
// operator must wait so long. It has the skew twice: the clock of the last
// holder may be ahead, and the clock that decides may be behind.
func (l limits) rollback() time.Duration { return l.ttl + 2*l.skew }

// limit replaces the limits that o names.
//
// Invariant: the limits never fall below the need of earlier grants: larger
// ones hold for a while.
func (ns *Namespace) limit(o NamespaceOptions, now time.Time) error {
	next := limits{cmp.Or(o.MaxTTL, ns.MaxTTL), cmp.Or(o.MaxSkew, ns.MaxSkew)}
	if err := next.check(); err != nil {
		return fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	if next.ttl < ns.MaxTTL || next.skew < ns.MaxSkew {
		most := ns.limits(now)
		ns.before = lowered{most.ttl, most.skew, now.Add(most.rollback()).UnixMilli()}
	}
	ns.MaxTTL, ns.MaxSkew = next.ttl, next.skew
	return nil
}

func (l limits) check() error {
	if l.ttl < MinTTL || l.ttl > MaxTTL {
		return fault.Invalidf("the longest ttl is %v; it must be from %v to %v", l.ttl, MinTTL, MaxTTL)
	}
	if l.skew < time.Millisecond || l.skew > MaxTTL {
		return fault.Invalidf("the largest skew is %v; it must be from 1ms to %v", l.skew, MaxTTL)
	}
	return nil
}

// above returns the first tick that no holder can have used before now,
// however the store was rolled back: above the reach of a fast clock, seen
// from a slow one.
func (ns Namespace) above(l snowfence.Layout, now time.Time) int64 {
	return max(l.TickOf(now.Add(ns.limits(now).rollback())), 0) + 3
}

// raise has grants begin above everything that can have been used before
// now, in a store that may have lost writes and has this identity. The
// caller begins another generation.
func (ns *Namespace) raise(now time.Time, id string) {
	ns.Floor = max(ns.Floor, ns.above(ns.Layout, now))
	ns.Identity = id
	ns.rolledBack(now)
}

// DefaultTTL is the value of Options.TTL and of Options.MaxSkew if they are
// 0 and the namespace allows so much.
const DefaultTTL = 15 * time.Second
