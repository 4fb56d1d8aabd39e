package lease

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// Owner says who makes the IDs of a region.
type Owner string

// The owners of regions.
const (
	OwnerLeases    Owner = "leases"    // and numbers given by hand of the same layout
	OwnerFunctions Owner = "functions" // functions in a database, see [Operator.RecordFunctions]
	OwnerBackfill  Owner = "backfill"  // see [Backfill]
	OwnerOthers    Owner = "others"    // reserved numbers used by hand or by other libraries, see [Operator.NoteOthers]
)

// Region is a part of a namespace: a set of IDs, and who makes them. A namespace is a list
// of regions. No two of them have an ID in common, unless one is forced.
type Region struct {
	snowfence.Region
	Owner     Owner
	Ended     bool       // its owner has stopped; only a backfill still makes IDs of its times
	Forced    bool       // it may meet earlier regions; later ones are proven against it
	Functions *Functions // which, if functions own it
}

// A record has at most 60,000 bytes, also for other things.
const (
	maxLayouts     = 64
	maxRegions     = 256
	maxRegionBytes = 40_000

	// maxProbes bounds the search for nodes that functions leave to a new layout.
	maxProbes = 1024
)

// maxTick is the last tick of a layout.
func maxTick(l snowfence.Layout) int64 { return int64(1)<<l.Bits(snowfence.FieldTime) - 1 }

// region returns what all nodes of the present layout can make from a tick on, with the numbers
// that generators use.
func (ns Namespace) region(l snowfence.Layout, from int64) Region {
	r := snowfence.Region{
		Layout: l, Nodes: snowfence.NodeRange{Until: nodeCount(l)}, First: l.First, Last: l.Last, From: from,
		Until: maxTick(l) + 1,
	}
	r.Key = ns.key(l)
	return Region{Region: r, Owner: OwnerLeases}
}

// key tells the secrets of the present layout from those of others. Where IDs have the number
// of their secret, the numbers begin anew with each layout.
func (ns Namespace) key(l snowfence.Layout) string {
	switch {
	case l.Cipher == snowfence.Plain:
		return ""
	case ns.Fingerprint != ns.Layout:
		return ns.Fingerprint
	}
	return fmt.Sprint("secrets since generation ", ns.Since)
}

// add adds a region, if it is not empty. This is the only way in: it proves that the region
// meets none of the namespace. Otherwise the error is a [CollisionError] or
// [snowfence.ErrUnproven]. With force the region is added even so, but never if it can meet IDs
// that are yet to come.
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
		if !force || q.Owner == OwnerBackfill || !q.Ended {
			return err
		}
		r.Forced = true
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
		return fmt.Errorf("a namespace remembers %d layouts, %d regions, or %d bytes of them, and it has had that "+
			"many: use another namespace for the new IDs", maxLayouts, maxRegions, maxRegionBytes)
	}
	return nil
}

// each replaces all regions by what f returns of them; empty ones go. The list that was read
// may be remembered by others.
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

// empty reports whether the region has no ID.
func (r Region) empty() bool {
	return r.From >= r.Until || r.First > r.Last || r.Nodes.From >= r.Nodes.Until
}

// ended returns the region as it is when it ends before a tick.
func (r Region) ended(tick int64) Region {
	r.Until, r.Ended = min(tick, r.Until), true
	return r
}

// end ends the present layout before a tick. Functions go on.
func (ns *Namespace) end(tick int64) {
	ns.each(func(r Region) []Region {
		if r.Ended || r.Owner == OwnerFunctions {
			return []Region{r}
		}
		return []Region{r.ended(tick)}
	})
}

// begin adds what a layout makes from the start of the namespace's present one on. With force
// it meets what it meets, and the backfills of earlier layouts end.
func (ns *Namespace) begin(l snowfence.Layout, force bool) error {
	r, ended := ns.region(l, ns.Start), ns.Regions
	err := ns.addLeases(r, false)
	if err == nil {
		err = ns.addReserved(r, false)
	}
	if err == nil || !force {
		return err
	}
	ns.Regions = ended
	ns.each(func(r Region) []Region {
		if r.Owner == OwnerBackfill {
			r.Owner = OwnerOthers
		}
		return []Region{r}
	})
	if err := ns.addLeases(r, true); err != nil {
		return err
	}
	return ns.addReserved(r, true)
}

