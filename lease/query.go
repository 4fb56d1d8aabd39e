package lease

import (
	"cmp"
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
