package backfill

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
)

// pastEra is a layout while the namespace had it, with the ticks that it
// may stamp for the past.
type pastEra struct {
	scheme  *snowfence.Scheme
	layout  snowfence.Layout
	numbers int64     // how many reserved ones there are, from 0 up
	first   int64     // first tick
	floor   int64     // first tick after the last
	until   time.Time // of that tick; zero for the present layout
}

// pastEras returns the layouts that make IDs for the past, oldest first.
func pastEras(ns scope.Namespace, s *snowfence.Scheme) ([]pastEra, error) {
	var eras []pastEra
	regions, err := ns.BackfillRegions()
	if err != nil {
		return nil, err
	}
	for _, r := range regions {
		e := pastEra{scheme: s, layout: r.Layout, numbers: r.Last + 1, first: r.From, floor: r.Until}
		if r.Ended {
			e.until = r.Layout.TimeOf(r.Until)
		}
		if !ns.Current(r) {
			if e.scheme, err = snowfence.NewScheme(r.Layout); err != nil {
				return nil, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
			}
		}
		eras = append(eras, e)
	}
	return eras, nil
}

// holds reports whether a time after the layouts before belongs to this
// one.
func (e *pastEra) holds(t time.Time) bool { return e.until.IsZero() || t.Before(e.until) }

// pastSecond is a second of a layout: the ticks that begin in it.
type pastSecond struct {
	era         *pastEra
	second      int64 // since 1900
	first, last int64 // ticks; none if last is lower
}

func (s pastSecond) hour() int64 { return s.second / secondsPerHour }
func (s pastSecond) index() int  { return int(s.second % secondsPerHour) }

// holds reports whether a later time belongs to it too.
func (s pastSecond) holds(t time.Time) bool {
	return t.Unix()+beforeUnix == s.second && s.era.holds(t) // one tick, where it is longer than that
}

// capacity is how many IDs a node makes in it.
func (s pastSecond) capacity() int64 {
	return min((s.last-s.first+1)*s.era.numbers, maxCount)
}

// parts returns the parts of the n-th ID, from 0 up. Tick and number tell
// IDs apart; scatter values only spread them.
func (s pastSecond) parts(n, node int64) snowfence.Parts {
	return snowfence.Parts{
		Tick: s.first + n/s.era.numbers, Node: node, Sequence: n % s.era.numbers,
		Scatter: (s.second + n) & (1<<s.era.layout.Bits(snowfence.FieldScatter) - 1),
	}
}

// slotOf returns the second of a time. Where ticks are longer than a
// second, it is the one in which the tick of that time begins.
func slotOf(eras []pastEra, t, now time.Time) pastSecond {
	e := &eras[0]
	for i := range eras {
		if e = &eras[i]; e.holds(t) {
			break
		}
	}
	unix := t.Unix()
	if e.layout.Tick > time.Second {
		unix = e.layout.TimeOf(e.layout.TickOf(t)).Unix()
	}
	from := e.layout.TickFrom(time.Unix(unix, 0))
	until := e.layout.TickFrom(time.Unix(unix+1, 0))
	return pastSecond{
		era: e, second: unix + beforeUnix,
		first: max(from, e.first), last: min(until, e.floor, e.layout.TickOf(now)+1) - 1,
	}
}

// servable returns why a time gets no ID, whatever its counts say.
func (b *Backfill) servable(ns scope.Namespace, s pastSecond, t, now time.Time) error {
	fail := func(format string, args ...any) error {
		return fault.Invalidf("lease: namespace %q makes no ID of %s: "+format,
			append([]any{b.name, showTime(t)}, args...)...)
	}
	switch l := s.era.layout; {
	case t.After(now):
		return fail("it is %s, and that time is in the future: use a generator for new IDs", showTime(now))
	case t.Before(l.Epoch):
		return fail("the layout %s begins with its epoch: take a later time", l)
	case l.TickOf(t) > s.era.scheme.MaxTick():
		return fmt.Errorf("lease: namespace %q makes no ID of %s: %w: the time of the layout %s ended at %s",
			b.name, showTime(t), snowfence.ErrLifetime, l, showTime(l.EndOfLife()))
	case !s.era.holds(t):
		return fail("the layouts since %s use all sequence numbers: take an earlier time", showTime(s.era.until))
	case b.node >= s.era.scheme.Nodes():
		return fail("its layout then, %s, has the nodes 0 to %d, not %d: take another node",
			l, s.era.scheme.Nodes()-1, b.node)
	case s.hour() >= 1<<hourBits:
		return fail("hours are counted from 1900 to 3813")
	case s.last < s.first:
		return fail("no tick of a layout with reserved numbers begins in that second: take a later one")
	}
	return nil
}
