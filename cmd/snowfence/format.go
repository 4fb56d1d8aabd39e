package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

// formatter writes IDs as lines.
type formatter struct {
	encodings []show.Form
	json      bool
	maxLine   int
}

// newFormatter reads a list of forms such as dec,hex.
func newFormatter(list string, asJSON bool) (*formatter, error) {
	f := &formatter{json: asJSON, maxLine: 64}
	for name := range strings.SplitSeq(list, ",") {
		e, err := show.ParseForm(strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("--format: %w", err)
		}
		if slices.Contains(f.encodings, e) {
			return nil, fmt.Errorf("--format: %s is given twice", e.Name())
		}
		f.encodings = append(f.encodings, e)
		f.maxLine += e.MaxLen() + len(e.Name()) + 8
	}
	return f, nil
}

// append appends a line for each ID.
func (f *formatter) append(b []byte, ids []snowfence.ID) []byte {
	switch {
	case f.json:
		for _, id := range ids {
			b = f.appendJSON(b, id)
		}
	case len(f.encodings) == 1 && f.encodings[0] == snowfence.Decimal:
		b = appendDecimalLines(b, ids)
	default:
		for _, id := range ids {
			for _, e := range f.encodings {
				b = append(e.Append(b, id), '\t')
			}
			b[len(b)-1] = '\n'
		}
	}
	return b
}

// appendJSON appends {"id":"…"} with the other forms under their names. All alphabets are
// safe inside JSON strings.
func (f *formatter) appendJSON(b []byte, id snowfence.ID) []byte {
	b = append(b, `{"id":"`...)
	b = append(snowfence.Decimal.Append(b, id), '"')
	for _, e := range f.encodings {
		if e == snowfence.Decimal {
			continue
		}
		b = append(b, `,"`...)
		b = append(b, e.Name()...)
		b = append(b, `":"`...)
		b = append(e.Append(b, id), '"')
	}
	return append(b, "}\n"...)
}

// appendDecimalLines appends IDs as decimal lines. Most IDs of a batch are one above the
// one before: their line is that line counted up, which costs a third of writing the
// number anew.
func appendDecimalLines(b []byte, ids []snowfence.ID) []byte {
	b = slices.Grow(b, 21*len(ids)) // no line is longer
	var line [21]byte
	var n int
	prev := snowfence.ID(-1) // never the one before: from -1 to 0 the text changes its sign
	for _, id := range ids {
		if prev >= 0 && id == prev+1 {
			i := n - 2
			for ; i >= 0 && line[i] == '9'; i-- {
				line[i] = '0'
			}
			if i >= 0 {
				line[i]++
			} else {
				n = writeDecimalLine(&line, id) // one digit more
			}
		} else {
			n = writeDecimalLine(&line, id)
		}
		prev = id
		// A copy of fixed size is a few moves; what it writes beyond the line is overwritten.
		end := len(b)
		b = append(b, line[:]...)[:end+n]
	}
	return b
}

func writeDecimalLine(line *[21]byte, id snowfence.ID) int {
	text := append(snowfence.Decimal.Append(line[:0], id), '\n')
	return len(text)
}
