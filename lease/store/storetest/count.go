package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// countKey is where a sequence keeps its count.
func countKey(sequence string) store.Key { return store.Key{Namespace: "#" + sequence, Node: -2} }

// counted returns the record of a sequence after its first from numbers.
func counted(k store.Key, from int64) store.Record {
	return store.Record{
		Key: k, Nonce: "first", Revision: 5, Generation: 7, From: from, PrevUntil: 1,
		Veto: "why", At: 1772366400000, Data: `{"mode": "strict"}`,
	}
}

// testAdd checks an addition where it is clipped, where it is refused, and
// its result.
func testAdd(w *world) {
	k := countKey("add.ition_-0")
	a := store.Addition{Key: k, N: 10, Limit: 1000, Generation: 7, Nonce: "next"}
	expect := func(what string, a store.Addition, want store.Record, failure error) {
		w.Helper()
		got, _, err := store.Add(w.ctx, w.st.Store, a)
		if !errors.Is(err, failure) || err == nil && got != want {
			w.Errorf("%s: %+v, %v, want %+v, %v", what, got, err, want, failure)
		}
		rs, _, err := w.st.Store.Get(w.ctx, []store.Key{a.Key})
		w.mustNot(err)
		if rs[0] != want {
			w.Errorf("%s left %+v, want %+v", what, rs[0], want)
		}
	}
	none := a
	for none.Generation = range int64(2) {
		expect("an addition to nothing", none, store.Record{Key: k}, store.ErrLost)
	}
	r := counted(k, 0)
	w.swapAll(store.Write{New: r})
	other := a
	other.Generation = 8
	expect("an addition of a later generation", other, r, store.ErrLost)
	other.Generation = 6
	expect("an addition of an earlier generation", other, r, store.ErrLost)
	for i, c := range []struct{ n, limit, from int64 }{
		{10, 1000, 10},
		{1, 1000, 11},
		{989, 1000, 1000},
		{5, 1000, 1000},
		{5, 900, 1000},
		{5, 1003, 1003},
		{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 1},
		{2, math.MaxInt64, math.MaxInt64},
		{2, math.MaxInt64, math.MaxInt64},
	} {
		a.N, a.Limit, a.Nonce = c.n, c.limit, fmt.Sprint("nonce", i)
		r.PrevUntil, r.From, r.Revision = r.From, c.from, r.Revision+1
		r.Nonce = a.NonceAt(r.Revision)
		expect(fmt.Sprintf("an addition of %d up to %d", c.n, c.limit), a, r, nil)
	}
	lost := store.Write{Old: "nonce0.6", New: r}
	if _, err := store.Put(w.ctx, w.st.Store, lost); !errors.Is(err, store.ErrLost) {
		w.Errorf("a swap of what an addition changed: %v", err)
	}
	next := r
	next.Nonce, next.From = "back", 7
	w.swapAll(store.Write{Old: r.Nonce, New: next})
	a.N, a.Nonce = 1, "again"
	next.PrevUntil, next.From, next.Revision = 7, 8, next.Revision+1
	next.Nonce = a.NonceAt(next.Revision)
	expect("an addition to what was lowered", a, next, nil)
	first := next
	next.PrevUntil, next.From, next.Revision = 8, 9, next.Revision+1
	next.Nonce = a.NonceAt(next.Revision)
	expect("the same addition again", a, next, nil)
	_, err := store.Put(w.ctx, w.st.Store, store.Write{Old: first.Nonce, New: first})
	if !errors.Is(err, store.ErrLost) {
		w.Errorf("a swap of the record that a repeated addition left: %v", err)
	}
}

// testSequenceKeys checks that a namespace does not show the records of a
// sequence with its name.
func testSequenceKeys(w *world) {
	day := store.Key{Namespace: "#" + name, Node: 20261122}
	w.swapAll(store.Write{New: counted(countKey(name), 9)}, store.Write{New: counted(day, 8)})
	rs, _, err := w.st.Store.Get(w.ctx, []store.Key{day, {Namespace: name, Node: -2}, countKey(name)})
	w.mustNot(err)
	want := []store.Record{counted(day, 8), {Key: store.Key{Namespace: name, Node: -2}}, counted(countKey(name), 9)}
	if !slices.Equal(rs, want) {
		w.Errorf("Get:\n got %+v\nwant %+v", rs, want)
	}
	nodes := snowfence.NodeRange{Until: math.MaxInt64}
	heads, _, err := w.st.Store.Heads(w.ctx)
	w.mustNot(err)
	if len(heads) != 2 || heads[0] != want[2] || heads[1].Namespace != name {
		w.Errorf("Heads: %+v", heads)
	}
	for _, c := range []struct {
		namespace string
		nodes     snowfence.NodeRange
		want      []store.Record
	}{
		{"#" + name, nodes, want[:1]},
		{name, snowfence.NodeRange{From: math.MinInt64, Until: -1}, nil},
		{name, nodes, nil},
	} {
		got, _, err := w.st.Store.List(w.ctx, c.namespace, c.nodes, 100)
		w.mustNot(err)
		if !slices.Equal(got, c.want) {
			w.Errorf("List(%+v): %+v, want %+v", c, got, c.want)
		}
	}
	spaces, err := scope.Namespaces(w.st.Store).List(w.ctx)
	w.mustNot(err)
	held, err := scope.Namespaces(w.st.Store).Leases(w.ctx, name)
	w.mustNot(err)
	if len(spaces) != 1 || spaces[0].Name != name || len(held) != 0 {
		w.Errorf("namespaces %v with nodes %v, want %s alone", spaces, held, name)
	}
}

// testAdditions lets many add at once, while some of them give back: no
// number comes twice.
func testAdditions(w *world) {
	const clients, rounds = 8, 15
	k := countKey("additions")
	w.swapAll(store.Write{New: counted(k, 0)})
	type part struct{ from, until int64 }
	var mu sync.Mutex
	var parts []part
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range rounds {
				a := store.Addition{
					Key: k, N: int64(c + 1), Limit: math.MaxInt64, Generation: 7, Nonce: fmt.Sprint(c, ".", i),
				}
				r, _, err := store.Add(w.ctx, w.st.Store, a)
				if err != nil || r.Nonce != a.NonceAt(r.Revision) && r.Nonce != a.Nonce || r.From != r.PrevUntil+a.N {
					w.Errorf("addition of %d: %+v, %v", a.N, r, err)
					return
				}
				used := part{r.PrevUntil, r.From}
				if i%3 == 2 {
					back := r
					back.Nonce, back.Revision, back.From = a.Nonce+"b", r.Revision+1, r.From-1
					_, err := store.Put(w.ctx, w.st.Store, store.Write{Old: r.Nonce, New: back})
					if err == nil {
						used.until--
					} else if !errors.Is(err, store.ErrLost) {
						w.Error(err)
					}
				}
				mu.Lock()
				parts = append(parts, used)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.until, b.until))
	})
	end := int64(0)
	for _, p := range parts {
		if p.from != end {
			w.Errorf("numbers from %d to %d, after %d: they overlap, or some are missing", p.from, p.until, end)
		}
		end = p.until
	}
}
