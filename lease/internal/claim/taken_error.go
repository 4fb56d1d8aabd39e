package claim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// TakenError means that none of the requested nodes is free.
type TakenError struct {
	Namespace string
	Nodes     snowfence.NodeRange // that were asked for: those that can be leased, narrowed by Options.Within
	Fixed     bool                // Options.Node asked for it, and it has a holder that must not lose it
	Block     int                 // how many contiguous nodes were asked for
	Held      int64               // nodes that have a holder
	Vetoed    int64
	Holders   string        // for people: the labels that hold most, at most five; a server may hide them
	NextFree  time.Duration // until the next lease ends if it is not renewed; 0 when not known

	same     bool      // the holder of the fixed node has this lease's label
	guarded  bool      // by Options.Guard
	narrowed bool      // by Options.Within
	whole    bool      // Nodes are all that the layout has
	until    time.Time // of the fixed node
}

func (e *TakenError) Error() string {
	if e.Fixed {
		who := fmt.Sprintf(" by %q", e.Holders)
		if e.same {
			who = " by another process with the same label"
		} else if e.Holders == "" {
			who = ""
		}
		advice := "stop that process, or take another node"
		if e.guarded {
			advice = "stop that process, take another node, or take this one over (without Guard)"
		}
		return fmt.Sprintf("lease: node %d of namespace %q is held%s until %s: %s",
			e.Nodes.From, e.Namespace, who, e.until.Format(time.RFC3339Nano), advice)
	}
	var b strings.Builder
	among := fmt.Sprintf("%d nodes", e.Nodes.Until-e.Nodes.From)
	more := "make more nodes leasable"
	switch {
	case e.whole:
		more = "change to a layout with more node bits"
	case e.narrowed:
		among += fmt.Sprintf(" from %d to %d", e.Nodes.From, e.Nodes.Until-1)
		more += ", or widen Options.Within"
	}
	if e.Block > 1 {
		fmt.Fprintf(&b, "lease: no %d contiguous ones of the %s of namespace %q are free: %d are held",
			e.Block, among, e.Namespace, e.Held)
	} else {
		fmt.Fprintf(&b, "lease: all %s of namespace %q are taken: %d are held", among, e.Namespace, e.Held)
	}
	if e.Holders != "" {
		b.WriteString(" by " + e.Holders)
	}
	if e.Vetoed > 0 {
		fmt.Fprintf(&b, ", %d are vetoed", e.Vetoed)
	}
	if e.NextFree > 0 {
		fmt.Fprintf(&b, "; the next one is free in %v if it is not renewed", e.NextFree.Round(time.Millisecond))
	}
	if e.Held == 0 && e.Vetoed > 0 && e.NextFree == 0 { // waiting does not help
		return b.String() + ": end a veto, or " + more
	}
	return b.String() + ": wait (Options.Wait), stop a holder, or " + more
}

// Unwrap returns [fault.ErrTaken].
func (e *TakenError) Unwrap() error { return fault.ErrTaken }

// maxLabels is how many labels a TakenError names.
const maxLabels = 5

// tally counts the nodes of each holder.
type tally struct {
	held, vetoed int64
	labels       map[string]int
	next         int64 // when the next grant ends; 0 when none is known
}

func (t *tally) count(f *finder, r store.Record) {
	switch {
	case r.Veto != "":
		t.vetoed += f.c.unit
	case r.Held(f.now) && r.Generation >= f.ns.Since:
		t.held += f.c.unit
		t.labels[r.Label]++
		fallthrough
	case r.Until > f.now:
		if t.next == 0 || r.Until < t.next {
			t.next = r.Until
		}
	}
}

// error names the holders of the nodes.
func (t *tally) error(f *finder) *TakenError {
	c := f.c
	e := &TakenError{
		Nodes: f.ns.Nodes, Block: c.Nodes, Held: t.held, Vetoed: t.vetoed,
		Namespace: c.Name, narrowed: c.Within != snowfence.NodeRange{},
		whole: f.ns.Nodes == snowfence.NodeRange{Until: c.Scheme.Nodes()},
	}
	labels := slices.SortedFunc(maps.Keys(t.labels), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.labels[b], t.labels[a]), cmp.Compare(a, b))
	})
	var shown []string
	for _, label := range labels[:min(maxLabels, len(labels))] {
		shown = append(shown, fmt.Sprintf("%s (%d)", fault.Shown(label), t.labels[label]))
	}
	if e.Holders = strings.Join(shown, ", "); len(labels) > maxLabels {
		e.Holders += " and others"
	}
	if t.next > f.now {
		e.NextFree = min(c.Ticks.Layout.TimeOf(t.next).Sub(c.Ticks.Layout.TimeOf(f.now)), 24*time.Hour)
	}
	return e
}
