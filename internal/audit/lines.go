package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
)

// lineFunc reads the ID of a line without its end and outer white space.
type lineFunc func(line []byte) (snowfence.ID, error)

// blockFunc reads a block of whole lines and returns how many. Lines count from
// 1.
type blockFunc func(block []byte, b *Batch) int64

// parser returns how to read blocks, for all formats but raw and columns.
func (f Format) parser() blockFunc {
	one := lineFunc(f.parse)
	if f.Field != "" {
		one = f.jsonLine
	} else if f.Encoding == snowfence.Decimal && f.Parse == nil {
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

// addLine takes one line. Empty lines are neither IDs nor mistakes.
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
		return Format{Parse: f.Parse}.parse(value)
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

// jsonField returns a string or number field of a JSON object: the last of that
// name, as in encoding/json.
func jsonField(line []byte, name string) ([]byte, error) {
	if !json.Valid(line) {
		return nil, errors.New("is not JSON")
	}
	if line[0] != '{' {
		return nil, errors.New("is not a JSON object")
	}
	// The text is valid: it is enough to find the ends of strings, objects and
	// arrays.
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

// skipValue returns the end of the valid JSON value at i.
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
