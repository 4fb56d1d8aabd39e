package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowfence/snowfence"
)

// view shows IDs of one layout.
type view struct {
	name   string // as asked for, if it is the name of a preset; else the spec
	scheme *snowfence.Scheme
	layout snowfence.Layout
	parts  []snowfence.Field // named parts of the node; none when the node has no parts but itself
	jsonID string            // the layout's name, quoted
	same   []string          // other presets with the same bits, in a list of guesses
	from   int64             // first tick that a namespace had this layout for
	until  int64             // first tick after the last; 0 for no end
}

// newView returns the view of a layout that may be encrypted: it then has a random
// secret, to plan with and not to decode.
func newView(spec string) (*view, error) {
	return newViewWith(spec, func(l snowfence.Layout) (*snowfence.Scheme, error) {
		if l.Cipher != snowfence.Plain {
			return snowfence.NewScheme(l, snowfence.GenerateSecret())
		}
		return snowfence.NewScheme(l)
	})
}

func newViewWith(spec string, scheme func(snowfence.Layout) (*snowfence.Scheme, error)) (*view, error) {
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		return nil, err
	}
	if strings.Contains(spec, "=") {
		spec = l.String()
	}
	s, err := scheme(l)
	if err != nil {
		return nil, err
	}
	return viewOf(spec, s)
}

func viewOf(name string, s *snowfence.Scheme) (*view, error) {
	v := &view{name: name, scheme: s, layout: s.Layout()}
	if parts := v.layout.NodeParts(); len(parts) != 1 || parts[0].Name != snowfence.FieldNode {
		v.parts = parts
	}
	quoted, err := json.Marshal(name)
	v.jsonID = string(quoted)
	return v, err
}

// appendJSON appends one object. Numbers that can pass 2^53 only in theory (ticks, nodes)
// are numbers; the ID is a string.
func (v *view) appendJSON(b []byte, id snowfence.ID, p snowfence.Parts) []byte {
	b = append(b, `{"id":"`...)
	b = snowfence.Decimal.Append(b, id)
	b = append(b, `",`...)
	b = v.appendJSONParts(b, p)
	return append(b, '}')
}

func (v *view) appendJSONParts(b []byte, p snowfence.Parts) []byte {
	b = append(b, `"layout":`...)
	b = append(b, v.jsonID...)
	b = appendNumber(b, "unix_ms", p.Time.UnixMilli())
	b = append(b, `,"time":"`...)
	b = p.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	b = appendNumber(b, "tick", p.Tick)
	b = appendNumber(b, snowfence.FieldNode, p.Node)
	values := v.scheme.NodeParts(p.Node)
	for i, f := range v.parts {
		b = appendNumber(b, jsonKey(f.Name), values[i])
	}
	b = appendNumber(b, snowfence.FieldSequence, p.Sequence)
	if v.reserved(p) {
		b = append(b, `,"reserved":true`...)
	}
	if v.layout.Bits(snowfence.FieldKey) > 0 {
		b = appendNumber(b, snowfence.FieldKey, int64(p.Key))
	}
	if v.layout.Bits(snowfence.FieldRollback) > 0 {
		b = appendNumber(b, snowfence.FieldRollback, p.Rollback)
	}
	return b
}

func appendNumber(b []byte, key string, n int64) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	return strconv.AppendInt(b, n, 10)
}

// jsonKey is the key of a part of the node: its name, out of the way of the keys of every object.
func jsonKey(name string) string {
	if slices.Contains([]string{
		"id", "layout", "unix_ms", "node", "source", "encoding", "encoding_guessed",
		"prefix", "others", "reserved",
	}, name) {
		return "part-" + name
	}
	return name
}

// appendPicture appends an ID for people: its bits, each group under its name, and a line
// for each field.
//
//	2104672976770170879  twitter
//	┌─┬─────────────────────────────────────────┬─────┬─────┬────────────┐
//	│0│00111010011010101110001110001110001110001│11111│11111│111111111111│
//	└─┴─────────────────────────────────────────┴─────┴─────┴────────────┘
//	time        2026-09-28T20:01:55.251Z  (8 weeks ago, tick 501793140594)
//	datacenter  31
//
// Notes stand in the first line.
func (v *view) appendPicture(b []byte, id snowfence.ID, p snowfence.Parts, now time.Time, notes ...string) []byte {
	b = fmt.Appendf(b, "%d  %s", int64(id), v.name)
	if len(notes) > 0 {
		b = fmt.Appendf(b, "  (%s)", strings.Join(notes, "; "))
	}
	b = append(b, '\n')
	if v.layout.Cipher == snowfence.Plain { // the bits of an encrypted ID say nothing
		b = v.appendBits(b, uint64(id))
	} else {
		b = fmt.Appendf(b, "%s, encrypted\n", snowfence.Base32Hex.Encode(id))
	}
	rows := [][2]string{{"time", fmt.Sprintf("%s  (%s, tick %d)", p.Time.Format(time.RFC3339Nano), ago(p.Time, now),
		p.Tick)}}
	values := v.scheme.NodeParts(p.Node)
	for i, f := range v.parts {
		rows = append(rows, [2]string{f.Name, strconv.FormatInt(values[i], 10)})
	}
	if v.layout.Bits(snowfence.FieldNode) > 0 && len(v.parts) != 1 {
		rows = append(rows, [2]string{"node", strconv.FormatInt(p.Node, 10)})
	}
	if v.layout.Bits(snowfence.FieldRollback) > 0 {
		rows = append(rows, [2]string{"rollback", strconv.FormatInt(p.Rollback, 10)})
	}
	if v.layout.Bits(snowfence.FieldKey) > 0 {
		rows = append(rows, [2]string{"key", strconv.Itoa(p.Key)})
	}
	if v.layout.Bits(snowfence.FieldSequence) > 0 {
		text := strconv.FormatInt(p.Sequence, 10)
		if v.reserved(p) {
			text += "  (" + reservedNote + ")"
		}
		rows = append(rows, [2]string{"sequence", text})
	}
	return appendRows(b, rows)
}

// appendBits draws the bits of an ID in boxes, with those above the layout in a box of their own.
func (v *view) appendBits(b []byte, u uint64) []byte {
	widths := []int{}
	if above := 64 - v.layout.Width(); above > 0 {
		widths = append(widths, above)
	}
	for _, f := range v.layout.Fields {
		widths = append(widths, f.Bits)
	}
	digits := fmt.Sprintf("%064b", u)
	line := func(left, mid, right string, cell func(from, width int) string) {
		from := 0
		for i, w := range widths {
			if i == 0 {
				b = append(b, left...)
			} else {
				b = append(b, mid...)
			}
			b = append(b, cell(from, w)...)
			from += w
		}
		b = append(b, right+"\n"...)
	}
	rule := func(_, w int) string { return strings.Repeat("─", w) }
	line("┌", "┬", "┐", rule)
	line("│", "│", "│", func(from, w int) string { return digits[from : from+w] })
	line("└", "┴", "┘", rule)
	return b
}

// appendRows appends a table of two columns.
func appendRows(b []byte, rows [][2]string) []byte {
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r[0]))
	}
	for _, r := range rows {
		b = fmt.Appendf(b, "%-*s  %s\n", width, r[0], r[1])
	}
	return b
}
