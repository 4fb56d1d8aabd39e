package store

import (
	"context"
	"iter"

	"github.com/snowfence/snowfence"
)

// paged is how many records are read in one go when all are read.
const paged = 4096

// Records lists the records of the nodes of a namespace, page by page. It
// ends after an error.
func Records(ctx context.Context, st Store, namespace string, nodes snowfence.NodeRange) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for nodes.From < nodes.Until {
			rs, _, err := st.List(ctx, namespace, nodes, paged)
			if err != nil {
				yield(Record{}, err)
				return
			}
			next := nodes.From
			for _, r := range rs {
				if !yield(r, nil) {
					return
				}
				next = r.Node + 1
			}
			if len(rs) < paged || next <= nodes.From {
				return // without progress the store repeats itself
			}
			nodes.From = next
		}
	}
}
