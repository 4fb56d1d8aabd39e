package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
)

// lineFunc takes the ID out of a line without its end. What it is given has no white
// space at its ends.
type lineFunc func(line []byte) (snowfence.ID, error)

// blockFunc reads a block of whole lines and returns how many there are. Lines are counted from 1.
type blockFunc func(block []byte, b *Batch) int64

// parser returns how blocks are read, for all formats but raw and columns.
func (f Format) parser() blockFunc {
	one := lineFunc(f.parse)
	if f.Field != "" {
		one = f.jsonLine
	} else if f.Encoding == snowfence.Decimal {
		return func(block []byte, b *Batch) int64 { return decimals(block, b, one) }
	}
	return func(block []byte, b *Batch) int64 { return eachLine(block, b, one) }
}

func eachLine(block []byte, b *Batch, one lineFunc) (lines int64) {
	for len(block) > 0 {
		lines++
		line, rest, _ := bytes.Cut(block, []byte{'\n'})
		addLine(b, line, lines, one)
		block = rest
	}
	return lines
}

// addLine takes one line in. Empty lines are no IDs and no mistake.
func addLine(b *Batch, line []byte, number int64, one lineFunc) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	id, err := one(line)
	if err != nil {
		b.bad(number, err)
		return
	}
	b.add(id, number)
}

// jsonLine takes the ID out of a JSON object.
func (f Format) jsonLine(line []byte) (snowfence.ID, error) {
	value, err := jsonField(line, f.Field)
	if err != nil {
		return 0, err
	}
	if value[0] != '"' {
		// A number is decimal whatever the form of strings is.
		return Format{}.parse(value)
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return 0, err
		}
		text = []byte(s)
	}
	return f.parse(text)
}

// jsonField returns the string or number that a JSON object has in a field. If it has
// several of that name, it is the last one, as for encoding/json.
func jsonField(line []byte, name string) ([]byte, error) {
	if !json.Valid(line) {
		return nil, errors.New("is not JSON")
	}
	if line[0] != '{' {
		return nil, errors.New("is not a JSON object")
	}
	// The text is valid, so that it is enough to look for where strings, objects and arrays end.
	var found []byte
	i := skipSpace(line, 1)
	for line[i] != '}' {
		end := skipValue(line, i)
		key := line[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			var s string
			if err := json.Unmarshal(line[i:end], &s); err != nil {
				return nil, err
			}
			key = []byte(s)
		}
		i = skipSpace(line, skipSpace(line, end)+1) // the colon
		end = skipValue(line, i)
		if string(key) == name {
			found = line[i:end]
		}
		if i = skipSpace(line, end); line[i] == ',' {
			i = skipSpace(line, i+1)
		}
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("has no field %q", name)
	case found[0] != '"' && found[0] != '-' && (found[0] < '0' || found[0] > '9'):
		return nil, fmt.Errorf("field %q is neither a string nor a number", name)
	}
	return found, nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipValue returns where a value of valid JSON ends that starts at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of what surrounds a number
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}
