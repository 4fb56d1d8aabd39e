package clib

import (
	"fmt"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
)

// schemes keeps the schemes of layouts that were decoded with, because to
// read a spec takes longer than to decode.
type schemes struct {
	mu       sync.RWMutex
	byLayout map[string]*snowfence.Scheme
}

// mostSchemes limits the schemes that are kept, in case a program uses ever
// new layouts.
const mostSchemes = 64

// Texts decodes, formats and parses IDs, without a handle.
type Texts struct{ schemes schemes }

// Decode takes an ID apart with a layout that needs no secret; "" is the
// default one.
func (t *Texts) Decode(layout string, id snowfence.ID) (snowfence.Parts, error) {
	s, err := t.schemes.get(layout)
	if err != nil {
		return snowfence.Parts{}, err
	}
	return s.Decode(id)
}

// Ranges writes the ranges of the IDs of a span of time to dst, and returns
// how many. Times are nanoseconds since 1970. A tag below 0 means all. A
// dst that is too small gets the first ranges.
func (t *Texts) Ranges(layout string, from, to, tag int64, dst [][2]snowfence.ID) (n int, err error) {
	s, err := t.schemes.get(layout)
	if err != nil {
		return 0, err
	}
	within := map[string]int64{}
	if tag >= 0 {
		within[snowfence.FieldTag] = tag
	}
	ranges, err := s.Ranges(time.Unix(0, from), time.Unix(0, to), within)
	if err != nil {
		return 0, coded{Invalid, err}
	}
	for lo, hi := range ranges {
		if n == len(dst) {
			return n, coded{TooSmall, fmt.Errorf("there are more than %d ranges: give a larger buffer, or one tag", n)}
		}
		dst[n] = [2]snowfence.ID{lo, hi}
		n++
	}
	return n, nil
}

func (c *schemes) get(layout string) (*snowfence.Scheme, error) {
	c.mu.RLock()
	s := c.byLayout[layout]
	c.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	l := snowfence.Default()
	if layout != "" {
		var err error
		if l, err = snowfence.ParseLayout(layout); err != nil {
			return nil, err
		}
	}
	if l.Cipher != snowfence.Plain {
		return nil, InvalidError("the layout %s is encrypted: only the handle that has its "+
			"secrets can read it (snowfence_decode_own)", layout)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byLayout == nil {
		c.byLayout = map[string]*snowfence.Scheme{}
	}
	if len(c.byLayout) < mostSchemes {
		c.byLayout[layout] = s
	}
	return s, nil
}

// Format writes the text of an ID and a zero byte to buf, and returns the
// length of the text. A buffer that is too small is not written to.
func (t *Texts) Format(id snowfence.ID, encoding string, buf []byte) (int, error) {
	e, err := encodingOf(encoding)
	if err != nil {
		return 0, err
	}
	var room [128]byte
	text := e.Append(room[:0], id)
	if len(text) >= len(buf) {
		return len(text), coded{TooSmall, fmt.Errorf("the text has %d bytes, and needs a buffer of %d; this one has %d",
			len(text), len(text)+1, len(buf))}
	}
	buf[copy(buf, text)] = 0
	return len(text), nil
}

// Parse reads the text of an ID.
func (t *Texts) Parse(text, encoding string) (snowfence.ID, error) {
	e, err := encodingOf(encoding)
	if err != nil {
		return 0, err
	}
	return e.Parse(text)
}

func encodingOf(name string) (snowfence.Encoding, error) {
	if name == "" {
		return snowfence.Decimal, nil
	}
	e, err := snowfence.ParseEncoding(name)
	if err != nil {
		return e, coded{Invalid, err}
	}
	return e, nil
}
