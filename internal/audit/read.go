// Package audit checks any stream of 64-bit IDs, from this or any other
// system: are they unique, in order, and, where they should look random,
// evenly spread?
//
//	a, err := audit.New(audit.Options{Scheme: scheme})
//	err = a.Add(ids...) // as often as there are more
//	result, err := a.Result(ctx)
//	fmt.Println(result.Count, result.Duplicates.IDs)
//
// [Read] takes IDs out of text, tables, JSON lines or bytes.
//
// # Exact, in bounded memory
//
// Every answer is exact; nothing is sampled. IDs that came in order, the
// usual case, are checked by one look at them, however many there are.
// Others have to fit into [Memory] twice: in the order in which
// they came, and sorted. Sorting finds which IDs are there more than once,
// and how often. Their positions follow from a second look that searches
// for just those few IDs.
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
