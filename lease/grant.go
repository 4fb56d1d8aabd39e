package lease

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// ticks turns times into the ticks of a layout. All arithmetic on floors and grants is here.
type ticks struct {
	layout  snowfence.Layout
	maxTick int64
	ttl     time.Duration
}

// target returns the tick up to which a lease written now reaches: one ttl ahead, and at
// least one tick where ticks are longer than that.
func (t ticks) target(now time.Time) int64 {
	return max(t.layout.TickOf(now.Add(t.ttl)), t.layout.TickOf(now)+1)
}

// back returns the first tick that a grant made now wants, one ttl back for a clock
// that steps back. Older ticks stay ungranted, so that a node can be restored.
func (t ticks) back(now time.Time) int64 { return t.layout.TickOf(now.Add(-t.ttl)) }

// floorOf returns the first tick that a grant from r may have.
func floorOf(ns Namespace, r store.Record) int64 {
	f := ns.Floor
	if r.Nonce != "" && r.Generation >= ns.Since {
		f = max(f, r.Until)
	}
	return f
}

// skip returns the first tick from tick on that is not used up ahead, and how far one may
// go from there; 0 means any distance.
func skip(r store.Record, tick int64) (from, limit int64) {
	switch {
	case r.SkipUntil == 0 || tick >= r.SkipUntil:
		return tick, 0
	case tick >= r.SkipFrom:
		return r.SkipUntil, 0
	}
	return tick, r.SkipFrom
}

// grant returns the window [from, until) that the records of a block may be granted at time now.
func (t ticks) grant(ns Namespace, rs []store.Record, now time.Time) (from, until int64, err error) {
	from = max(0, t.back(now))
	for _, r := range rs {
		from = max(from, floorOf(ns, r))
	}
	for range rs { // skipped ranges of two records may overlap
		for _, r := range rs {
			var limit int64
			if from, limit = skip(r, from); limit > 0 && limit <= t.layout.TickOf(now) {
				from = r.SkipUntil // what is left below it is in the past
			}
		}
	}
	if from > t.maxTick {
		return 0, 0, fmt.Errorf("lease: node %d: %w: its ticks are used up", rs[0].Node, snowfence.ErrLifetime)
	}
	until = min(max(from+1, t.target(now)), t.maxTick+1)
	for _, r := range rs {
		if _, limit := skip(r, from); limit > 0 {
			until = min(until, limit)
		}
	}
	return from, until, nil
}

// lapsed reports whether a new grant of rs begins at time now, in
// place of a renewal. Either the old one ended long ago, and the
// ticks between stay provably unused, or it ends at skipped ticks.
func (t ticks) lapsed(rs []store.Record, now time.Time) bool {
	for _, r := range rs {
		if t.back(now) > r.Until || r.SkipUntil > 0 && r.Until <= r.SkipFrom && r.SkipFrom <= t.layout.TickOf(now) {
			return true
		}
	}
	return false
}

// renewal returns the until of a grant from rs that is renewed at time now.
func (t ticks) renewal(rs []store.Record, now time.Time) int64 {
	until := t.target(now)
	for _, r := range rs {
		until = max(until, r.Until)
	}
	until = min(until, t.maxTick+1)
	for _, r := range rs {
		if r.SkipUntil > 0 && r.Until <= r.SkipFrom {
			until = min(until, r.SkipFrom)
		}
	}
	return until
}

// granted returns r as it is written when [from, until) is granted out of it.
func granted(ns Namespace, r store.Record, from, until int64) store.Record {
	f := floorOf(ns, r)
	if r.Nonce == "" || r.Generation < ns.Since {
		r.From, r.PrevUntil, r.SkipFrom, r.SkipUntil = f, f, 0, 0
	}
	if from > f {
		r.From, r.PrevUntil = from, f
	}
	r.Until = until
	return r
}
