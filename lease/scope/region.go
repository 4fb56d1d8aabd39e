package scope

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// OwnerLeases is the owner of the regions of leases. Of the others a tool
// shows the text.
const (
	OwnerLeases    = "leases"    // leases, and node numbers given by hand, of one layout
	ownerFunctions = "functions" // functions in a database, see [Operator.RecordFunctions]
	ownerBackfill  = "backfill"  // IDs for the past, see [Operator.AllowBackfill]
	ownerOthers    = "others"    // reserved numbers used by hand or by other libraries, see [Operator.NoteOthers]
)

// Region is a part of a namespace: a set of IDs, and its owner. A namespace
// is a list of regions. No two of them have an ID in common, unless an
// operator forced a change.
type Region struct {
	snowfence.Region
	Owner     string     // who makes its IDs: "leases", "functions", "backfill" or "others"
	Ended     bool       // its owner has stopped; only a backfill still makes IDs of its times
	Functions *Functions // which, if functions own it
}

// empty reports whether the region has no ID.
func (r Region) empty() bool {
	return r.From >= r.Until || r.First > r.Last || r.Nodes.From >= r.Nodes.Until
}

// ended returns the region, cut at a tick.
func (r Region) ended(tick int64) Region {
	r.Until, r.Ended = min(tick, r.Until), true
	return r
}

// A record has at most 60,000 bytes, also for other things.
const (
	maxLayouts     = 64
	maxRegions     = 256
	maxRegionBytes = 40_000
)

// end ends the present layout before a tick. Functions go on.
func (ns *Namespace) end(tick int64) {
	ns.each(func(r Region) []Region {
		if r.Ended || r.Owner == ownerFunctions {
			return []Region{r}
		}
		return []Region{r.ended(tick)}
	})
}

// each replaces each region by its result of f, and drops empty ones. The
// list that was read may be remembered by others.
func (ns *Namespace) each(f func(Region) []Region) {
	var out []Region
	for _, r := range ns.Regions {
		for _, part := range f(r) {
			if !part.empty() {
				out = append(out, part)
			}
		}
	}
	ns.Regions = out
}

// begin adds the IDs of a layout from the start of the namespace's present
// one on. With force it may meet other regions, and the backfills of
// earlier layouts end. unused says that no process uses numbers given by
// hand.
func (ns *Namespace) begin(l snowfence.Layout, force, unused bool) error {
	r, ended := ns.region(l, ns.Start), ns.Regions
	err := ns.addLeases(r, false, unused)
	if err == nil {
		err = ns.addReserved(r, false)
	}
	if err == nil || !force {
		return err
	}
	ns.Regions = ended
	ns.each(func(r Region) []Region {
		if r.Owner == ownerBackfill {
			r.Owner = ownerOthers
		}
		return []Region{r}
	})
	if err := ns.addLeases(r, true, unused); err != nil {
		return err
	}
	return ns.addReserved(r, true)
}

// region returns the IDs that generators on all nodes of the present layout
// can make from a tick on.
func (ns Namespace) region(l snowfence.Layout, from int64) Region {
	r := snowfence.Region{
		Layout: l, Nodes: snowfence.NodeRange{Until: nodeCount(l)}, First: l.First, Last: l.Last, From: from,
		Until: maxTick(l) + 1,
	}
	r.Key = ns.key(l)
	return Region{Region: r, Owner: OwnerLeases}
}

// key tells the secrets of the present layout from the others. Where IDs
// have the number of their secret, the numbers begin anew with each layout.
func (ns Namespace) key(l snowfence.Layout) string {
	switch {
	case l.Cipher == snowfence.Plain:
		return ""
	case ns.Fingerprint != ns.Layout.String():
		return ns.Fingerprint
	}
	for _, r := range ns.Regions { // another unit begins another generation, with the same secrets
		if r.Owner == OwnerLeases && !r.Ended && r.Layout.Equal(l) {
			return r.Key
		}
	}
	return fmt.Sprint("secrets since generation ", ns.Since)
}

// addLeases adds the region of leases. Beside functions in a database it
// has only the leasable nodes, and only if nobody uses the others.
func (ns *Namespace) addLeases(r Region, force, unused bool) error {
	whole := ns.add(r, force)
	if !ofFunctions(whole) {
		return whole
	}
	r.Nodes = ns.Nodes
	if err := ns.add(r, force); err != nil || unused {
		return err
	}
	return fmt.Errorf("%w, or give the time (unused) from which no process uses the nodes that you leave out: %s",
		whole, rangesText(ns.Uncovered()))
}

// add adds a region, if it is not empty. This is the only way in: it proves
// that the region meets none of the namespace. Otherwise the error is a
// [CollisionError] or [snowfence.ErrUnproven]. With force the region is
// added even so, but never if it can meet IDs that are yet to come.
func (ns *Namespace) add(r Region, force bool) error {
	if r.empty() {
		return nil
	}
	for _, q := range ns.Regions {
		x, err := snowfence.Meet(q.Region, r.Region)
		switch {
		case x != nil:
			err = &CollisionError{q, r, *x}
		case err == nil:
			continue
		case !errors.Is(err, snowfence.ErrUnproven):
			return err
		}
		if !force || q.Owner == ownerBackfill || !q.Ended {
			return err
		}
	}
	ns.Regions = append(slices.Clip(ns.Regions), r)
	return ns.fits()
}

