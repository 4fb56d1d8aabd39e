package audit

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// errStopped ends a stream at a block with a character that needs another way of
// reading.
var errStopped = errors.New("stopped")

// blocks divides a stream into blocks of whole lines.
type blocks struct {
	r       io.Reader
	rest    []byte // the start of a line whose end is not read yet
	err     error  // of r, to be returned after the rest
	started bool
	stop    byte // if not 0, a block with it ends the stream with errStopped

	held        []byte // a block that was given back
	heldDropped bool
	holding     bool
}

// next returns the next block, in buf if it fits. dropped means that a line is
// too long: the block ends before it.
func (s *blocks) next(buf []byte) (block []byte, dropped bool, err error) {
	if s.holding {
		s.holding = false
		block, dropped = append(buf[:0], s.held...), s.heldDropped
	} else if block, dropped, err = s.read(buf); err != nil {
		return nil, false, err
	}
	if s.stop != 0 && bytes.IndexByte(block, s.stop) >= 0 {
		s.hold(block, dropped)
		return nil, false, errStopped
	}
	return block, dropped, nil
}

// hold gives a block back.
func (s *blocks) hold(block []byte, dropped bool) {
	s.held, s.heldDropped, s.holding = slices.Clone(block), dropped, true
}

// remaining returns all that was not taken yet as a stream.
func (s *blocks) remaining() io.Reader {
	list := []io.Reader{bytes.NewReader(s.held), bytes.NewReader(s.rest)}
	if s.err == nil {
		list = append(list, s.r)
	} else {
		list = append(list, failing{s.err})
	}
	return io.MultiReader(list...)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (s *blocks) read(buf []byte) (block []byte, dropped bool, err error) {
	buf = append(slices.Grow(buf[:0], blockSize), s.rest...)
	s.rest = s.rest[:0]
	searched := 0 // up to here there is no end of a line
	for {
		// A block that is not full waits, because small ones cost more.
		for s.err == nil && len(buf) < cap(buf) {
			var n int
			n, s.err = s.r.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
		}
		if !s.started {
			s.started = true
			buf = bytes.TrimPrefix(buf, []byte("\xef\xbb\xbf")) // the mark of UTF-8
		}
		if s.err != nil {
			// The last line may have no end. After a failure it may be cut off.
			end := len(buf)
			if s.err != io.EOF {
				end = bytes.LastIndexByte(buf, '\n') + 1
			}
			if end == 0 {
				return nil, false, s.err
			}
			return buf[:end], false, nil
		}
		if i := bytes.LastIndexByte(buf[searched:], '\n'); i >= 0 {
			end := searched + i + 1
			s.rest = append(s.rest, buf[end:]...)
			return buf[:end], false, nil
		}
		if searched = len(buf); searched >= maxLine {
			return buf[:0], true, s.skipLine()
		}
		buf = slices.Grow(buf, len(buf))
	}
}

// skipLine reads to the end of a line that is too long.
func (s *blocks) skipLine() error {
	skip := make([]byte, blockSize)
	for s.err == nil {
		var n int
		n, s.err = s.r.Read(skip)
		if i := bytes.IndexByte(skip[:n], '\n'); i >= 0 {
			s.rest = append(s.rest, skip[i+1:n]...)
			break
		}
	}
	return nil
}
