package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// guessSlack is how far in the future a time may lie and still be listed, after times of
// the past: clocks are off, and people make test data.
const guessSlack = 90 * 24 * time.Hour

// Presets returns a view of every preset; presets with the same bits are one view.
func Presets() ([]*View, error) {
	var views []*View
	for _, preset := range snowfence.Presets() {
		i := slices.IndexFunc(views, func(v *View) bool { return sameBits(v.Layout, preset.Layout) })
		if i >= 0 { // the first one's parts have the most to tell: datacenter and worker
			views[i].same = append(views[i].same, preset.Name)
			continue
		}
		if preset.Layout.Cipher != snowfence.Plain {
			continue // every number is one of its IDs under some secret
		}
		s, err := snowfence.NewScheme(preset.Layout)
		if err != nil {
			return nil, err
		}
		views = append(views, ViewOf(preset.Name, s))
	}
	return views, nil
}

// sameBits reports whether two layouts give every ID the same time, node number and
// sequence number, whatever the parts of the node are called.
func sameBits(a, b snowfence.Layout) bool {
	a.Fields, b.Fields = joinNode(a.Fields), joinNode(b.Fields)
	return a.Equal(b)
}

// joinNode makes one field of node parts that stand side by side.
func joinNode(fields []snowfence.Field) []snowfence.Field {
	var joined []snowfence.Field
	for _, f := range fields {
		switch f.Name {
		case snowfence.FieldTime, snowfence.FieldSequence, snowfence.FieldRollback:
		default:
			f.Name = snowfence.FieldNode
			if n := len(joined) - 1; n >= 0 && joined[n].Name == f.Name {
				joined[n].Bits += f.Bits
				continue
			}
		}
		joined = append(joined, f)
	}
	return joined
}

// guess is an ID read under one layout.
type guess struct {
	view     *View
	parts    snowfence.Parts
	reserved bool // its sequence number is below those that generators of the layout make
	unused   bool // its sequence number is above them
}

// guesses returns the readings of an ID with a time between the layout's epoch and now or
// soon, the most plausible first: readings with a sequence number that generators make,
// then times of the past, the most recent first, because most IDs one meets are young.
func (d *Decoder) guesses(id snowfence.ID) []guess {
	var list []guess
	for _, v := range d.Known {
		p, err := v.Scheme.Decode(id)
		if err != nil || p.Time.After(d.Now.Add(guessSlack)) {
			continue
		}
		list = append(list, guess{v, p, v.reserved(p), v.unused(p)})
	}
	slices.SortStableFunc(list, func(a, b guess) int {
		if c := falseFirst(a.unused, b.unused); c != 0 {
			return c
		}
		if c := falseFirst(a.reserved, b.reserved); c != 0 {
			return c
		}
		if c := falseFirst(a.parts.Time.After(d.Now), b.parts.Time.After(d.Now)); c != 0 {
			return c
		}
		return b.parts.Time.Compare(a.parts.Time)
	})
	return list
}

// falseFirst puts what holds less often last.
func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

const noGuess = "no layout known gives it a time between its epoch and now"

// guessRows returns a line for each guess: the names of layouts, and the ID's parts under them.
func guessRows(list []guess) (rows Rows) {
	for _, g := range list {
		text := fmt.Sprintf("%-24s  node %d", g.parts.Time.Format(time.RFC3339Nano), g.parts.Node)
		values := g.view.Scheme.NodeParts(g.parts.Node)
		for i, f := range g.view.parts {
			text += fmt.Sprintf(", %s %d", f.Name, values[i])
		}
		text += fmt.Sprintf(", sequence %d", g.parts.Sequence)
		switch {
		case g.unused:
			text += " (which its generators do not make)"
		case g.reserved:
			text += " (" + reservedNote + ")"
		}
		rows.Add(strings.Join(append([]string{g.view.Name}, g.view.same...), ", "), "%s", text)
	}
	return rows
}
