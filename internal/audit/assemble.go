package audit

import (
	"math"
	"time"

	"github.com/snowfence/snowfence"
)

// assemble makes a result of what was counted.
func (a *Auditor) assemble(t *tidy, e *evenness) *Result {
	s := a.survey
	r := &Result{Count: t.n, Distinct: t.distinct, Order: a.order(), Gaps: a.gaps(t), Evenness: []Evenness{}}
	r.Duplicates = Duplicates{IDs: t.repeats, Extra: t.n - t.distinct, List: []Duplicate{}}
	if t.n > 0 {
		r.Lowest, r.Highest = snowfence.ID(s.min^a.flip), snowfence.ID(s.max^a.flip)
	}
	if e != nil {
		r.Evenness = e.result(t.n)
	}
	if a.fields != nil && t.n > 0 {
		r.Fields = a.takenApart()
	}
	return r
}

func (a *Auditor) order() Order {
	o := a.survey.words
	if a.fields != nil && (a.fields.plain != nil || a.fields.above) {
		o = a.survey.plain
	}
	r := Order{Violations: o.falls, List: []Step{}}
	for _, f := range o.list {
		r.List = append(r.List, Step{
			Position: f.at, Before: snowfence.ID(f.before ^ a.flip), ID: snowfence.ID(f.after ^ a.flip),
		})
	}
	return r
}

func (a *Auditor) gaps(t *tidy) Gaps {
	r := Gaps{Count: t.gaps, Missing: t.missing}
	for _, g := range t.first {
		r.List = append(r.List, Gap{snowfence.ID(g.after ^ a.flip), snowfence.ID(g.before ^ a.flip), g.missing()})
	}
	return r
}

// takenApart makes the result of the fields.
func (a *Auditor) takenApart() *Fields {
	l, sum := a.fields.layout, a.survey.tally
	r := &Fields{Layout: l, Foreign: a.survey.foreign, Nodes: sum.result(), Sequence: int64(sum.seqMax)}
	if sum.first <= sum.last {
		at := func(tick uint64) time.Time { return l.TimeOf(int64(min(tick, math.MaxInt64))) }
		r.First, r.Last = at(sum.first), at(sum.last)
	}
	return r
}
