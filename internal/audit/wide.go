package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Wide is an ID of up to 192 bits: a number, its highest 64 bits first.
type Wide [3]uint64

// Compare orders IDs as numbers.
func (w Wide) Compare(v Wide) int {
	return cmp.Or(cmp.Compare(w[0], v[0]), cmp.Compare(w[1], v[1]), cmp.Compare(w[2], v[2]))
}

func (w Wide) and(v Wide) Wide { return Wide{w[0] & v[0], w[1] & v[1], w[2] & v[2]} }

// WideOptions say what is known of wide IDs and what an audit may use. The zero value is
// ready; Memory, TempDir, Limit and Progress are those of [Options].
type WideOptions struct {
	Memory   int64
	TempDir  string
	Limit    int
	Progress func(done, total int64)

	Time   Wide // the bits that hold a time, in its order; none if there is no time
	Random Wide // the bits that should be random, whose evenness is tested
}

// WideResult is what an audit of wide IDs found. Positions count IDs from 0 as they came.
type WideResult struct {
	Count      int64
	Distinct   int64
	Lowest     Wide
	Highest    Wide
	Duplicates WideDuplicates
	Order      WideOrder
	Even       []Uniformity // of the random bits, up to 64 at once from the highest down
}

// WideDuplicates are IDs that came more than once.
type WideDuplicates struct {
	IDs   int64
	Extra int64           // how many too many came
	List  []WideDuplicate // the lowest of these IDs, up to Limit
}

// WideDuplicate is one of them.
type WideDuplicate struct {
	ID        Wide
	Count     int64
	Positions []int64 // the first 16
}

// WideOrder says where IDs were lower than the one before.
type WideOrder struct {
	Violations int64
	InTime     int64      // of these, those whose time was lower too
	List       []WideStep // the first, up to Limit
}

// WideStep is an ID that is lower than the one before.
type WideStep struct {
	Position   int64
	Before, ID Wide
}

// WideAuditor takes wide IDs and finds what is wrong with them, for one goroutine.
type WideAuditor struct {
	o      WideOptions
	sorter *wideSorter
	even   *wideEven
	last   Wide
	result WideResult
	done   bool
}

// NewWide starts an audit of wide IDs.
func NewWide(o WideOptions) (*WideAuditor, error) {
	n, err := Options{Memory: o.Memory, TempDir: o.TempDir, Limit: o.Limit}.norm()
	if err != nil {
		return nil, err
	}
	o.Memory, o.TempDir, o.Limit = n.Memory, n.TempDir, n.Limit
	chunk := min(1<<20, int(o.Memory/wideRecordSize/4))
	return newWide(o, chunk, int(o.Memory/wideRecordSize)), nil
}

// newWide is NewWide with the sizes of runs and of the memory, in IDs.
func newWide(o WideOptions, chunk, memory int) *WideAuditor {
	return &WideAuditor{o: o, sorter: newWideSorter(o.TempDir, chunk, memory), even: newWideEven(o.Random)}
}

// Add takes IDs. It fails only if it cannot write the temporary file.
func (a *WideAuditor) Add(ids ...Wide) error {
	if a.done {
		return errDone
	}
	r := &a.result
	for _, id := range ids {
		if r.Count > 0 && id.Compare(a.last) < 0 {
			r.Order.Violations++
			if id.and(a.o.Time).Compare(a.last.and(a.o.Time)) < 0 {
				r.Order.InTime++
			}
			if len(r.Order.List) < a.o.Limit {
				r.Order.List = append(r.Order.List, WideStep{r.Count, a.last, id})
			}
		}
		if err := a.sorter.add(wideRecord{id, r.Count}); err != nil {
			return err
		}
		a.last = id
		r.Count++
	}
	a.even.add(ids)
	return nil
}

// Result ends the audit and returns what it found. It stops when ctx ends.
func (a *WideAuditor) Result(ctx context.Context) (*WideResult, error) {
	if a.done {
		return nil, errDone
	}
	a.done = true
	err := a.find(ctx)
	if err != nil {
		err = fmt.Errorf("audit: %w", err)
	}
	if err := errors.Join(err, a.sorter.close()); err != nil {
		return nil, err
	}
	a.result.Even = a.even.result(a.result.Count)
	return &a.result, nil
}

// Close frees what the audit holds. Without Result before it, the IDs are lost.
func (a *WideAuditor) Close() error {
	a.done = true
	return a.sorter.close()
}

// find reads the IDs in their order, equal ones by position.
func (a *WideAuditor) find(ctx context.Context) error {
	r := &a.result
	var d WideDuplicate
	end := func() {
		if d.Count < 2 {
			return
		}
		r.Duplicates.IDs++
		r.Duplicates.Extra += d.Count - 1
		if len(r.Duplicates.List) < a.o.Limit {
			r.Duplicates.List = append(r.Duplicates.List, d)
		}
	}
	read := int64(0)
	err := a.sorter.each(func(rec wideRecord) error {
		if read%(1<<16) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if a.o.Progress != nil {
				a.o.Progress(read, r.Count)
			}
		}
		switch {
		case read == 0:
			r.Lowest = rec.id
			fallthrough
		case rec.id != d.ID:
			end()
			r.Distinct++
			d = WideDuplicate{ID: rec.id}
		}
		read++
		if d.Count++; len(d.Positions) < maxPositions {
			d.Positions = append(d.Positions, rec.at)
		}
		r.Highest = rec.id
		return nil
	})
	if err == nil {
		end()
	}
	return err
}
