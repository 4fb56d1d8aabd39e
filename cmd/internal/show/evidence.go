package show

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
)

// Evidence says which layouts some IDs can have. Under the right one they
// come from few nodes, and their numbers begin anew or go on by one; under
// others these bits look random. It is not safe for concurrent use.
type Evidence struct {
	now        time.Time
	count      int64
	traces     []*Trace
	short      int64 // IDs with the digits of a double
	doubleBits int   // bits that a double would have lost, and that are 0; negative after one that is not
}

// NewEvidence compares the layouts of some views.
func NewEvidence(views []*View, now time.Time) *Evidence {
	e := &Evidence{now: now}
	for _, v := range views {
		e.traces = append(e.traces, &Trace{
			Layout: v.Layout.String(), Name: v.preset(), SameBits: v.same, view: v, nodes: map[int64]bool{},
		})
	}
	return e
}

// Add takes more IDs, in the order in which they came.
func (e *Evidence) Add(ids ...snowfence.ID) {
	for _, id := range ids {
		e.count++
		if rounded(id) {
			e.short++
		}
		for _, t := range e.traces {
			t.add(id, e.now)
		}
		switch low := width(int64(id)) - 53; {
		case low <= 0 || e.doubleBits < 0:
		case id&(1<<low-1) != 0:
			e.doubleBits = -1
		case id&0xfff != 0: // zeros of a sequence number that is 0 say nothing
			e.doubleBits += int(low)
		}
	}
}

// rounded reports whether an ID has the digits that a program prints for
// the nearest double: the fewest that tell it from others, and zeros. Of
// exact IDs above 2^53 few have.
func rounded(id snowfence.ID) bool {
	if id >= -1<<53 && id <= 1<<53 || id%10 != 0 && (id > 1e17 || id < -1e17) { // doubles have 17 digits
		return false
	}
	if id&0xfff == 0 { // a sequence number of 0, not a lost one
		return false
	}
	return strconv.FormatFloat(float64(id), 'f', -1, 64) == snowfence.Decimal.Encode(id)
}

// Ranking returns the layouts that nearly all IDs can have, the likeliest
// first.
func (e *Evidence) Ranking() []*Trace {
	if e == nil {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(e.traces), func(t *Trace) bool {
		return t.IDs == 0 || float64(t.IDs) < 0.95*float64(e.count)
	})
	slices.SortStableFunc(list, func(a, b *Trace) int { return cmp.Compare(a.surprise(e.now), b.surprise(e.now)) })
	return list
}

// surprise returns the surprise of the IDs so far under the layout of a
// view, which its index names.
func (e *Evidence) surprise(view int) float64 {
	if t := e.traces[view]; t.IDs > 0 {
		return t.surprise(e.now)
	}
	return math.Inf(1)
}

// Rounded reports whether IDs seem rounded to doubles: most have the digits
// of a double, or all have 0 in the bits that a double loses, 8 bits or
// more.
func (e *Evidence) Rounded() bool { return 2*e.short > e.count || e.doubleBits >= 8 }

// Trace has the findings about IDs under one layout.
type Trace struct {
	Layout   string    `json:"layout"`
	Name     string    `json:"name,omitempty"` // of the layout, if it has one
	SameBits []string  `json:"same_bits,omitempty"`
	IDs      int64     `json:"ids"` // that its generators can have made until now
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Falls    int64     `json:"falls"` // times that are earlier than the one before
	Nodes    int       `json:"nodes"` // up to 65,536
	Sequence int64     `json:"highest_sequence"`
	Rises    int64     `json:"rises"`              // numbers that follow the one before within a tick
	Doubtful int64     `json:"doubtful,omitempty"` // IDs that are rather Unix times or numbers that count

	view   *View
	bits   float64 // of surprise
	nodes  map[int64]bool
	before snowfence.Parts
}

// maxTraced is how many nodes are told apart.
const maxTraced = 1 << 16

func (t *Trace) add(id snowfence.ID, now time.Time) {
	p, err := t.view.Scheme.Decode(id)
	g := guess{t.view, p}
	if err != nil || g.doubtAt(now) != noDoubt {
		return
	}
	if t.IDs++; t.IDs == 1 {
		t.First, t.Last, t.before = p.Time, p.Time, snowfence.Parts{Tick: -1}
	}
	if p.Time.Before(t.First) {
		t.First = p.Time
	}
	if p.Time.After(t.Last) {
		t.Last = p.Time
	}
	if p.Tick < t.before.Tick {
		t.Falls++
	}
	t.Sequence = max(t.Sequence, p.Sequence)
	expected := t.view.Layout.First
	if p.Tick == t.before.Tick && p.Node == t.before.Node {
		if expected = t.before.Sequence + 1; p.Sequence == expected {
			t.Rises++
		}
	}
	t.bits += t.bitsOf(p.Sequence-expected, snowfence.FieldSequence)
	if t.nodes[p.Node] {
		t.bits += t.bitsOf(int64(t.Nodes-1), snowfence.FieldNode)
	} else {
		t.bits += t.bitsOf(p.Node, snowfence.FieldNode)
		if t.Nodes < maxTraced {
			t.nodes[p.Node] = true
			t.Nodes++
		}
	}
	if g.early(id) {
		t.Doubtful++
		t.bits += 64
	}
	if t.view.reserved(p) || p.Rollback > 0 { // few are, by hand or after a step back
		t.bits += 8
	}
	t.before = p
}

// bitsOf returns the surprise of a number in a field, where small ones are
// likely: its bits, and how many these are. Numbers of a foreign layout
// without nodes are random.
func (t *Trace) bitsOf(n int64, field string) float64 {
	all := float64(t.view.Layout.Bits(field))
	if t.view.maker != "" && t.view.Layout.Bits(snowfence.FieldNode) == 0 {
		return all
	}
	return float64(width(n)) + math.Log2(1+all)
}

// width is how many bits a number has.
func width(n int64) int64 { return int64(bits.Len64(uint64(max(n, -n)))) }

// surprise returns bits for each ID: for nodes and sequence numbers, and
// for the age of the youngest, because most IDs are young, and few have a
// future time.
func (t *Trace) surprise(now time.Time) float64 {
	days := now.Sub(t.Last).Hours() / 24
	if days < 0 {
		days = 16 * (1 - days)
	}
	return t.bits/float64(t.IDs) + math.Log2(1+days)
}

// Reason names the layout, and what speaks for it and against it.
func (t *Trace) Reason() string {
	text := t.view.title() + ": " + t.First.Format(time.DateOnly) + " to " + t.Last.Format(time.DateOnly)
	if t.Falls > 0 {
		text += fmt.Sprintf(" with %s back", Plural(t.Falls, "step"))
	}
	if t.Doubtful > 0 {
		text += " (doubtful: numbers that count or Unix times look so)"
	}
	if n := t.view.Layout.Bits(snowfence.FieldNode); n > 0 {
		text += fmt.Sprintf("; %s of %s", Thousands(t.Nodes), Plural(int64(1)<<n, "node"))
	}
	text += fmt.Sprintf("; sequence numbers up to %s of %s", Thousands(t.Sequence), Thousands(t.view.Layout.Last))
	if t.Rises > 0 {
		text += fmt.Sprintf(", by one within a tick %s", Plural(t.Rises, "time"))
	}
	if t.view.maker != "" {
		text += "; " + t.Layout
	}
	return text
}
