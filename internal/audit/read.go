package audit

import (
	"bufio"
	"bytes"
	"io"
)

const (
	blockSize = 1 << 20
	maxLine   = 16 << 20 // far more than any line with an ID in it should have
)

// Read takes IDs out of a stream and hands them to yield in order, in
// batches that are good until yield returns. A batch also has the lines
// without an ID. It returns the first error of yield or r. Several
// goroutines read text; yield is called on this one.
func Read(r io.Reader, f Format, yield func(*Batch) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if start, _ := in.Peek(3); bytes.Equal(start, []byte("\xef\xbb\xbf")) { // the mark of UTF-8
		_, _ = in.Discard(3)
	}
	if f.Column != "" {
		return f.readTable(in, yield)
	}
	return f.readLines(&blocks{r: in}, yield)
}
