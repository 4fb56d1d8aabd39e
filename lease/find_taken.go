package lease

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// taken returns the error that says who has the nodes.
func (f *finder) taken(ctx context.Context) error {
	c := f.c
	e := &TakenError{
		Namespace: c.name, Nodes: f.ns.leasable(), Block: c.opts.Nodes,
		Within: c.opts.Within, Refused: int64(len(c.refused)), Cause: f.check,
	}
	labels := map[string]int{}
	next := int64(-1)
	for r, err := range f.records(ctx) {
		switch {
		case err != nil:
			return fmt.Errorf("lease: no node of namespace %q is free, and who holds them cannot be read: %w",
				c.name, err)
		case c.refused[r.Node] != nil: // counted already
		case r.Veto != "":
			e.Refused++
		case r.Held(f.now) && r.Generation >= f.ns.Since:
			e.Held++
			labels[r.Label]++
			fallthrough
		case r.Until > f.now:
			if next < 0 || r.Until < next {
				next = r.Until
			}
		}
	}
	for _, label := range slices.SortedFunc(maps.Keys(labels), func(a, b string) int {
		return cmp.Or(cmp.Compare(labels[b], labels[a]), cmp.Compare(a, b))
	})[:min(maxLabels, len(labels))] {
		e.Labels = append(e.Labels, LabelCount{label, labels[label]})
	}
	if next > f.now {
		e.NextFree = min(c.ticks.layout.TimeOf(next).Sub(c.ticks.layout.TimeOf(f.now)), 24*time.Hour)
	}
	return e
}
