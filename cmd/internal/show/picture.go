package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowfence/snowfence"
)

// Rows returns a line for each field of an ID: its name and its value.
func (v *View) Rows(p snowfence.Parts, now time.Time) [][2]string {
	rows := [][2]string{{"time", fmt.Sprintf("%s  (%s, tick %d)", p.Time.Format(time.RFC3339Nano), Ago(p.Time, now),
		p.Tick)}}
	values := v.Scheme.NodeParts(p.Node)
	for i, f := range v.parts {
		rows = append(rows, [2]string{f.Name, strconv.FormatInt(values[i], 10)})
	}
	if v.Layout.Bits(snowfence.FieldNode) > 0 && len(v.parts) != 1 {
		rows = append(rows, [2]string{"node", strconv.FormatInt(p.Node, 10)})
	}
	if v.Layout.Bits(snowfence.FieldRollback) > 0 {
		rows = append(rows, [2]string{"rollback", strconv.FormatInt(p.Rollback, 10)})
	}
	if v.Layout.Bits(snowfence.FieldKey) > 0 {
		rows = append(rows, [2]string{"key", strconv.Itoa(p.Key)})
	}
	if v.Layout.Bits(snowfence.FieldSequence) > 0 {
		text := strconv.FormatInt(p.Sequence, 10)
		if v.reserved(p) {
			text += "  (" + reservedNote + ")"
		}
		rows = append(rows, [2]string{"sequence", text})
	}
	return rows
}

// Group is some adjacent bits of an ID.
type Group struct {
	Name   string `json:"name"` // of the field; "" for the bits above the layout
	Digits string `json:"digits"`
}

// Groups returns all 64 bits of an ID by fields, the highest first. The bits of an encrypted ID
// say nothing: it has none.
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

// appendBoxes draws each group of bits in a box.
func appendBoxes(b []byte, groups []Group) []byte {
	line := func(left, mid, right string, cell func(digits string) string) {
		for i, g := range groups {
			if i == 0 {
				b = append(b, left...)
			} else {
				b = append(b, mid...)
			}
			b = append(b, cell(g.Digits)...)
		}
		b = append(b, right+"\n"...)
	}
	rule := func(digits string) string { return strings.Repeat("─", len(digits)) }
	line("┌", "┬", "┐", rule)
	line("│", "│", "│", func(digits string) string { return digits })
	line("└", "┴", "┘", rule)
	return b
}

// AppendRows appends a table of two columns.
func AppendRows(b []byte, rows [][2]string) []byte {
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r[0]))
	}
	for _, r := range rows {
		b = fmt.Appendf(b, "%-*s  %s\n", width, r[0], r[1])
	}
	return b
}
