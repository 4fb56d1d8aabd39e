package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// guessSlack is how far in the future a time may lie and still be plausible: clocks are off, and IDs run ahead of them.
const guessSlack = 24 * time.Hour

// knownViews returns a view of every preset; presets with the same layout are one view, named "a, b".
func knownViews() ([]*view, error) {
	var views []*view
	for _, preset := range snowfence.Presets() {
		i := slices.IndexFunc(views, func(v *view) bool { return v.layout.Equal(preset.Layout) })
		name := preset.Name
		if i >= 0 {
			name = views[i].name + ", " + name
		}
		v, err := viewOf(name, preset.Layout)
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			views[i] = v
		} else {
			views = append(views, v)
		}
	}
	return views, nil
}

// guess is an ID read under one layout.
type guess struct {
	view   *view
	parts  snowfence.Parts
	unused bool // its sequence number is one that no generator of the layout makes
}

// guesses returns the readings of an ID whose time lies between the layout's epoch and now, the most plausible first: those
// with a sequence number that generators make, then the most recent ones, since most IDs one meets are young.
func (d *decoder) guesses(id snowfence.ID) []guess {
	var list []guess
	for _, v := range d.known {
		p, err := v.scheme.Decode(id)
		if err != nil || p.Time.After(d.now.Add(guessSlack)) {
			continue
		}
		list = append(list, guess{v, p, p.Sequence < v.layout.First || p.Sequence > v.layout.Last})
	}
	slices.SortStableFunc(list, func(a, b guess) int {
		if a.unused != b.unused {
			if a.unused {
				return 1
			}
			return -1
		}
		return b.parts.Time.Compare(a.parts.Time)
	})
	return list
}

// appendGuesses appends what the layouts known make of an ID.
func (d *decoder) appendGuesses(id snowfence.ID) error {
	list := d.guesses(id)
	if d.json {
		d.buf = fmt.Appendf(d.buf, `{"id":"%d","guesses":[`, int64(id))
		for i, g := range list {
			if i > 0 {
				d.buf = append(d.buf, ',')
			}
			d.buf = append(g.view.appendJSONParts(append(d.buf, '{'), g.parts), '}')
		}
		d.buf = append(d.buf, "]}\n"...)
		return nil
	}
	if d.written > 0 {
		d.buf = append(d.buf, '\n')
	}
	d.buf = fmt.Appendf(d.buf, "%d\n", int64(id))
	if len(list) == 0 {
		d.buf = append(d.buf, "  no layout known gives it a time between its epoch and now\n"...)
	}
	var rows [][2]string
	for _, g := range list {
		text := fmt.Sprintf("%-24s  node %d", g.parts.Time.Format(time.RFC3339Nano), g.parts.Node)
		values := g.view.scheme.NodeParts(g.parts.Node)
		for i, f := range g.view.parts {
			text += fmt.Sprintf(", %s %d", f.Name, values[i])
		}
		text += fmt.Sprintf(", sequence %d", g.parts.Sequence)
		if g.unused {
			text += " (which its generators do not make)"
		}
		rows = append(rows, [2]string{"  " + g.view.name, text})
	}
	d.buf = appendRows(d.buf, rows)
	return nil
}
