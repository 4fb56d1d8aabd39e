package show

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowfence/snowfence"
)

// Rows is a table of two columns.
type Rows [][2]string

// Rows returns a line for each field of an ID: its name and its value.
func (v *View) Rows(p snowfence.Parts, now time.Time) (rows Rows) {
	if v.maker != "" {
		rows.Add("layout", "%s", v.Name)
	}
	rows.Add("time", "%s  (%s, tick %d)", p.Time.Format(time.RFC3339Nano), Ago(p.Time, now), p.Tick)
	values := v.Scheme.NodeParts(p.Node)
	for i, f := range v.parts {
		rows.Add(f.Name, "%d", values[i])
	}
	if v.Layout.Bits(snowfence.FieldNode) > 0 && len(v.parts) != 1 {
		rows.Add("node", "%d", p.Node)
	}
	if v.Unit > 1 {
		first := p.Node &^ (v.Unit - 1)
		rows.Add("unit", "%d-%d", first, first+v.Unit-1)
	}
	for _, f := range slices.Backward(fieldsBeside(v.Layout, p)) {
		rows.Add(f.Name, "%d", f.Value)
	}
	if v.Layout.Bits(snowfence.FieldSequence) > 0 {
		note := ""
		if v.reserved(p) {
			note = "  (" + reservedNote + ")"
		}
		rows.Add("sequence", "%d%s", p.Sequence, note)
	}
	return rows
}

// Group is some adjacent bits of an ID.
type Group struct {
	Name   string `json:"name"` // of the field; "" for the bits above the layout
	Digits string `json:"digits"`
}

// Groups returns all 64 bits of an ID by fields, the highest first. The
// bits of an encrypted ID say nothing: it has none.
func (v *View) Groups(id snowfence.ID) (list []Group) {
	if v.Layout.Cipher != snowfence.Plain {
		return nil
	}
	digits := fmt.Sprintf("%064b", uint64(id))
	add := func(name string, width int) {
		list = append(list, Group{name, digits[:width]})
		digits = digits[width:]
	}
	if above := 64 - v.Layout.Width(); above > 0 {
		add("", above)
	}
	for _, f := range v.Layout.Fields {
		add(f.Name, f.Bits)
	}
	return list
}

// appendBoxes draws each group of bits in a box, below its name.
func appendBoxes(b []byte, groups []Group) []byte {
	line := func(left, mid, right, fill string, cell func(g Group) string) {
		for i, g := range groups {
			if i == 0 {
				b = append(b, left...)
			} else {
				b = append(b, mid...)
			}
			text := cell(g)
			b = append(b, text...)
			b = append(b, strings.Repeat(fill, max(len(g.Name), len(g.Digits))-len(text))...)
		}
		b = append(b, right+"\n"...)
	}
	nothing := func(Group) string { return "" }
	line("┌", "┬", "┐", "─", nothing)
	line("│", "│", "│", " ", func(g Group) string { return g.Name })
	line("│", "│", "│", " ", func(g Group) string { return g.Digits })
	line("└", "┴", "┘", "─", nothing)
	return b
}

// Add adds a row.
func (r *Rows) Add(name, format string, args ...any) {
	*r = append(*r, [2]string{name, fmt.Sprintf(format, args...)})
}

// Append appends the table as lines, with values wrapped.
func (r Rows) Append(b []byte) []byte {
	width := 0
	for _, row := range r {
		width = max(width, utf8.RuneCountInString(row[0]))
	}
	for _, row := range r {
		b = fmt.Appendf(b, "%-*s  %s\n", width, row[0], Wrap(row[1], width+2, width+2))
	}
	return b
}
