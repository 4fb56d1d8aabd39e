package snowfence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence/internal/ff1"
)

// Names of fields with a fixed meaning. A field with any other name is a
// part of the node.
const (
	FieldTime     = "time"
	FieldSequence = "sequence"
	FieldRollback = "rollback"
	FieldNode     = "node"
	FieldKey      = "key" // number of the secret, not encrypted; see FF1

	// FieldScatter stands above the time. The generator chooses its value,
	// so that the IDs of a time are spread over that many ranges.
	FieldScatter = "scatter"

	// FieldTag is a number of the caller, on an ID that is unique without
	// it.
	FieldTag = "tag"
)

// Cipher is how the IDs of a layout are encrypted.
type Cipher string

const (
	// Plain IDs are not encrypted.
	Plain Cipher = ""

	// SPARX encrypts all 64 bits with SPARX-64/128, as Randflake does. Half
	// of all IDs are negative. A namespace can never change its secret,
	// because two secrets can encrypt different IDs to one number.
	SPARX Cipher = "sparx"

	// FF1 encrypts the layout's own width with NIST's format-preserving FF1
	// over AES: IDs stay positive with 63 bits, safe for JavaScript with
	// 53. A layout may have a key field: the highest bits, not encrypted,
	// hold the number of the secret. So IDs of two secrets are never equal,
	// and secrets can be rotated.
	FF1 Cipher = "ff1"
)

const (
	// maxTimeBits keeps the end of the last tick in a signed number.
	maxTimeBits = 62

	// maxSequenceBits leaves room for some ticks in a generator's word.
	maxSequenceBits = 53

	// maxRollbackBits bounds the words of one grant: one per rollback
	// value.
	maxRollbackBits = 6

	// maxScatterBits bounds the ranges of a span of time.
	maxScatterBits = 12
)

// Field is one group of bits of a [Layout].
type Field struct {
	// One of the names above, or that of a node part: lower-case letters,
	// digits and '-'.
	Name string
	Bits int // width, from 1 up
}

// Layout says how the bits of an ID are divided, when its time starts and
// how fast it runs.
//
//	 63                                                                  0
//	┌─┬─────────────────────────────────────────┬──────────┬────────────┐
//	│0│ time: 41 bits, ticks of 1 ms since epoch │ node: 10 │ sequence: 12│   Twitter, and most others
//	└─┴─────────────────────────────────────────┴──────────┴────────────┘
//
// Fields stand from the highest bit down to bit 0, and have at most 64 bits
// together. With 64, the top bit of the time is the sign bit, and IDs turn
// negative half-way through ([Layout.NegativeFrom]). Mostly the time stands
// first. A scatter field, a tag and parts of the node may stand above it:
// then IDs are in the order of time where those bits are the same.
//
// A Layout is a plain value: build one, take one of the [Presets], or parse
// a spec with [ParseLayout]. [NewScheme] validates it. Do not change Fields
// afterwards.
type Layout struct {
	Epoch  time.Time     // start of tick 0; the zero time means the epoch of Default
	Tick   time.Duration // length of a tick, from 1 µs up; zero means 1 ms
	Fields []Field       // from the highest bit down
	First  int64         // first sequence number a generator may use
	Last   int64         // last one; zero means the highest the field holds
	Cipher Cipher        // how IDs are encrypted; zero means not at all
}

// Bits returns the width of the named field; 0 if there is none.
// [FieldNode] means all node parts together.
func (l Layout) Bits(name string) int {
	n := 0
	for _, f := range l.Fields {
		if f.Name == name || name == FieldNode && f.isNode() {
			n += f.Bits
		}
	}
	return max(n, 0) // below 0 in layouts that Validate refuses
}

func (f Field) isNode() bool {
	switch f.Name {
	case FieldTime, FieldSequence, FieldRollback, FieldKey, FieldScatter, FieldTag:
		return false
	}
	return true
}

// aboveTime returns the width of the fields above the time.
func (l Layout) aboveTime() (bits int) {
	for _, f := range l.Fields {
		if f.Name == FieldTime {
			break
		}
		bits += f.Bits
	}
	return bits
}

// Width returns the number of bits of all fields together.
func (l Layout) Width() int {
	n := 0
	for _, f := range l.Fields {
		n += f.Bits
	}
	return n
}

// NodeParts returns the parts of the node, from the highest down. Together
// they are the node.
func (l Layout) NodeParts() []Field {
	var parts []Field
	for _, f := range l.Fields {
		if f.isNode() {
			parts = append(parts, f)
		}
	}
	return parts
}

// Equal reports whether both layouts mean the same by every ID, and use the
// same sequence numbers.
func (l Layout) Equal(m Layout) bool {
	l, m = l.norm(), m.norm()
	return l.Epoch.Equal(m.Epoch) && l.Tick == m.Tick && l.First == m.First && l.Last == m.Last &&
		l.Cipher == m.Cipher && slices.Equal(l.Fields, m.Fields)
}

// norm returns l with its defaults filled in.
func (l Layout) norm() Layout {
	if l.Epoch.IsZero() {
		l.Epoch = defaultEpoch()
	}
	l.Epoch = l.Epoch.UTC().Round(0)
	l.Tick = cmp.Or(l.Tick, time.Millisecond)
	if l.Last == 0 {
		l.Last = int64(1)<<l.Bits(FieldSequence) - 1
	}
	return l
}

