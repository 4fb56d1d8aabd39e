package audit

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence"
)

// readTable reads comma-, semicolon- or tab-separated values.
func (f Format) readTable(r *bufio.Reader, yield func(*Batch) error) error {
	const batch = 4096
	start, _ := r.Peek(batch) // what fails here fails again
	limited := &allowance{r: r, rest: maxLine}
	in := csv.NewReader(limited)
	in.Comma, in.FieldsPerRecord, in.ReuseRecord = separator(start), -1, true
	column, named := 0, false
	if n, err := strconv.Atoi(f.Column); err != nil {
		named = true
	} else if column = n - 1; n < 1 {
		return fmt.Errorf("audit: column %d; the first one is 1", n)
	}
	b := &Batch{}
	for first := true; ; first = false {
		limited.rest = maxLine
		cells, err := in.Read()
		var syntax *csv.ParseError
		switch {
		case err == io.EOF:
			return yield(b)
		case first && named:
			if column, err = f.columnOf(cells, err); err != nil {
				return err
			}
			continue
		case errors.As(err, &syntax):
			b.bad(int64(syntax.StartLine), fmt.Errorf("quotes: %w", syntax.Err))
		case err != nil:
			return err
		case len(cells) <= column:
			line, _ := in.FieldPos(0)
			b.bad(int64(line), fmt.Errorf("%w: column %d of a line with %d", snowfence.ErrInvalidID, column+1,
				len(cells)))
		default:
			line, _ := in.FieldPos(column)
			id, err := f.parse([]byte(strings.TrimSpace(cells[column])))
			switch {
			case err == nil:
				b.add(id, int64(line))
			case !first: // else it is a heading
				b.bad(int64(line), err)
			}
		}
		if len(b.IDs)+len(b.Bad) >= batch {
			if err := yield(b); err != nil {
				return err
			}
			b.reset()
		}
	}
}

// columnOf finds the column in the first line, which names them.
func (f Format) columnOf(names []string, err error) (int, error) {
	if err != nil {
		return 0, fmt.Errorf("audit: the first line, which should name the columns: %w", err)
	}
	column := -1
	for i, name := range names {
		switch {
		case strings.TrimSpace(name) != f.Column:
		case column >= 0:
			return 0, fmt.Errorf("audit: columns %d and %d are both %q: name one by its number", column+1, i+1,
				f.Column)
		default:
			column = i
		}
	}
	if column < 0 {
		return 0, fmt.Errorf("audit: no column %q in the first line: %.200q", f.Column, strings.Join(names, ","))
	}
	return column, nil
}

// separator is the character between the values of the first line.
func separator(start []byte) rune {
	line, _, _ := bytes.Cut(start, []byte{'\n'})
	switch {
	case bytes.IndexByte(line, '\t') >= 0:
		return '\t'
	case bytes.Count(line, []byte{';'}) > bytes.Count(line, []byte{','}):
		return ';'
	}
	return ','
}

// allowance bounds a record, because a quote that is not closed would take
// all that follows.
type allowance struct {
	r    io.Reader
	rest int
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.rest <= 0 {
		return 0, fmt.Errorf("audit: a record is longer than %d bytes: is a quote not closed?", maxLine)
	}
	n, err := a.r.Read(p)
	a.rest -= n
	return n, err
}