// fits reports why the namespace cannot remember so much.
func (ns Namespace) fits() error {
	layouts, regions := storedRegions(ns.Regions)
	data, err := json.Marshal([]any{layouts, regions})
	if err != nil {
		return err
	}
	if len(layouts) > maxLayouts || len(regions) > maxRegions || len(data) > maxRegionBytes {
		return fmt.Errorf("a namespace remembers at most %d layouts, %d regions and %d bytes of them, and this one is "+
			"full: use another namespace for the new IDs", maxLayouts, maxRegions, maxRegionBytes)
	}
	return nil
}

// addReserved adds the numbers below the first of a layout, for their
// users.
func (ns *Namespace) addReserved(r Region, force bool) error {
	b := r
	b.Owner, b.First, b.Last = ownerBackfill, 0, min(ns.Backfill, r.Layout.First)-1
	if err := ns.add(b, force); err != nil || !ns.Others {
		return err
	}
	o := r
	o.Owner, o.First, o.Last = ownerOthers, ns.Backfill, r.Layout.First-1
	return ns.add(o, force)
}

// Uncovered returns the nodes of the layout that no region has now: nobody
// may make IDs with them, not even with a number given by hand. A wider
// range of leasable nodes covers them, once no ID can come twice.
func (ns Namespace) Uncovered() []snowfence.NodeRange {
	return ns.uncovered(snowfence.NodeRange{Until: nodeCount(ns.Layout)}, OwnerLeases, ownerFunctions)
}

// uncovered returns the nodes of a range that none of the owners has now.
func (ns Namespace) uncovered(nodes snowfence.NodeRange, owners ...string) (out []snowfence.NodeRange) {
	var covered []snowfence.NodeRange
	for _, r := range ns.Regions {
		if slices.Contains(owners, r.Owner) && !r.Ended && r.Layout.Equal(ns.Layout) {
			covered = append(covered, r.Nodes)
		}
	}
	slices.SortFunc(covered, func(a, b snowfence.NodeRange) int { return cmp.Compare(a.From, b.From) })
	for _, r := range append(covered, snowfence.NodeRange{From: nodes.Until, Until: nodes.Until}) {
		if until := min(r.From, nodes.Until); nodes.From < until {
			out = append(out, snowfence.NodeRange{From: nodes.From, Until: until})
		}
		nodes.From = max(nodes.From, r.Until)
	}
	return out
}

// rangesText names nodes for people.
func rangesText(all []snowfence.NodeRange) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = fmt.Sprintf("%d to %d", r.From, r.Until-1)
	}
	return strings.Join(texts, ", ")
}

// History returns the layouts that the namespace had before its present
// one, oldest first, and the ticks that may be in their IDs.
func (ns Namespace) History() []Region {
	return slices.DeleteFunc(ns.layouts(), func(r Region) bool { return !r.Ended })
}

// layouts returns the layouts that leases have had, oldest first: each with
// all nodes and the ticks that any of them had. The first region of a
// layout has its first tick.
func (ns Namespace) layouts() (all []Region) {
next:
	for _, r := range ns.Regions {
		if r.Owner != OwnerLeases {
			continue
		}
		r.Nodes = snowfence.NodeRange{Until: nodeCount(r.Layout)}
		for i := range all {
			q := &all[i]
			if q.Layout.Equal(r.Layout) && q.Key == r.Key && r.From <= q.Until {
				q.Until, q.Ended = max(q.Until, r.Until), q.Ended && r.Ended
				continue next
			}
		}
		all = append(all, r)
	}
	return all
}

// CollisionError means that a change of a namespace is refused, because a
// new region can make an ID that an earlier one can.
type CollisionError struct {
	Earlier, Later Region
	Collision      snowfence.Collision // From has the parts in the earlier region
}

func (e *CollisionError) Error() string {
	x, q := e.Collision, e.Earlier
	use := "in use"
	if q.Ended {
		use += " until " + q.Layout.TimeOf(q.Until).Format(time.RFC3339Nano)
	}
	text := fmt.Sprintf("ID %d can be made by both: as tick %d of node %d of the layout %s (%s, %s), "+
		"and as tick %d of node %d of the layout %s (%s)",
		int64(x.ID), x.From.Tick, x.From.Node, q.Layout, q.Owner, use, x.To.Tick, x.To.Node, e.Later.Layout,
		e.Later.Owner)
	if f := q.Functions; f != nil && !q.Ended && e.Later.Owner == OwnerLeases {
		text += fmt.Sprintf(": functions in a database make the IDs of node %d (%s): drop them and retire the node "+
			"first", q.Nodes.From, f.database())
	}
	return text
}
