package claim

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Ticks turns times into the ticks of a layout, and computes the ends of
// grants.
type Ticks struct {
	Layout  snowfence.Layout
	MaxTick int64
	TTL     time.Duration
}

// Target returns the tick up to which a lease written now reaches: one ttl
// ahead, and at least one tick where ticks are longer than that.
func (t Ticks) Target(now time.Time) int64 {
	return max(t.Layout.TickOf(now.Add(t.TTL)), t.Layout.TickOf(now)+1)
}

// Back returns the first tick that a grant made now wants, one ttl back for
// a clock that steps back.
func (t Ticks) Back(now time.Time) int64 { return t.Layout.TickOf(now.Add(-t.TTL)) }

// grant returns the window [from, until) that the records of a block may be
// granted at time now.
func (t Ticks) grant(ns scope.Namespace, rs []store.Record, now time.Time) (from, until int64, err error) {
	from = max(0, t.Back(now))
	for _, r := range rs {
		from = max(from, ns.FloorOf(r))
	}
	if from > t.MaxTick {
		return 0, 0, fmt.Errorf("lease: node %d: %w: its ticks are used up", rs[0].Node, snowfence.ErrLifetime)
	}
	return from, min(max(from+1, t.Target(now)), t.MaxTick+1), nil
}

// lapsed reports whether the old grant of rs ended more than a ttl ago.
// Then a new one begins, and leaves out the ticks between.
func (t Ticks) lapsed(rs []store.Record, now time.Time) bool {
	return slices.ContainsFunc(rs, func(r store.Record) bool { return t.Back(now) > r.Until })
}

// renewal returns the until of a grant from rs that is renewed at time now.
func (t Ticks) renewal(rs []store.Record, now time.Time) int64 {
	until := t.Target(now)
	for _, r := range rs {
		until = max(until, r.Until)
	}
	return min(until, t.MaxTick+1)
}

// granted returns the record r with the grant [from, until). Its From moves
// only if the grant leaves a gap after r.Until, or r is of an earlier
// layout or unit: the present one began in generation ns.Since. So From is
// that of the first grant without a gap, and not always of this one.
func granted(ns scope.Namespace, r store.Record, from, until int64) store.Record {
	if r.Nonce == "" || r.Generation < ns.Since || from > r.Until {
		r.From = from
	}
	r.Until = until
	return r
}