// Validate reports the first fault, with the name of the field, as an
// [ErrInvalidLayout].
func (l Layout) Validate() error {
	l = l.norm()
	if !slices.ContainsFunc(l.Fields, func(f Field) bool { return f.Name == FieldTime }) {
		return layoutErrorf(FieldTime, "is missing%s", l.misspelled())
	}
	seen := map[string]bool{}
	for i, f := range l.Fields {
		switch {
		case !validFieldName(f.Name):
			return layoutErrorf(f.Name, "a name starts with a lower-case letter "+
				"and has only lower-case letters, digits and '-', at most 32")
		case reservedKey(f.Name):
			return layoutErrorf(f.Name, "the spec uses this word for something else: choose another name for the field")
		case seen[f.Name]:
			return layoutErrorf(f.Name, "is given twice")
		case f.Bits < 1 || f.Bits > 63:
			return layoutErrorf(f.Name, "has %d bits; a field has 1 to 63 (leave it out for none)", f.Bits)
		case f.Name == FieldKey && i > 0:
			return layoutErrorf(FieldKey, "must be the first and highest field")
		case (f.Name == FieldSequence || f.Name == FieldRollback) && !seen[FieldTime]:
			return layoutErrorf(f.Name, "must stand below the time, or the IDs of a node are not in the order of time")
		case f.Name == FieldScatter && seen[FieldTime]:
			return layoutErrorf(FieldScatter, "must stand above the time: below it, it divides no range")
		}
		seen[f.Name] = true
	}
	switch {
	case l.Bits(FieldTime) > maxTimeBits:
		return layoutErrorf(FieldTime, "has %d bits, more than %d", l.Bits(FieldTime), maxTimeBits)
	case l.Bits(FieldSequence) > maxSequenceBits:
		return layoutErrorf(FieldSequence, "has %d bits, more than %d", l.Bits(FieldSequence), maxSequenceBits)
	case l.Width() > 64:
		return layoutErrorf("all", "have %d bits together, more than the 64 of an ID: take %d away%s",
			l.Width(), l.Width()-64, l.misspelled())
	case l.Bits(FieldRollback) > maxRollbackBits:
		return layoutErrorf(FieldRollback, "has %d bits, more than %d", l.Bits(FieldRollback), maxRollbackBits)
	case l.Bits(FieldScatter) > maxScatterBits:
		return layoutErrorf(FieldScatter, "has %d bits, more than %d", l.Bits(FieldScatter), maxScatterBits)
	case l.Bits(FieldScatter)+l.Bits(FieldSequence) > maxSequenceBits:
		return layoutErrorf(FieldScatter, "has %d bits and the sequence %d, together more than %d",
			l.Bits(FieldScatter), l.Bits(FieldSequence), maxSequenceBits)
	case l.Tick < time.Microsecond:
		return layoutErrorf("tick", "is %v; the shortest is 1us", l.Tick)
	case l.Epoch.Year() < 1900 || l.Epoch.Year() > 2200:
		return layoutErrorf("epoch", "is %s; it must lie between the years 1900 and 2200",
			l.Epoch.Format(time.RFC3339Nano))
	}
	if err := l.validateCipher(); err != nil {
		return err
	}
	top := int64(1)<<l.Bits(FieldSequence) - 1
	switch {
	case l.First < 0 || l.First > top:
		return layoutErrorf("first", "is %d; the sequence holds 0 to %d", l.First, top)
	case l.Last < 0 || l.Last > top:
		return layoutErrorf("last", "is %d; the sequence holds 0 to %d", l.Last, top)
	case l.Last < l.First:
		return layoutErrorf("last", "is %d, below first, which is %d: no sequence number would be left",
			l.Last, l.First)
	}
	return nil
}

func (l Layout) validateCipher() error {
	key := l.Bits(FieldKey)
	switch inside := l.Width() - key; {
	case l.Cipher != Plain && l.Cipher != SPARX && l.Cipher != FF1:
		return layoutErrorf("cipher", "is %q; it is sparx or ff1", shorten(string(l.Cipher)))
	case key > 0 && l.Cipher != FF1:
		return layoutErrorf(FieldKey, "needs cipher=ff1: sparx encrypts all 64 bits, and plain IDs have no secret")
	case l.Cipher != Plain && l.Bits(FieldScatter) > 0:
		return layoutErrorf(FieldScatter, "is of no use with a cipher, which spreads IDs already: leave one out")
	case key > 16:
		return layoutErrorf(FieldKey, "has %d bits, more than 16", key)
	case l.Cipher == FF1 && inside < ff1.MinBits:
		return layoutErrorf("cipher", "is ff1, which needs %d bits beside the key's; here are %d", ff1.MinBits, inside)
	}
	return nil
}

func layoutErrorf(field, format string, args ...any) error {
	return fmt.Errorf("%w: field %s: %s", ErrInvalidLayout, shorten(field), fmt.Sprintf(format, args...))
}

func validFieldName(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 32
}
