package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/snowfence/snowfence"
)

// block is whole lines on their way to IDs.
type block struct {
	text    []byte
	cutLine bool // a line that was too long followed
	batch   Batch
	lines   int64
	done    chan struct{}
}

// readLines reads a stream of lines and hands on their IDs in order.
// Goroutines turn text into IDs in between.
func (f Format) readLines(in *blocks, yield func(*Batch) error) error {
	var open, free []*block // open in the order of the stream
	lines := int64(0)
	take := func() error {
		b := open[0]
		open, free = open[1:], append(free, b)
		<-b.done
		b.batch.shift(lines)
		lines += b.lines
		if b.cutLine {
			lines++
			b.batch.bad(lines, fmt.Errorf("the line is longer than %d bytes", maxLine))
		}
		return yield(&b.batch)
	}
	for {
		b := &block{done: make(chan struct{}, 1)}
		if n := len(free); n > 0 {
			b, free = free[n-1], free[:n-1]
		}
		text, dropped, err := in.next(b.text)
		for len(open) > 0 && (err != nil || len(open) == 2*workers()) {
			if err := take(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b.text, b.cutLine = text, dropped
		open = append(open, b)
		go func() {
			f.parseLines(b)
			b.done <- struct{}{}
		}()
	}
}

// parseLines takes the lines of a block. Empty ones are neither IDs nor
// mistakes.
func (f Format) parseLines(b *block) {
	b.batch.reset()
	b.lines = 0
	parse := f.parse
	if f.Field != "" {
		parse = f.parseJSON
	}
	for line := range bytes.Lines(b.text) {
		b.lines++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if id, err := parse(line); err != nil {
			b.batch.bad(b.lines, err)
		} else {
			b.batch.add(id, b.lines)
		}
	}
}

// parseJSON takes the ID out of a JSON object.
func (f Format) parseJSON(line []byte) (snowfence.ID, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return 0, fmt.Errorf("is no JSON object: %w", err)
	}
	value, ok := object[f.Field]
	switch {
	case !ok:
		return 0, fmt.Errorf("has no field %q", f.Field)
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		// A number is decimal whatever the form of strings is.
		return Format{Parse: f.Parse}.parse(value)
	case value[0] != '"':
		return 0, fmt.Errorf("field %q is neither a string nor a number", f.Field)
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return 0, err
	}
	return f.parse([]byte(text))
}
