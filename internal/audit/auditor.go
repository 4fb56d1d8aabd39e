package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/snowfence/snowfence"
)

// errDone means that an audit was used after its end.
var errDone = errors.New("audit: the audit has ended")

// Auditor takes IDs and finds what is wrong with them. It is safe for concurrent
// use; IDs have the order of the calls to Add.
type Auditor struct {
	mu     sync.Mutex
	o      Options
	size   sizes
	fields *fields // nil when nothing is known of the bits
	flip   uint64  // makes IDs words that are in order as unsigned numbers
	store  *store
	survey *survey
	fresh  []uint64 // words that are not in the store yet
	err    error    // of the store; all that follows fails with it
	done   bool
}

// New starts an audit.
func New(o Options) (*Auditor, error) {
	o, err := o.norm()
	if err != nil {
		return nil, err
	}
	return newAuditor(o, o.sizes())
}

func newAuditor(o Options, size sizes) (*Auditor, error) {
	a := &Auditor{o: o, size: size}
	if o.Scheme == nil {
		// Without a layout, IDs are in order as signed numbers are.
		a.flip = 1 << 63
	} else {
		var err error
		if a.fields, err = newFields(o.Scheme); err != nil {
			return nil, err
		}
	}
	// A quarter is left for sorting.
	a.store = newStore(o.TempDir, size.memory/4*3)
	a.survey = newSurvey(a.fields, a.flip, size.piece, o.Limit)
	return a, nil
}

// Add takes IDs. It fails only if it cannot write the temporary file.
func (a *Auditor) Add(ids ...snowfence.ID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return errDone
	}
	for len(ids) > 0 && a.err == nil {
		n := min(len(ids), a.size.chunk-len(a.fresh))
		a.grow(n)
		start := len(a.fresh)
		a.fresh = a.fresh[:start+n]
		for i, id := range ids[:n] {
			a.fresh[start+i] = uint64(id) ^ a.flip
		}
		ids = ids[n:]
		if len(a.fresh) == a.size.chunk {
			a.flush()
		}
	}
	return a.err
}

// grow makes room for n more words, in steps while the audit is small.
func (a *Auditor) grow(n int) {
	if len(a.fresh)+n <= cap(a.fresh) {
		return
	}
	if a.store.n > 0 {
		a.fresh = a.store.newChunk(a.size.chunk)
		return
	}
	a.fresh = slices.Grow(a.fresh, n)
	if cap(a.fresh) > a.size.chunk {
		a.fresh = a.fresh[:len(a.fresh):a.size.chunk]
	}
}

// flush looks at the fresh words and stores them.
func (a *Auditor) flush() {
	a.survey.add(a.store.n, a.fresh)
	a.err = a.store.put(a.fresh)
	a.fresh = nil
}

// Result ends the audit and returns what it found. It stops when ctx ends.
func (a *Auditor) Result(ctx context.Context) (*Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return nil, errDone
	}
	if a.err == nil && len(a.fresh) > 0 {
		a.flush()
	}
	if a.err != nil {
		return nil, a.err
	}
	a.done = true
	r, err := a.finish(ctx)
	return r, errors.Join(err, a.store.close())
}

// Close frees what the audit holds. Without Result before it, the IDs are lost.
func (a *Auditor) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	a.fresh = nil
	return a.store.close()
}

// finish reads the stored words again, with their range known.
func (a *Auditor) finish(ctx context.Context) (*Result, error) {
	s := &sorter{ctx: ctx, auditor: a, progress: newProgress(a.o.Progress, 2*a.store.n)}
	s.uniform = newUniform(a.survey.width(), a.flip)
	total, err := s.run()
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	r := a.assemble(total, s.uniform)
	if len(total.list) > 0 {
		if r.Duplicates.List, err = a.positions(ctx, total.list); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
	}
	return r, nil
}
