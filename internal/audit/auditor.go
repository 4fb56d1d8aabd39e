package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/snowfence/snowfence"
)

// errDone means that an audit was used after its end.
var errDone = errors.New("audit: the audit has ended")

// Auditor takes IDs and finds what is wrong with them. It is safe for
// concurrent use; IDs have the order of the calls to Add.
type Auditor struct {
	mu     sync.Mutex
	o      Options
	fields *fields // nil when nothing is known of the bits
	flip   uint64  // makes IDs words that are in order as unsigned numbers
	store  *store
	survey *survey
	words  []uint64 // of a call to Add
	err    error    // of the store; all that follows fails with it
	done   bool
}

// New starts an audit.
func New(o Options) (*Auditor, error) {
	o, err := o.norm()
	if err != nil {
		return nil, err
	}
	return newAuditor(o, 1<<20)
}

// newAuditor takes how many IDs are written and read at once: with few, few IDs
// take every path.
func newAuditor(o Options, chunk int) (*Auditor, error) {
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
	// A half is left for sorting.
	a.store = &store{dir: o.TempDir, limit: int(o.Memory / 8 / 2), chunk: chunk}
	a.survey = newSurvey(a.fields, a.flip, o.Limit)
	return a, nil
}

// Add takes IDs. It fails only if it cannot write the temporary file.
func (a *Auditor) Add(ids ...snowfence.ID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return errDone
	}
	if a.err != nil {
		return a.err
	}
	a.words = a.words[:0]
	for _, id := range ids {
		a.words = append(a.words, uint64(id)^a.flip)
	}
	a.survey.add(a.store.n, a.words)
	if err := a.store.add(a.words); err != nil {
		a.err = fmt.Errorf("audit: %w", err)
	}
	return a.err
}

// Result ends the audit and returns what it found. It stops when ctx ends.
func (a *Auditor) Result(ctx context.Context) (*Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return nil, errDone
	}
	if a.err != nil {
		return nil, a.err
	}
	a.done = true
	r, err := a.finish(ctx)
	if err = errors.Join(err, a.store.close()); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return r, nil
}

// Close frees what the audit holds. Without Result before it, the IDs are lost.
func (a *Auditor) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	return a.store.close()
}

// finish reads the stored words again, with their range known.
func (a *Auditor) finish(ctx context.Context) (*Result, error) {
	if err := a.store.end(); err != nil {
		return nil, err
	}
	e := a.survey.evenness()
	t := &tidy{limit: a.o.Limit, counter: counter(a.o.Counts)}
	s := &sorter{ctx: ctx, auditor: a, evenness: e, total: 2 * a.store.n}
	if err := s.run(t); err != nil {
		return nil, err
	}
	t.close()
	r := a.assemble(t, e)
	if len(t.list) == 0 {
		return r, nil
	}
	var err error
	r.Duplicates.List, err = a.positions(ctx, t.list)
	return r, err
}
