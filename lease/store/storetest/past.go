package storetest

import (
	"math"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// testPast keeps the largest counts of IDs for the past, under keys that
// are no nodes.
func testPast(w *world) {
	before, err := store.Identity(w.ctx, w.st.Store, name)
	w.mustNot(err)
	var want []store.Record
	for _, node := range []int64{-1<<48 - 1<<38, -1<<48 - 1<<24, -1 << 48} {
		r := store.Record{
			Key: store.Key{Namespace: name, Node: node}, Nonce: "first", Revision: 1, Generation: 1,
			At: 1772366400000, Data: strings.Repeat("+/aZ09", 1320),
		}
		want = append(want, r)
		w.swapAll(store.Write{New: r})
	}
	want[1].Nonce, want[1].Data = "second", want[1].Data[1:]
	w.swapAll(store.Write{Old: "first", New: want[1]})
	below := snowfence.NodeRange{From: math.MinInt64, Until: store.SequenceNode}
	got, _, err := w.st.Store.List(w.ctx, name, below, 1000)
	w.mustNot(err)
	if !slices.Equal(got, want) {
		w.Errorf("List below all nodes:\n got %+v\nwant %+v", got, want)
	}
	held, err := scope.Namespaces(w.st.Store).Leases(w.ctx, name)
	w.mustNot(err)
	spaces, err := scope.Namespaces(w.st.Store).List(w.ctx)
	w.mustNot(err)
	if after, err := store.Identity(w.ctx, w.st.Store, name); err != nil || after != before {
		w.Errorf("counts gave the store another identity: %q, before %q, %v", after, before, err)
	}
	if len(held) != 0 || len(spaces) != 1 {
		w.Errorf("counts are nodes: leases %v, namespaces %v", held, spaces)
	}
}
