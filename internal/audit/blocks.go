package audit

import (
	"bytes"
	"io"
	"slices"
)

// blocks divides a stream into blocks of whole lines.
type blocks struct {
	r    io.Reader
	rest []byte // the start of a line whose end is not read yet
	err  error  // of r, to be returned after the rest
}

// next returns the next block, in buf if it fits. dropped means that a line
// is too long: the block ends before it.
func (s *blocks) next(buf []byte) (block []byte, dropped bool, err error) {
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
		if s.err != nil {
			// The last line may have no end. After a failure it may be cut
			// off.
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
