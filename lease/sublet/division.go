package sublet

import (
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/claim"
)

// division is a grant that is handed out node by node, from memory: the
// rules of subleases, and nothing more. It starts no goroutine and has no
// mutex: one call at a time. Nothing in it has to survive: the next holder
// of the nodes starts at the end of the grant.
//
// Invariant: the subleases of a node lie inside the grant that the lease
// published, and none begins below the end of the one before.
// docs/prove/argument.md follows the rules.
type division struct {
	grant  snowfence.Grant
	slots  []slot // one for each node
	next   int    // where to look for a free node
	serial int64  // of the last answer; it rises with each
}

// slot is a node of the grant, with its present sublease or the last one.
type slot struct {
	from, until int64  // of the sublease: the next one begins at until
	tenancy     int64  // serial of its first answer; 0 while the node has no holder
	serial      int64  // of its last answer
	attempt     string // that this one answered
	label       string // of the holder
}

// divide begins to hand a grant out; serial is the last one before.
func divide(g snowfence.Grant, serial int64) *division {
	d := &division{slots: make([]slot, g.Nodes), serial: serial}
	d.extend(g)
	return d
}

// extend goes on with a renewed grant. After a lapse it begins later.
func (d *division) extend(g snowfence.Grant) { d.grant = g }

// sublease returns the grant of a slot's present holder, or of its last
// one.
func (d *division) sublease(i int) snowfence.Grant {
	x := d.slots[i]
	return snowfence.Grant{Node: d.grant.Node + int64(i), Nodes: 1, From: x.from, Until: x.until}
}

// sameNodes reports whether a grant is of the nodes that are handed out.
func (d *division) sameNodes(g snowfence.Grant) bool {
	return d.grant.Node == g.Node && d.grant.Nodes == g.Nodes
}

// found returns the slot that one of these attempts got, or −1: its answer
// was lost.
func (d *division) found(attempts []string) int {
	return slices.IndexFunc(d.slots, func(s slot) bool {
		return s.tenancy != 0 && slices.Contains(attempts, s.attempt)
	})
}

// free returns a slot that has a usable tick now, or −1. One whose sublease
// has ended is free: its holder lost it by not renewing.
func (d *division) free(t claim.Ticks, now time.Time, allowed func(node int64) bool) int {
	tick := t.Layout.TickOf(now)
	for k := range d.slots {
		i := (d.next + k) % len(d.slots)
		usable := max(d.slots[i].until, d.grant.From) <= tick && tick < d.grant.Until
		if usable && allowed(d.grant.Node+int64(i)) {
			return i
		}
	}
	return -1
}

// begin sublets a node: from the end of its last sublease, or of its used
// part after a release, and inside one unbroken grant.
func (d *division) begin(i int, t claim.Ticks, now time.Time, attempt, label string) {
	s := &d.slots[i]
	s.from = max(s.until, d.grant.From, t.Back(now))
	s.until = s.from
	d.next = i + 1
	d.serial++
	s.tenancy, s.label = d.serial, label
	d.extendSublease(i, t, now, attempt)
}

// renew moves the end of a sublease ahead. A grant that lapsed left ticks
// out, and so does this.
func (d *division) renew(i int, t claim.Ticks, now time.Time, attempt string) {
	s := &d.slots[i]
	s.from = max(s.from, d.grant.From)
	s.until = max(s.until, s.from)
	d.extendSublease(i, t, now, attempt)
}

// extendSublease gives a sublease its end, never beyond the end of the
// grant, and its ticket a serial.
func (d *division) extendSublease(i int, t claim.Ticks, now time.Time, attempt string) {
	s := &d.slots[i]
	s.until = max(s.until, min(t.Target(now), d.grant.Until))
	d.serial++
	s.serial, s.attempt = d.serial, attempt
}

// holds returns the slot of a ticket if it is of the present sublease, and
// −1 otherwise. It is if it is the last one, or if the last one answered an
// attempt of this holder, which did not hear.
func (d *division) holds(node, tenancy, serial int64, attempts []string) int {
	i := node - d.grant.Node
	if i < 0 || i >= int64(len(d.slots)) {
		return -1
	}
	s := d.slots[i]
	if tenancy == 0 || s.tenancy != tenancy || s.serial != serial && !slices.Contains(attempts, s.attempt) {
		return -1
	}
	return int(i)
}

// release ends a sublease. Its holder tells its use, of its own ticks only.
func (d *division) release(i int, used int64) {
	s := &d.slots[i]
	if used >= 0 {
		s.until = min(max(used, s.from), s.until)
	}
	s.tenancy = 0
}

// held returns the count of nodes that are not free now and had a last
// holder with such a label. A node that was given back is free when the
// possible use of its holder has passed.
func (d *division) held(t claim.Ticks, now time.Time, such func(label string) bool) (n int64) {
	tick := t.Layout.TickOf(now)
	for _, s := range d.slots {
		if s.until > tick && such(s.label) {
			n++
		}
	}
	return n
}

// end returns the first tick that no sublease has reached: the lessor gives
// its grant back from there. No clock decides it.
func (d *division) end() int64 {
	end := d.grant.From
	for _, s := range d.slots {
		end = max(end, s.until)
	}
	return end
}
