package lease

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// A query selects what matches all that it asks for, each bound included.
func TestQueryMatches(t *testing.T) {
	r := Record{Key: Key{"n", 5}, Label: "a", Until: 100}
	held := r
	held.Holder = "h"
	for name, c := range map[string]struct {
		q    Query
		r    Record
		want bool
	}{
		"its node":            {Query{First: 5, Last: 5}, r, true},
		"a node below":        {Query{First: 6, Last: 9}, r, false},
		"a node above":        {Query{First: 0, Last: 4}, r, false},
		"its namespace":       {Query{Namespace: "n", Last: 9}, r, true},
		"another namespace":   {Query{Namespace: "m", Last: 9}, r, false},
		"its label":           {Query{Label: "a", Last: 9}, r, true},
		"another label":       {Query{Label: "b", Last: 9}, r, false},
		"until its end":       {Query{MaxUntil: 100, Last: 9}, r, true},
		"until before":        {Query{MaxUntil: 99, Last: 9}, r, false},
		"vacant, and it is":   {Query{Vacant: true, Last: 9}, r, true},
		"vacant, and is held": {Query{Vacant: true, Last: 9}, held, false},
		"held":                {Query{Last: 9}, held, true},
	} {
		if c.q.Match(c.r) != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
}

// Records are in the order of their namespaces and nodes, or of their ends first.
func TestQueryOrders(t *testing.T) {
	of := func(namespace string, node, until int64) Record {
		return Record{Key: Key{namespace, node}, Until: until}
	}
	a, b, c := of("m", 7, 3), of("n", 5, 2), of("n", 6, 2)
	for until, want := range map[bool][]Record{false: {a, b, c}, true: {b, c, a}} {
		rs := []Record{c, a, b}
		if slices.SortFunc(rs, Query{ByUntil: until}.Compare); !slices.Equal(rs, want) {
			t.Errorf("by their ends %t: %+v", until, rs)
		}
	}
}

// paging is a store that counts how often it lists, and can ignore where the list is to begin.
type paging struct {
	*Memory
	lists  int
	repeat bool
}

func (p *paging) List(ctx context.Context, q Query) ([]Record, error) {
	if p.lists++; p.lists > 10 {
		return nil, errSilent // a loop that has no end
	}
	if p.repeat {
		q.First = 0
	}
	return p.Memory.List(ctx, q)
}

// All records are read, page by page and each once, also from a store that lists more than was
// asked for.
func TestQueryOfEachRecord(t *testing.T) {
	for n, lists := range map[int]int{0: 1, 1: 1, paged - 1: 1, paged: 2, paged + 1: 2, 2 * paged: 3} {
		for _, repeat := range []bool{false, true} {
			st := &paging{Memory: NewMemory(), repeat: repeat}
			var writes []Write
			for node := range n {
				writes = append(writes, Write{New: Record{Key: Key{"n", int64(node)}, Nonce: "x"}})
			}
			if err := errors.Join(st.Swap(t.Context(), writes)...); err != nil {
				t.Fatal(err)
			}
			next := int64(0)
			err := Query{Namespace: "n", Last: int64(n)}.each(t.Context(), st, func(r Record) {
				if r.Node != next {
					t.Fatalf("node %d after %d", r.Node, next-1)
				}
				next++
			})
			if want := min(n, paged); err != nil || next != int64(n) && (!repeat || next != int64(want)) ||
				!repeat && st.lists != lists {
				t.Errorf("%d of %d records in %d pages, %v", next, n, st.lists, err)
			}
		}
	}
}

// A batch that writes a record twice is refused.
func TestDistinctWrites(t *testing.T) {
	a, b := Write{New: Record{Key: Key{"n", 1}}}, Write{New: Record{Key: Key{"n", 2}}}
	for _, c := range []struct {
		ws []Write
		ok bool
	}{{nil, true}, {[]Write{a}, true}, {[]Write{a, b}, true}, {[]Write{a, a}, false}, {[]Write{a, b, a}, false}} {
		if err := Distinct(slices.Clone(c.ws)); (err == nil) != c.ok {
			t.Errorf("%d writes: %v", len(c.ws), err)
		}
	}
}
