package audit

import (
	"strconv"

	"github.com/snowfence/snowfence"
)

// Format says how IDs stand in a stream. Its zero value is one decimal ID a
// line.
type Format struct {
	// Encoding is the form of text. Decimals may be unsigned:
	// 18446744073709551615 is -1.
	Encoding snowfence.Encoding

	// Parse, if it is not nil, reads an ID in place of Encoding. Several
	// goroutines call it.
	Parse func(text []byte) (snowfence.ID, error)

	// Column selects a column of comma-, semicolon- or tab-separated
	// values, by its name in the first line or its number from 1 up. With a
	// number, a first line without the start of an ID is a heading.
	Column string

	// Field, in place of Column, selects a field of JSON lines: an object a
	// line, the ID a string or a decimal number.
	Field string
}

// Batch is IDs that were read.
type Batch struct {
	IDs   []snowfence.ID
	Lines []LineRun // where they stand
	Bad   []BadLine // lines that have no ID, up to some for each batch
	BadN  int64     // how many there are
}

// LineRun says that IDs from Index on stand on consecutive lines from Line
// on, until the next run.
type LineRun struct {
	Index int
	Line  int64 // counted from 1
}

// BadLine is a line without an ID.
type BadLine struct {
	Line int64 // counted from 1
	Err  error
}

// maxBad is how many bad lines a batch describes.
const maxBad = 64

func (b *Batch) reset() {
	b.IDs, b.Lines, b.Bad, b.BadN = b.IDs[:0], b.Lines[:0], b.Bad[:0], 0
}

// add appends the ID on a line.
func (b *Batch) add(id snowfence.ID, line int64) {
	b.mark(line)
	b.IDs = append(b.IDs, id)
}

// mark says that the next ID stands on a line.
func (b *Batch) mark(line int64) {
	if n := len(b.Lines); n > 0 {
		if last := b.Lines[n-1]; last.Line+int64(len(b.IDs)-last.Index) == line {
			return
		}
	}
	b.Lines = append(b.Lines, LineRun{len(b.IDs), line})
}

func (b *Batch) bad(line int64, err error) {
	b.BadN++
	if len(b.Bad) < maxBad {
		b.Bad = append(b.Bad, BadLine{line, err})
	}
}

// shift moves all lines down.
func (b *Batch) shift(lines int64) {
	for i := range b.Lines {
		b.Lines[i].Line += lines
	}
	for i := range b.Bad {
		b.Bad[i].Line += lines
	}
}

// parse reads text in the form of the format.
func (f Format) parse(text []byte) (snowfence.ID, error) {
	if f.Parse != nil {
		return f.Parse(text)
	}
	if ofHex := f.Encoding == snowfence.Decimal || f.Encoding == snowfence.Hex; ofHex && len(text) > 2 &&
		text[0] == '0' && text[1]|0x20 == 'x' { // as programs print it
		return snowfence.Hex.ParseBytes(text[2:])
	}
	id, err := f.Encoding.ParseBytes(text)
	if err != nil && f.Encoding == snowfence.Decimal {
		if v, unsignedErr := strconv.ParseUint(string(text), 10, 64); unsignedErr == nil {
			return snowfence.ID(v), nil
		}
	}
	return id, err
}
