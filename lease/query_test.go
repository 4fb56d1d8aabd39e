package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/snowfence/snowfence"
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
		"its node":            {Query{Nodes: snowfence.NodeRange{From: 5, Until: 6}}, r, true},
		"a node below":        {Query{Nodes: snowfence.NodeRange{From: 6, Until: 10}}, r, false},
		"a node above":        {Query{Nodes: snowfence.NodeRange{Until: 5}}, r, false},
		"its namespace":       {Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: 10}}, r, true},
		"another namespace":   {Query{Namespace: "m", Nodes: snowfence.NodeRange{Until: 10}}, r, false},
		"its label":           {Query{Label: "a", Nodes: snowfence.NodeRange{Until: 10}}, r, true},
		"another label":       {Query{Label: "b", Nodes: snowfence.NodeRange{Until: 10}}, r, false},
		"until its end":       {Query{MaxUntil: 100, Nodes: snowfence.NodeRange{Until: 10}}, r, true},
		"until before":        {Query{MaxUntil: 99, Nodes: snowfence.NodeRange{Until: 10}}, r, false},
		"vacant, and it is":   {Query{Vacant: true, Nodes: snowfence.NodeRange{Until: 10}}, r, true},
		"vacant, and is held": {Query{Vacant: true, Nodes: snowfence.NodeRange{Until: 10}}, held, false},
		"held":                {Query{Nodes: snowfence.NodeRange{Until: 10}}, held, true},
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
		q.Nodes.From = 0
	}
	return p.Memory.List(ctx, q)
}

// All records are read, page by page and each once,
// even if the store lists more than was asked for.
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
			among := snowfence.NodeRange{Until: int64(n) + 1}
			for r, err := range Records(t.Context(), st, Query{Namespace: "n", Nodes: among}) {
				if r.Node != next || err != nil {
					t.Fatalf("node %d after %d, %v", r.Node, next-1, err)
				}
				next++
			}
			if want := min(n, paged); next != int64(n) && (!repeat || next != int64(want)) ||
				!repeat && st.lists != lists {
				t.Errorf("%d of %d records in %d pages", next, n, st.lists)
			}
		}
	}
}

// pages is a store in memory that notes what is listed, and fails at one of the lists.
type pages struct {
	*Memory
	asked []Query
	fail  int // the number of the list that fails, from 1 on
}

func (p *pages) List(ctx context.Context, q Query) ([]Record, error) {
	if p.asked = append(p.asked, q); len(p.asked) == p.fail || len(p.asked) > 10 {
		return nil, errSilent // at the latest in a loop that has no end
	}
	return p.Memory.List(ctx, q)
}

// full returns a store that has nodes 0 to n−1 of the namespace n, and the namespace itself.
func full(t *testing.T, n int64) *pages {
	t.Helper()
	p := &pages{Memory: NewMemory()}
	var writes []Write
	for node := NamespaceNode; int64(node) < n; node++ {
		writes = append(writes, Write{New: Record{Key: Key{"n", int64(node)}, Nonce: "x", Until: n - int64(node)}})
	}
	if err := errors.Join(p.Swap(t.Context(), writes)...); err != nil {
		t.Fatal(err)
	}
	return p
}

