package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence"
)

// Options say what is known of the IDs and what an audit may use. The zero
// value is ready.
type Options struct {
	// Scheme takes IDs apart. Nil means that nothing is known of their
	// bits.
	Scheme *snowfence.Scheme

	// Counts, if it is not 0, says that IDs are numbers that count up from
	// 0 in their lowest so many bits, and anew for each value of the bits
	// above: then a number that is missing at the start is missing too. No
	// ID is negative then, or has all of the lowest bits set.
	Counts int

	// Limit bounds the listed duplicates, steps back and gaps; all are
	// counted.
	Limit int

	memory int64 // a test's own bound; 0 means Memory
}

// Memory bounds the bytes of IDs in memory, 16 for each ID. Tables and
// buffers of some 10 MiB are extra. IDs that came in order need none.
const Memory = 2 << 30

const (
	chunkSize    = 1 << 20
	maxPositions = 16 // of one ID are listed
)

// Auditor takes IDs and finds what is wrong with them. One goroutine uses
// it.
type Auditor struct {
	o      Options
	fields *fields // nil when nothing is known of the bits
	flip   uint64  // makes IDs words that are in order as unsigned numbers
	survey *survey
	tidy   *tidy      // of the words, while they come in order
	words  []uint64   // of a call to Add
	chunks [][]uint64 // all words as they came
	n      int64
	gone   bool // the words did not fit into memory, and came in order
}

// New starts an audit.
func New(o Options) (*Auditor, error) {
	o.memory = cmp.Or(o.memory, Memory)
	a := &Auditor{o: o}
	if o.Scheme == nil {
		// Without a layout, IDs are in order as signed numbers are.
		a.flip = 1 << 63
	} else {
		var err error
		if a.fields, err = newFields(o.Scheme); err != nil {
			return nil, err
		}
	}
	a.survey = newSurvey(a.fields, a.flip, o.Limit)
	a.tidy = &tidy{limit: o.Limit, counter: counter(o.Counts)}
	return a, nil
}

// Add takes IDs. It fails if they are not in order, and do not fit into
// memory.
func (a *Auditor) Add(ids ...snowfence.ID) error {
	words := a.words[:0]
	for _, id := range ids {
		words = append(words, uint64(id)^a.flip)
	}
	a.words = words
	a.survey.add(a.n, words)
	a.n += int64(len(words))
	inOrder := a.survey.words.falls == 0
	if inOrder {
		a.tidy.add(words)
	}
	if a.n > a.o.memory/16 {
		a.chunks, a.gone = nil, true
	}
	if !a.gone {
		a.keep(words)
	} else if !inOrder {
		return fmt.Errorf("audit: more than %d IDs, which are not in order, do not fit into memory: sort them before",
			a.o.memory/16)
	}
	return nil
}

// keep appends words to the chunks. The first one grows, because most
// audits are small.
func (a *Auditor) keep(words []uint64) {
	last := len(a.chunks) - 1
	if last < 0 || len(a.chunks[last])+len(words) > chunkSize {
		var next []uint64
		if last >= 0 {
			next = make([]uint64, 0, max(chunkSize, len(words)))
		}
		a.chunks = append(a.chunks, next)
		last++
	}
	a.chunks[last] = append(a.chunks[last], words...)
}

// Result ends the audit and returns what it found. It stops when ctx ends.
func (a *Auditor) Result(ctx context.Context) (*Result, error) {
	t, inOrder := a.tidy, a.survey.words.falls == 0
	if !inOrder {
		t = &tidy{limit: a.o.Limit, counter: counter(a.o.Counts)}
		if err := t.sorted(ctx, slices.Concat(a.chunks...)); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
	}
	t.close()
	e := a.survey.evenness()
	if a.gone {
		e = nil
	}
	for _, words := range a.chunks {
		if e != nil {
			e.add(words, a.flip)
		}
	}
	r := a.assemble(t, e)
	for _, d := range t.list {
		one := Duplicate{ID: snowfence.ID(d.key ^ a.flip), Count: d.count}
		for i := range min(d.count, maxPositions) {
			one.Positions = append(one.Positions, d.at+i) // if they came in order
		}
		r.Duplicates.List = append(r.Duplicates.List, one)
	}
	if !inOrder {
		a.find(r.Duplicates.List)
	}
	return r, nil
}

// find looks for duplicates in the words as they came.
func (a *Auditor) find(list []Duplicate) {
	// A table by their bits rejects nearly all words without the map.
	const filterBits = 14
	var filter [1 << filterBits]bool
	slot := func(w uint64) uint64 { return w * 0x9e3779b97f4a7c15 >> (64 - filterBits) }
	of := map[uint64]*Duplicate{}
	for i := range list {
		d := &list[i]
		w := uint64(d.ID) ^ a.flip
		d.Positions, of[w], filter[slot(w)] = nil, d, true
	}
	at := int64(0)
	for _, words := range a.chunks {
		for i, w := range words {
			if !filter[slot(w)] {
				continue
			}
			if d := of[w]; d != nil && len(d.Positions) < maxPositions {
				d.Positions = append(d.Positions, at+int64(i))
			}
		}
		at += int64(len(words))
	}
}
