package audit

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence"
)

// table reads a column of separated values.
type table struct {
	f      Format
	comma  byte
	column int // from 0
}

// readTable reads a column. Without quotes lines are records, read in blocks on
// several goroutines. A quoted line end ends no record, so from the first block
// with a quote it reads record by record.
func (f Format) readTable(in *blocks, yield func(*Batch) error) error {
	text, dropped, err := in.next(nil)
	switch {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	heading, rest, _ := bytes.Cut(text, []byte{'\n'})
	t, skip, err := newTable(f, heading)
	if err != nil {
		return err
	}
	lines := int64(0)
	if skip {
		lines, text = 1, rest
	}
	in.hold(text, dropped)
	in.stop = '"'
	lines, err = readBlocks(in, t.block, lines, yield)
	if errors.Is(err, errStopped) {
		return t.records(in.remaining(), lines, yield)
	}
	return err
}

// newTable looks at the first line. skip means that it is a heading.
func newTable(f Format, line []byte) (t *table, skip bool, err error) {
	t = &table{f: f, comma: separator(line)}
	cells, err := t.reader(bytes.NewReader(line)).Read()
	if n, numberErr := strconv.Atoi(f.Column); numberErr == nil {
		if n < 1 {
			return nil, false, fmt.Errorf("audit: column %d; the first one is 1", n)
		}
		t.column = n - 1
		if err != nil || len(cells) < n {
			return t, false, nil // reported as a bad line
		}
		_, err = f.parse(bytes.TrimSpace([]byte(cells[n-1])))
		return t, err != nil, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("audit: the first line, which should name the columns: %w", err)
	}
	t.column = -1
	for i, name := range cells {
		if strings.TrimSpace(name) != f.Column {
			continue
		}
		if t.column >= 0 {
			return nil, false, fmt.Errorf("audit: columns %d and %d are both %q: name one by its number", t.column+1,
				i+1,
				f.Column)
		}
		t.column = i
	}
	if t.column >= 0 {
		return t, true, nil
	}
	return nil, false, fmt.Errorf("audit: no column %q in the first line: %.200q", f.Column, line)
}

// separator is what most likely stands between the columns.
func separator(line []byte) byte {
	switch {
	case bytes.IndexByte(line, '\t') >= 0:
		return '\t'
	case bytes.Count(line, []byte{';'}) > bytes.Count(line, []byte{','}):
		return ';'
	}
	return ','
}

func (t *table) reader(r io.Reader) *csv.Reader {
	c := csv.NewReader(r)
	c.Comma = rune(t.comma)
	c.FieldsPerRecord = -1
	c.ReuseRecord = true
	return c
}

// block reads lines without quotes.
func (t *table) block(block []byte, b *Batch) (lines int64) {
	for len(block) > 0 {
		lines++
		line, rest, _ := bytes.Cut(block, []byte{'\n'})
		block = rest
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) == 0 {
			continue
		}
		cell, columns := line, 0
		for ; columns < t.column; columns++ {
			i := bytes.IndexByte(cell, t.comma)
			if i < 0 {
				break
			}
			cell = cell[i+1:]
		}
		if columns < t.column {
			b.bad(lines, t.short(columns+1))
			continue
		}
		if i := bytes.IndexByte(cell, t.comma); i >= 0 {
			cell = cell[:i]
		}
		t.add(b, cell, lines)
	}
	return lines
}

func (t *table) short(columns int) error {
	return fmt.Errorf("%w: column %d of a line with %d", snowfence.ErrInvalidID, t.column+1, columns)
}

func (t *table) add(b *Batch, cell []byte, line int64) {
	id, err := t.f.parse(bytes.TrimSpace(cell))
	if err != nil {
		b.bad(line, err)
		return
	}
	b.add(id, line)
}

// records reads on after a number of lines, by the rules of quotes.
func (t *table) records(r io.Reader, lines int64, yield func(*Batch) error) error {
	const batch = 4096
	limited := &allowance{r: r}
	in := t.reader(limited)
	b := &Batch{}
	for {
		limited.left = maxLine
		cells, err := in.Read()
		var syntax *csv.ParseError
		switch {
		case err == io.EOF:
			return yield(b)
		case errors.As(err, &syntax):
			b.bad(lines+int64(syntax.StartLine), fmt.Errorf("quotes: %w", syntax.Err))
		case err != nil:
			return err
		case len(cells) <= t.column:
			line, _ := in.FieldPos(0)
			b.bad(lines+int64(line), t.short(len(cells)))
		default:
			line, _ := in.FieldPos(t.column)
			t.add(b, []byte(cells[t.column]), lines+int64(line))
		}
		if len(b.IDs)+len(b.Bad) >= batch {
			if err := yield(b); err != nil {
				return err
			}
			b.reset()
		}
	}
}

// allowance bounds what is read, so that an unclosed quote does not take the
// whole stream into memory.
type allowance struct {
	r    io.Reader
	left int
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, fmt.Errorf("audit: a record is longer than %d bytes: is a quote not closed?", maxLine)
	}
	n, err := a.r.Read(p)
	a.left -= n
	return n, err
}
