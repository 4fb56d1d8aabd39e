package audit

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// assemble makes a result of what was counted.
func (a *Auditor) assemble(t *tidy, u *uniform) *Result {
	s := a.survey
	r := &Result{Count: t.n, Distinct: t.distinct}
	r.Duplicates.IDs, r.Duplicates.Extra = t.repeated, t.n-t.distinct
	r.Duplicates.List = []Duplicate{}
	if t.n > 0 {
		r.Lowest, r.Highest = snowfence.ID(s.min^a.flip), snowfence.ID(s.max^a.flip)
	}
	r.Order = a.order()
	r.Gaps = a.gaps(t)
	r.Uniformity = u.result(t.n, &s.serial, &s.ones)
	if a.fields != nil && t.n > 0 {
		r.Fields = a.takenApart(t)
	}
	return r
}

func (a *Auditor) order() Order {
	o := a.survey.words
	if a.fields != nil && a.fields.encrypted {
		o = a.survey.plain
	}
	r := Order{Violations: o.falls, Deepest: o.deepest, List: []Step{}}
	for _, f := range o.list {
		r.List = append(r.List, Step{
			Position: f.at, Before: snowfence.ID(f.before ^ a.flip), ID: snowfence.ID(f.after ^ a.flip),
		})
	}
	return r
}

func (a *Auditor) gaps(t *tidy) Gaps {
	r := Gaps{Count: t.gaps, Missing: t.missing, Largest: []Gap{}}
	for _, g := range t.largest {
		gap := Gap{After: snowfence.ID(g.after ^ a.flip), Before: snowfence.ID(g.before ^ a.flip), Missing: g.missing()}
		if f := a.fields; f != nil && !f.encrypted && !f.foreign(g.before) {
			gap.Time = duration(f.tick(g.before)-f.tick(g.after), f.layout.Tick)
		}
		r.Largest = append(r.Largest, gap)
	}
	for _, g := range t.first {
		r.List = append(r.List, Gap{
			After: snowfence.ID(g.after ^ a.flip), Before: snowfence.ID(g.before ^ a.flip), Missing: g.missing(),
		})
	}
	return r
}

// duration is so many ticks, or the longest one there is.
func duration(ticks uint64, tick time.Duration) time.Duration {
	hi, lo := bits.Mul64(ticks, uint64(tick))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(lo)
}

// takenApart makes the result of the fields.
func (a *Auditor) takenApart(t *tidy) *Fields {
	f := a.fields
	sum := a.survey.tally
	r := &Fields{Layout: f.layout, Foreign: a.survey.foreign}
	at := func(tick uint64) time.Time { return f.layout.TimeOf(int64(min(tick, math.MaxInt64))) }
	if left, right, _, _ := sum.series.used(); right >= 0 {
		x := sum.series.x
		r.Series = Series{
			Start:  at(x.start(left)),
			Width:  duration(1<<x.shift, f.layout.Tick),
			Counts: sum.series.cells[left : right+1],
		}
		r.First, r.Last = at(sum.first), at(sum.last)
	}
	if t.peak.count > 0 {
		r.Peak = &Peak{Start: at(t.peak.key * t.unit), Width: duration(t.unit, f.layout.Tick), Count: t.peak.count}
	}
	if left, right, low, high := sum.heat.used(); right >= 0 {
		x, y := sum.heat.x, sum.heat.y
		r.Heat = Heat{
			Start:     at(x.start(left)),
			Width:     duration(1<<x.shift, f.layout.Tick),
			Node:      int64(y.start(low)),
			NodeWidth: 1 << y.shift,
		}
		for row := low; row <= high; row++ {
			from := row * int(x.bins)
			r.Heat.Counts = append(r.Heat.Counts, sum.heat.cells[from+left:from+right+1])
		}
	}
	r.Sequence = Sequence{
		Highest:  int64(sum.seqMax),
		Last:     f.layout.Last,
		Full:     sum.full,
		Reserved: sum.reserved,
		Width:    1 << sum.seqShift,
		Counts:   sum.seqs,
	}
	r.Nodes = a.nodes(sum)
	return r
}

func (a *Auditor) nodes(sum *tally) Nodes {
	r := Nodes{Of: numbers(a.fields.nodeBits), More: sum.otherNode, List: []NodeCount{}}
	var all []NodeCount
	for node, n := range sum.dense {
		if n > 0 {
			all = append(all, NodeCount{int64(node), n})
		}
	}
	for node, n := range sum.sparse {
		all = append(all, NodeCount{int64(node), n})
	}
	for i, n := range all {
		if i == 0 {
			r.First = n.Node
		}
		r.First, r.Last = min(r.First, n.Node), max(r.Last, n.Node)
	}
	r.Seen = int64(len(all))
	slices.SortFunc(all, func(a, b NodeCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Node, b.Node))
	})
	r.List = append(r.List, all[:min(len(all), a.o.Limit)]...)
	return r
}

// numbers returns how many numbers so many bits hold, at most the highest uint64.
func numbers(bits int) uint64 {
	if bits >= 64 {
		return math.MaxUint64
	}
	return 1 << bits
}