// addLeases adds the region of leases. Nodes that cannot be leased are left out if
// functions in a database have their IDs.
func (ns *Namespace) addLeases(r Region, force bool) error {
	err := ns.add(r, force)
	if !ofFunctions(err) {
		return err
	}
	leasable := r
	leasable.Nodes = ns.leasable()
	if err := ns.add(leasable, force); err != nil {
		return err
	}
	rest := []snowfence.NodeRange{{Until: ns.First}, {From: ns.Last + 1, Until: r.Nodes.Until}}
	for probes := 1; len(rest) > 0; probes++ {
		r.Nodes, rest = rest[0], rest[1:]
		err := ns.add(r, force)
		switch {
		case err == nil:
			continue
		case !ofFunctions(err) || probes > maxProbes:
			return err
		}
		if from, until := r.Nodes.From, r.Nodes.Until; until-from > 1 {
			middle := from + (until-from)/2
			rest = append(rest, snowfence.NodeRange{From: from, Until: middle},
				snowfence.NodeRange{From: middle, Until: until})
		}
	}
	return nil
}

// ofFunctions reports whether a region meets one of functions in a database.
func ofFunctions(err error) bool {
	var c *CollisionError
	return errors.As(err, &c) && c.Earlier.Owner == OwnerFunctions
}

// addReserved adds the numbers below the first of a layout, for those who use them.
func (ns *Namespace) addReserved(r Region, force bool) error {
	b := r
	b.Owner, b.First, b.Last = OwnerBackfill, 0, min(ns.Reserved.Backfill, r.Layout.First)-1
	if err := ns.add(b, force); err != nil || !ns.Reserved.Others {
		return err
	}
	o := r
	o.Owner, o.First, o.Last = OwnerOthers, ns.Reserved.Backfill, r.Layout.First-1
	return ns.add(o, force)
}

// uncovered returns the first nodes of a range that are in no region of the leases now. There
// are none if it is empty.
func (ns Namespace) uncovered(nodes snowfence.NodeRange) snowfence.NodeRange {
	var covered []snowfence.NodeRange
	for _, r := range ns.Regions {
		if r.Owner == OwnerLeases && !r.Ended {
			covered = append(covered, r.Nodes)
		}
	}
	slices.SortFunc(covered, func(a, b snowfence.NodeRange) int { return cmp.Compare(a.From, b.From) })
	for _, r := range covered {
		if r.From > nodes.From {
			nodes.Until = min(nodes.Until, r.From)
			break
		}
		nodes.From = max(nodes.From, r.Until)
	}
	return nodes
}

// layouts returns the layouts that leases have had, oldest first: each with all nodes and the
// ticks that any of them had. The first region of a layout has its first tick.
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

// History returns the layouts that the namespace had before its present one, oldest first, and
// the ticks that may be in their IDs.
func (ns Namespace) History() []Region {
	return slices.DeleteFunc(ns.layouts(), func(r Region) bool { return !r.Ended })
}

// Times returns the times of the region's ticks: the start of the first, and the end of the last.
func (r Region) Times() (from, until time.Time) {
	return r.Layout.TimeOf(r.From), r.Layout.TimeOf(r.Until)
}

// storedRegion is a region as a record keeps it: its layout is stored once.
type storedRegion struct {
	Owner     Owner      `json:"owner"`
	Layout    int        `json:"layout"` // index
	Key       string     `json:"key,omitempty"`
	Nodes     [2]int64   `json:"nodes"`   // half-open
	Numbers   [2]int64   `json:"numbers"` // both included
	Ticks     [2]int64   `json:"ticks"`   // half-open
	Ended     bool       `json:"ended,omitempty"`
	Forced    bool       `json:"forced,omitempty"`
	Functions *Functions `json:"functions,omitempty"`
}

func storedRegions(rs []Region) (layouts []string, stored []storedRegion) {
	for _, r := range rs {
		spec := r.Layout.String()
		i := slices.Index(layouts, spec)
		if i < 0 {
			i, layouts = len(layouts), append(layouts, spec)
		}
		stored = append(stored, storedRegion{
			r.Owner, i, r.Key,
			[2]int64{r.Nodes.From, r.Nodes.Until},
			[2]int64{r.First, r.Last},
			[2]int64{r.From, r.Until},
			r.Ended, r.Forced, r.Functions,
		})
	}
	return layouts, stored
}

func readRegions(specs []string, stored []storedRegion) ([]Region, error) {
	layouts := make([]snowfence.Layout, len(specs))
	for i, spec := range specs {
		var err error
		if layouts[i], err = snowfence.ParseLayout(spec); err != nil {
			return nil, err
		}
	}
	var out []Region
	for _, s := range stored {
		if s.Layout < 0 || s.Layout >= len(layouts) {
			return nil, fmt.Errorf("a region has the layout %d of %d", s.Layout, len(layouts))
		}
		out = append(out, Region{
			Region: snowfence.Region{
				Layout: layouts[s.Layout], Key: s.Key, Nodes: snowfence.NodeRange{From: s.Nodes[0], Until: s.Nodes[1]},
				First: s.Numbers[0], Last: s.Numbers[1], From: s.Ticks[0], Until: s.Ticks[1],
			},
			Owner: s.Owner, Ended: s.Ended, Forced: s.Forced, Functions: s.Functions,
		})
	}
	return out, nil
}
