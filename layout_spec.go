package snowfence

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reservedKey reports whether the spec uses a word for something else than
// a field.
func reservedKey(s string) bool {
	switch s {
	case "epoch", "tick", "first", "last", "order", "seq", "cipher":
		return true
	}
	return false
}

// String returns the layout's spec in its one canonical form: what
// [ParseLayout] and --layout read and stores keep.
//
//	time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms
//
// Fields stand from the highest bit down; first, last and cipher follow
// where they are set.
func (l Layout) String() string {
	l = l.norm()
	var b strings.Builder
	for _, f := range l.Fields {
		name := f.Name
		if name == FieldSequence {
			name = "seq"
		}
		fmt.Fprintf(&b, "%s=%d,", name, f.Bits)
	}
	fmt.Fprintf(&b, "epoch=%s,tick=%s", l.Epoch.Format(time.RFC3339Nano), formatTick(l.Tick))
	if l.First != 0 {
		fmt.Fprintf(&b, ",first=%d", l.First)
	}
	if l.Last != int64(1)<<l.Bits(FieldSequence)-1 {
		fmt.Fprintf(&b, ",last=%d", l.Last)
	}
	if l.Cipher != Plain {
		fmt.Fprintf(&b, ",cipher=%s", l.Cipher)
	}
	return b.String()
}

// formatTick writes a duration in ASCII and without zero parts ("1m", not
// "1m0s").
func formatTick(d time.Duration) string {
	s := strings.Replace(d.String(), "µs", "us", 1)
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText returns the spec.
func (l Layout) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what [ParseLayout] reads.
func (l *Layout) UnmarshalText(text []byte) error {
	p, err := ParseLayout(string(text))
	if err == nil {
		*l = p
	}
	return err
}

// ParseLayout reads the name of a preset ([Presets]), or a spec: key=value
// pairs with commas between them.
//
//   - time, seq, rollback, scatter, tag, node, or any other name for a part
//     of the node: the width of that field in bits. Fields stand from the
//     highest bit down.
//   - epoch: an RFC 3339 time or a date; the epoch of [Default] when left
//     out.
//   - tick: a duration such as 1ms or 10ms; 1ms when left out.
//   - first, last: the usable sequence numbers; all when left out.
//   - cipher: sparx or ff1, for encrypted IDs; key is then the width of the
//     key number.
//   - order: node-first or node-last, to put the node parts above or below
//     the sequence, wherever they stand in the spec.
//
// The result is valid; errors match [ErrInvalidLayout] and name the key.
func ParseLayout(spec string) (Layout, error) {
	if !strings.Contains(spec, "=") {
		if known, ok := presetSpec(spec); ok {
			return ParseLayout(known)
		}
		return Layout{}, fmt.Errorf("%w: %q is neither a preset (%s) nor a spec such as "+
			"time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms",
			ErrInvalidLayout, shorten(spec), strings.Join(presetNames(), ", "))
	}
	var l Layout
	var order string
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(spec, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			return Layout{}, layoutErrorf(key, "has no value: write key=value, with commas between the pairs")
		}
		if key == FieldSequence {
			key = "seq"
		}
		if seen[key] {
			return Layout{}, layoutErrorf(key, "is given twice")
		}
		seen[key] = true
		if err := l.setField(key, value, &order); err != nil {
			return Layout{}, layoutErrorf(key, "%v", err)
		}
	}
	switch order {
	case "node-last":
		l.orderFields(1)
	case "node-first":
		l.orderFields(-1)
	}
	if err := l.Validate(); err != nil {
		return Layout{}, err
	}
	return l.norm(), nil
}

// orderFields puts the nodes before (-1) or after (1) the other fields
// below the time.
func (l *Layout) orderFields(side int) {
	at := func(name string) int {
		return slices.IndexFunc(l.Fields, func(f Field) bool { return f.Name == name })
	}
	tagAbove := at(FieldTag) < at(FieldTime)
	rank := func(f Field) int {
		switch {
		case f.Name == FieldKey:
			return -3
		case f.Name == FieldTime || f.Name == FieldScatter || f.Name == FieldTag && tagAbove:
			return -2
		case f.isNode():
			return side
		}
		return 0
	}
	slices.SortStableFunc(l.Fields, func(a, b Field) int { return rank(a) - rank(b) })
}

func (l *Layout) setField(key, value string, order *string) (err error) {
	switch key {
	case "epoch":
		l.Epoch, err = parseEpoch(value)
	case "tick":
		l.Tick, err = time.ParseDuration(value)
		if err == nil && l.Tick < time.Microsecond {
			err = fmt.Errorf("is %v; the shortest is 1us", l.Tick)
		}
	case "first":
		l.First, err = parseNumber(value)
	case "last":
		l.Last, err = parseNumber(value)
		if err == nil && l.Last == 0 {
			err = errors.New("is 0, so a tick has one ID: leave seq and last out if you want that")
		}
	case "cipher":
		if l.Cipher = Cipher(value); value == "" {
			err = errors.New("is empty: leave it out for plain IDs")
		}
	case "order":
		if *order = value; value != "node-first" && value != "node-last" {
			err = fmt.Errorf("is %q; it is node-first or node-last", shorten(value))
		}
	default:
		var bits int64
		bits, err = parseNumber(value)
		if key == "seq" {
			key = FieldSequence
		}
		if word := meant(key); err != nil && word != "" {
			err = fmt.Errorf("%w: write %s if you mean that", err, word)
		}
		if err == nil && bits == 0 && key != FieldTime {
			return nil // the same as leaving the field out
		}
		if err == nil && bits > 64 {
			err = fmt.Errorf("has %d bits, more than the 64 of an ID", bits)
		}
		l.Fields = append(l.Fields, Field{Name: key, Bits: int(bits)})
	}
	return err
}

// misspelled says which part of the node has the name of something else,
// but for one letter; "" if none has.
func (l Layout) misspelled() string {
	for _, f := range l.NodeParts() {
		if word := meant(f.Name); word != "" {
			return fmt.Sprintf(": %s is a part of the node here; write %s if you mean that", shorten(f.Name), word)
		}
	}
	return ""
}

// meant returns the word of the spec that a name differs from by one
// letter, or in case; "" if there is none.
func meant(name string) string {
	lower := strings.ToLower(name)
	for _, word := range []string{
		FieldTime, "seq", FieldSequence, FieldNode, FieldRollback, FieldKey, FieldScatter, FieldTag,
		"epoch", "tick", "first", "last", "order", "cipher",
	} {
		if name != word && (lower == word || oneOff(lower, word)) {
			return word
		}
	}
	return ""
}

// oneOff reports whether a letter more, less, changed, or two letters
// swapped make a out of b.
func oneOff(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	switch len(a) - len(b) {
	case 0:
		return a == b || a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
	case 1:
		return a[1:] == b
	}
	return false
}

func parseNumber(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63) // which takes no sign
	if err != nil {
		return 0, fmt.Errorf("is %q, not a whole number from 0 up", shorten(s))
	}
	return int64(n), nil
}

func parseEpoch(s string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			if t.IsZero() {
				break // the zero time would silently mean the default
			}
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("is %q, not an RFC 3339 time such as 2025-01-01T00:00:00Z or a date", shorten(s))
}

// shorten cuts a quoted text, so that garbage floods no log.
func shorten(s string) string {
	if len(s) > 48 {
		return s[:45] + "..."
	}
	return s
}
