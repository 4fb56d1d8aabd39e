package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// next returns the namespace as it will be after
// a change of layout, or why that is refused.
func (c NamespaceChange) next(ctx context.Context, st Store, ns Namespace, now time.Time) (Namespace, error) {
	if c.keepsLayout(ns) {
		return c.renode(ns, now)
	}
	old, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	floor, err := highest(ctx, st, ns)
	if err != nil {
		return Namespace{}, err
	}
	id, err := st.Identity(ctx, ns.Name)
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: reading the store's identity: %w", err)
	}
	if id != ns.Identity { // it lost grants, and nobody has raised the floor yet
		floor = max(floor, old.TickOf(now.Add(2*max(ns.LongestTTL, usualReach)))+1)
	}
	layout := c.Scheme.Layout()
	refuse := func(err error) (Namespace, error) {
		err = fmt.Errorf("lease: namespace %q keeps its layout %s: the change to %s is refused: %w",
			ns.Name, old, layout, err)
		return Namespace{}, marked{err, ErrRefused}
	}
	if old.Equal(layout) && !c.Force {
		err := errors.New("it has this layout with another secret, " +
			"and IDs of two secrets can be equal: use another namespace")
		return refuse(err)
	}
	next := ns
	if next.First, next.Last, err = c.nodes(ns, old, layout); err != nil {
		return Namespace{}, err
	}
	if err := ns.meetsSQL(layout, next.leasable(), time.Time{}); err != nil {
		return refuse(err)
	}
	if reserves(ns, old) {
		unused, err := c.afterUnused(old, now)
		if err != nil {
			return refuse(err)
		}
		floor = max(floor, unused)
	}
	if ns.Reserved.Past > 0 { // each time belongs to the layout of that time
		floor = max(floor, old.TickOf(now)+1, tickAtOrAfter(old, time.UnixMilli(ns.Reserved.Until)))
	}
	at := old.TimeOf(floor)
	start := layout.TickOf(at)
	if layout.TimeOf(start).Before(at) {
		start++ // upward
	}
	start = max(start, 0)
	if start > c.Scheme.MaxTick() {
		return refuse(fmt.Errorf("%w: it would have no tick left at %s", snowfence.ErrLifetime, at))
	}
	switch err := ns.prove(layout, start, floor); {
	case err != nil && !c.Force:
		return refuse(err)
	case err != nil && ns.Reserved.Past > 0:
		next.Reserved.Since = layout.TimeOf(start).UnixMilli() + 1
	}
	if ns.Past != nil || ns.Since == 1 {
		next.Past = remembered(ns.Past, ns.present(floor), ns.Reserved.Past > 0)
	}
	if err := fits(next.Past, next.SQL); err != nil {
		return refuse(err)
	}
	next.Layout, next.Fingerprint, next.Identity = layout.String(), c.Scheme.Fingerprint(), id
	if ns.Identity != id {
		next.rolledBack(now)
	}
	next.Start, next.Floor, next.Since = start, start, ns.Generation+1
	if !old.Equal(layout) {
		next.Keys = nil // the numbers of secrets begin anew with the layout
	}
	if next.Keys, _, err = next.rotated(c.Scheme, true); err != nil {
		return refuse(err)
	}
	return next, nil
}

// PastLayout is a layout that a namespace had, and its ticks
// that may be in IDs. All its nodes count: [Options].Node and
// numbers given by hand reach nodes that could not be leased.
type PastLayout struct {
	Layout string `json:"layout"`        // spec
	Key    string `json:"key,omitempty"` // of an encrypted layout: its fingerprint
	Start  int64  `json:"start"`         // first tick
	Floor  int64  `json:"floor"`         // first tick after the last
}

// Bounds of what a namespace remembers. A record
// has at most 60,000 bytes, also for other things.
const (
	maxPast      = 64
	maxPastBytes = 40_000
)

var errPastUnknown = errors.New("an earlier version changed its layout and kept no record of the layouts before, " +
	"so nothing can be proven: use another namespace for the new IDs")

