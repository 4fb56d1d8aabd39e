package audit

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence"
)

// readTable reads comma-, semicolon- or tab-separated values.
func (f Format) readTable(r *bufio.Reader, yield func(*Batch) error) error {
	const batch = 4096
	start, _ := r.Peek(batch) // what fails here fails again
	limited := &io.LimitedReader{R: r, N: maxLine}
	in := csv.NewReader(limited)
	in.Comma, in.FieldsPerRecord, in.ReuseRecord = separator(start), -1, true
	read, position := in.Read, in.FieldPos
	if in.Comma == '\t' {
		read, position = tabs(bufio.NewReader(limited))
	}
	if bytes.HasPrefix(start, []byte("sep=")) { // a line for Excel
		_, _ = read()
	}
	number, err := strconv.Atoi(f.Column)
	column, named := number-1, err != nil
	if !named && number < 1 {
		return fmt.Errorf("audit: column %d; the first one is 1", number)
	}
	b := &Batch{}
	for first := true; ; first = false {
		limited.N = maxLine
		cells, err := read()
		var syntax *csv.ParseError
		switch {
		case limited.N <= 0:
			return fmt.Errorf("audit: a record is longer than %d bytes: is a quote not closed?", maxLine)
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
			line, _ := position(0)
			b.bad(int64(line), fmt.Errorf("%w: column %d of a line with %d", snowfence.ErrInvalidID, column+1,
				len(cells)))
		default:
			line, _ := position(column)
			cell := strings.TrimSpace(cells[column])
			id, err := f.parse([]byte(cell))
			switch {
			case err == nil:
				b.add(id, int64(line))
			case !first || strings.IndexAny(cell, "-+=0123456789") == 0: // else it is a heading
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

// tabs reads tab-separated values and says where it is. Each line is a
// record, and a quote is text, unless its cell begins and ends with one.
func tabs(r *bufio.Reader) (read func() ([]string, error), position func(int) (int, int)) {
	number := 0
	return func() (cells []string, err error) {
		line := ""
		for line == "" && err == nil {
			line, err = r.ReadString('\n')
			line = strings.TrimRight(line, "\r\n")
			number++
		}
		if line == "" || err != nil && err != io.EOF {
			return nil, err
		}
		cells = strings.Split(line, "\t")
		for i, cell := range cells {
			if n := len(cell); n > 1 && cell[0] == '"' && cell[n-1] == '"' {
				cells[i] = cell[1 : n-1]
			}
		}
		return cells, nil
	}, func(int) (int, int) { return number, 0 }
}

// separator is the character between the values of the first line.
func separator(start []byte) rune {
	line, _, _ := bytes.Cut(start, []byte{'\n'})
	bare := regexp.MustCompile(`"[^"]*"?`).ReplaceAll(line, nil)
	switch {
	case bytes.IndexByte(line, '\t') >= 0:
		return '\t'
	case bytes.Count(bare, []byte{';'}) >= max(1, bytes.Count(bare, []byte{','})):
		return ';'
	}
	return ','
}
