package ids

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is far more than any text of an ID has.
const maxLine = 4096

var errLineTooLong = fmt.Errorf("the line is longer than %d bytes: one ID a line", maxLine)

// lines reads lines, without the white space around them, and counts them.
type lines struct {
	r      *bufio.Reader
	number int
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line, which is good until the next call, or io.EOF.
// After errLineTooLong reading goes on with the next line.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.number++
	if errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.r.ReadSlice('\n')
		}
		if err == nil || err == io.EOF {
			err = errLineTooLong
		}
		return nil, err
	}
	if err == io.EOF && len(line) > 0 {
		err = nil
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("standard input: %w", err)
	}
	if l.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // the mark of UTF-8
	}
	return bytes.TrimSpace(line), err
}

// idle reports whether the next call may have to wait for input.
func (l *lines) idle() bool { return l.r.Buffered() == 0 }