// present is the layout of the namespace, as a past one with ticks below floor.
func (n Namespace) present(floor int64) PastLayout {
	p := PastLayout{Layout: n.Layout, Start: n.Start, Floor: floor}
	if n.Fingerprint != n.Layout {
		p.Key = n.Fingerprint
	}
	return p
}

// Era returns the layout and the times of its ticks.
func (p PastLayout) Era() (snowfence.Era, error) {
	l, err := snowfence.ParseLayout(p.Layout)
	if err != nil {
		return snowfence.Era{}, err
	}
	e := snowfence.Era{Layout: l, From: l.TimeOf(p.Start), Until: l.TimeOf(p.Floor)}
	if l.TickOf(e.Until) != p.Floor { // times end there, and the proof would miss ticks
		return e, fmt.Errorf("tick %d of the layout %s lies after the year 9998: nothing can be proven of it",
			p.Floor, p.Layout)
	}
	return e, nil
}

// touches reports whether both are the same layout, and their ticks
// overlap or follow each other. Then one entry says the same as the two.
func (p PastLayout) touches(q PastLayout) bool {
	return p.Layout == q.Layout && p.Key == q.Key && p.Start <= q.Floor && q.Start <= p.Floor
}

// remembered returns the past with one more layout. It loses no tick
// that may be in an ID: an entry is dropped only for one that covers it.
//
// counted says that [Past] makes IDs. It numbers the ticks of a second from the start of
// an entry on, so none is joined. Of the first layout it also uses earlier ticks.
func remembered(past []PastLayout, p PastLayout, counted bool) []PastLayout {
	out := []PastLayout{} // not nil, which would mean that the past is not known
	for _, q := range past {
		if !counted && p.touches(q) {
			p.Start, p.Floor = min(p.Start, q.Start), max(p.Floor, q.Floor)
		} else {
			out = append(out, q)
		}
	}
	if counted && len(out) == 0 {
		return append(out, p) // earlier ticks of it may be in IDs
	}
	if p.Floor <= p.Start {
		return out // nothing was made with it
	}
	return append(out, p)
}

// fits reports why the namespace cannot remember so much.
func fits(past []PastLayout, sql []SQLNode) error {
	size := 0
	for _, p := range past {
		size += len(p.Layout) + len(p.Key)
	}
	for _, q := range sql {
		size += len(q.Layout) + len(q.Label)
	}
	if len(sql) > maxSQL {
		return fmt.Errorf("a namespace remembers %d nodes of functions in databases, and it has had that many: "+
			"use another namespace", maxSQL)
	}
	if len(past) > maxPast || size > maxPastBytes {
		return fmt.Errorf("a namespace remembers %d layouts, or %d bytes of them, and it has had that many: "+
			"use another namespace for the new IDs", maxPast, maxPastBytes)
	}
	return nil
}

// prove returns an error if an ID of a layout from a tick on can equal an earlier
// one: of the present layout with ticks below floor, or of any before it.
func (n Namespace) prove(to snowfence.Layout, start, floor int64) error {
	if n.Past == nil && n.Since > 1 {
		return errPastUnknown
	}
	all := append([]PastLayout{n.present(floor)}, n.Past...)
	for _, q := range n.SQL {
		if q.Retired > 0 { // its layout went on after the namespace had another one
			all = append(all, PastLayout{Layout: q.Layout, Start: q.Start, Floor: q.Retired})
		}
	}
	eras := make([]snowfence.Era, len(all))
	for i, p := range all {
		var err error
		if eras[i], err = p.Era(); err != nil {
			return err
		}
		eras[i].Reserved = n.Reserved.used()
	}
	now := eras[0]
	change := snowfence.Change{
		From: now.Layout, Since: now.From, Floor: now.Until, To: to, At: to.TimeOf(start), Past: eras[1:],
		FromReserved: now.Reserved, ToReserved: now.Reserved,
	}
	v, err := change.Check()
	if err != nil {
		return err
	}
	if v.Collision != nil {
		return &CollisionError{n.Name, change, v}
	}
	return nil
}
