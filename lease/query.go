package lease

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/snowfence/snowfence"
)

// Query selects records.
type Query struct {
	Namespace string              // "" means all namespaces
	Nodes     snowfence.NodeRange // the zero value selects none
	Label     string              // "" means any
	MaxUntil  int64               // highest Until; 0 means any
	Vacant    bool                // only records without a holder
	ByUntil   bool                // sorted by Until and then node; otherwise by namespace and then node
	Limit     int                 // at most so many records, the first in the order asked for; 0 means all
}

// Match reports whether the query selects r. Stores without an index can filter with it.
func (q Query) Match(r Record) bool {
	return (q.Namespace == "" || r.Namespace == q.Namespace) &&
		r.Node >= q.Nodes.From && r.Node < q.Nodes.Until &&
		(q.Label == "" || r.Label == q.Label) &&
		(q.MaxUntil == 0 || r.Until <= q.MaxUntil) &&
		(!q.Vacant || r.Holder == "")
}

// Compare orders records as the query asks for, for slices.SortFunc.
func (q Query) Compare(a, b Record) int {
	if q.ByUntil {
		return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Namespace, b.Namespace))
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node))
}

// paged is how many records are read in one go when all are read.
const paged = 4096

// Records reads the records that match a query, page by page, and yields them
// in its order. Stores page by node. Queries of all namespaces or ByUntil are
// read in one go. An error ends it. Query.Limit bounds what is yielded.
func Records(ctx context.Context, st Store, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		page, n := q, 0
		inPages := q.Namespace != "" && !q.ByUntil
		if inPages {
			page.Limit = paged
		}
		for {
			rs, err := st.List(ctx, page)
			if err != nil {
				yield(Record{}, err)
				return
			}
			next := page.Nodes.From
			for _, r := range rs {
				if !page.Match(r) {
					continue
				}
				if n++; !yield(r, nil) || n == q.Limit {
					return
				}
				next = r.Node + 1
			}
			if !inPages || len(rs) < paged || next <= page.Nodes.From || next >= page.Nodes.Until {
				return // without progress the store repeats itself
			}
			page.Nodes.From = next
		}
	}
}

// Distinct returns an error if one batch writes a key twice,
// because no order would be right. Stores call it first.
func Distinct(writes []Write) error {
	if len(writes) < 2 {
		return nil
	}
	seen := make(map[Key]bool, len(writes))
	for _, w := range writes {
		if seen[w.New.Key] {
			return fmt.Errorf("lease: node %d of namespace %q is written twice in one batch",
				w.New.Node, w.New.Namespace)
		}
		seen[w.New.Key] = true
	}
	return nil
}
