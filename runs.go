package snowfence

import (
	"context"
	"fmt"
	"iter"
)

// Run is new IDs in equal steps: First, First + Step, and so on up to Last. It is how
// many IDs travel as three numbers.
type Run struct {
	First, Last ID
	Step        int64 // above 0, also when the run is a single ID
}

// Len returns the number of IDs in the run, and 0 for the zero Run.
func (r Run) Len() int64 {
	if r.Step <= 0 || r.Last < r.First {
		return 0
	}
	return int64(uint64(r.Last-r.First)/uint64(r.Step)) + 1
}

// All yields the IDs of the run, in increasing order.
func (r Run) All() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		id := r.First
		for range r.Len() {
			if !yield(id) {
				return
			}
			id += ID(r.Step)
		}
	}
}

// Runs appends runs with n new IDs in all to dst, in increasing order. A run ends with
// its tick at the latest, and with the sequence of one node, so that the length of runs
// is a matter of the layout. It waits as Fill does; when it gives up, the runs are good
// and err says why there are no more. IDs of encrypted layouts come in no runs.
func (g *Generator) Runs(ctx context.Context, dst []Run, n int64) ([]Run, error) {
	if g.scheme.Encrypted() {
		return dst, fmt.Errorf("snowfence: encrypted IDs come in no runs: use Fill")
	}
	for n > 0 {
		t, pos, count, err := g.reserve(ctx, uint64(n), g.maxWait)
		if err != nil {
			return dst, err
		}
		n -= int64(count)
		for count > 0 {
			id, step, k := t.piece(pos, count)
			dst = append(dst, Run{id, id + ID(k-1)*step, int64(step)})
			pos, count = pos+k, count-k
		}
	}
	return dst, nil
}