// All records come once and in order, page by
// page. No page is asked for that must be empty.
func TestRecordsOfManyPages(t *testing.T) {
	const all = 1<<63 - 1
	for _, c := range []struct {
		stored int64
		q      Query
		want   string // first node, last node, and how many
		first  []int64
	}{
		{0, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}}, "0 0 0", []int64{0}},
		{10, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}}, "0 9 10", []int64{0}},
		{paged - 1, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}}, "0 4094 4095", []int64{0}},
		{paged, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}}, "0 4095 4096", []int64{0, paged}},
		{paged, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: paged}}, "0 4095 4096", []int64{0}},
		{2*paged + 5, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}}, "0 8196 8197", []int64{0, paged, 2 * paged}},
		{2*paged + 5, Query{Namespace: "n", Nodes: snowfence.NodeRange{From: 7, Until: 2*paged + 1}}, "7 8192 8186", []int64{7, paged + 7}},
		{2*paged + 5, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}, Limit: paged + 1}, "0 4096 4097", []int64{0, paged}},
		{2*paged + 5, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}, Limit: paged}, "0 4095 4096", []int64{0}},
		{2*paged + 5, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}, Limit: 3}, "0 2 3", []int64{0}},
		{2*paged + 5, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: all}, ByUntil: true}, "8196 0 8197", []int64{0}}, // the last one ends first
		{2*paged + 5, Query{Nodes: snowfence.NodeRange{From: NamespaceNode, Until: all}}, "-1 8196 8198", []int64{NamespaceNode}},
		{2*paged + 5, Query{Nodes: snowfence.NodeRange{Until: all}, Limit: 5}, "0 4 5", []int64{0}},
	} {
		p := full(t, c.stored)
		var nodes []int64
		for r, err := range Records(t.Context(), p, c.q) {
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, r.Node)
		}
		got := "0 0 0"
		if len(nodes) > 0 {
			got = fmt.Sprint(nodes[0], nodes[len(nodes)-1], len(nodes))
		}
		var first []int64
		for _, q := range p.asked {
			first = append(first, q.Nodes.From)
		}
		if got != c.want || !slices.Equal(first, c.first) {
			t.Errorf("%+v of %d records: %s by pages from %v; want %s, %v", c.q, c.stored, got, first, c.want, c.first)
		}
	}
}

// An error comes once, at the end. A caller with enough records asks for no more.
func TestRecordsEnd(t *testing.T) {
	p := full(t, paged+1)
	p.fail = 2
	n, failed := 0, 0
	for _, err := range Records(t.Context(), p, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: 1<<63 - 1}}) {
		if err != nil {
			failed++
			continue
		}
		n++
	}
	if n != paged || failed != 1 {
		t.Errorf("%d records and %d errors", n, failed)
	}
	p = full(t, paged+1)
	for r := range Records(t.Context(), p, Query{Namespace: "n", Nodes: snowfence.NodeRange{Until: 1<<63 - 1}}) {
		if r.Node == 5 {
			break
		}
	}
	if len(p.asked) != 1 {
		t.Errorf("%d pages for six records", len(p.asked))
	}
}

// stubborn is a store that gives records nobody asked for, and the same ones again.
type stubborn struct{ Store }

func (s stubborn) List(ctx context.Context, q Query) ([]Record, error) {
	q.Nodes.From, q.Limit = 0, 0
	return s.Store.List(ctx, q)
}

// A store may return more than was asked for.
// No record comes twice, and there is an end.
func TestRecordsOfAStoreThatReturnsMore(t *testing.T) {
	var nodes []int64
	for r, err := range Records(t.Context(), stubborn{full(t, paged+10)}, Query{
		Namespace: "n", Nodes: snowfence.NodeRange{From: 3, Until: 1<<63 - 1},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, r.Node)
	}
	if len(nodes) != paged+7 || !slices.IsSorted(nodes) || nodes[0] != 3 {
		t.Errorf("%d nodes from %d on", len(nodes), nodes[0])
	}
}

// The highest node of all is the last record, and comes once.
func TestRecordsUpToTheHighestNode(t *testing.T) {
	const highest = 1<<63 - 2 // a range ends before its Until
	for n, lists := range map[int64]int{0: 1, paged - 1: 1} {
		p := full(t, n)
		if err := p.Swap(t.Context(), []Write{{New: Record{Key: Key{"n", highest}, Nonce: "x"}}})[0]; err != nil {
			t.Fatal(err)
		}
		var nodes []int64
		among := snowfence.NodeRange{Until: highest + 1}
		for r, err := range Records(t.Context(), p, Query{Namespace: "n", Nodes: among}) {
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, r.Node)
		}
		if int64(len(nodes)) != n+1 || nodes[n] != highest || len(p.asked) != lists {
			t.Errorf("%d nodes in %d pages, the last one %d", len(nodes), len(p.asked), nodes[len(nodes)-1])
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
