package lease

import (
	"cmp"
	"context"
	"fmt"
)

// Match reports whether the query selects r. Stores without an index can filter with it.
func (q Query) Match(r Record) bool {
	return (q.Namespace == "" || r.Namespace == q.Namespace) &&
		r.Node >= q.First && r.Node <= q.Last &&
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

// each calls do with all records of a namespace that match, in the order of their nodes. It reads
// them page by page.
func (q Query) each(ctx context.Context, st Store, do func(Record)) error {
	q.Limit = paged
	for more := true; more; {
		rs, err := st.List(ctx, q)
		if err != nil {
			return err
		}
		next := q.First
		for _, r := range rs {
			if q.Match(r) {
				do(r)
				next = r.Node + 1
			}
		}
		more = len(rs) >= paged && next > q.First // without progress the store repeats itself
		q.First = next
	}
	return nil
}

// Distinct returns an error if a key is written twice in one batch, for which no order of the two would be right. Stores call it first.
func Distinct(writes []Write) error {
	if len(writes) < 2 {
		return nil
	}
	seen := make(map[Key]bool, len(writes))
	for _, w := range writes {
		if seen[w.New.Key] {
			return fmt.Errorf("lease: node %d of namespace %q is written twice in one batch", w.New.Node, w.New.Namespace)
		}
		seen[w.New.Key] = true
	}
	return nil
}
