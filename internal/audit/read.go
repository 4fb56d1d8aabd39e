package audit

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/snowfence/snowfence"
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
	if err := f.Validate(); err != nil {
		return err
	}
	if f.Raw {
		return readRaw(r, yield)
	}
	in := bufio.NewReaderSize(r, 64<<10)
	if start, _ := in.Peek(3); bytes.Equal(start, []byte("\xef\xbb\xbf")) { // the mark of UTF-8
		_, _ = in.Discard(3)
	}
	if f.Column != "" {
		return f.readTable(in, yield)
	}
	return f.readLines(&blocks{r: in}, yield)
}

// readRaw reads 8 bytes an ID. What is left at the end counts as a line
// without an ID.
func readRaw(r io.Reader, yield func(*Batch) error) error {
	buf := make([]byte, blockSize)
	ids := make([]snowfence.ID, blockSize/8)
	b, total := &Batch{}, int64(0)
	for {
		n, err := io.ReadFull(r, buf)
		for i := range n / 8 {
			ids[i] = snowfence.ID(binary.LittleEndian.Uint64(buf[8*i:]))
		}
		b.IDs, total = ids[:n/8], total+int64(n/8)
		if n%8 != 0 && err == io.ErrUnexpectedEOF {
			b.bad(total+1, fmt.Errorf("%w: the last ID has %d bytes instead of 8", snowfence.ErrInvalidID, n%8))
		}
		if n > 0 {
			if err := yield(b); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			return nil
		case err != nil:
			return err
		}
	}
}
