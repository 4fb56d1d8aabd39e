package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// sample returns a record with a value in each field.
func sample(namespace string, node, n int64) store.Record {
	return store.Record{
		Key:   store.Key{Namespace: namespace, Node: node},
		Nonce: fmt.Sprintf("nonce-%d-%d", node, n), Revision: n, Generation: 7,
		From: math.MaxInt64 - 5, Until: n, PrevUntil: 3,
		Holder: "holder", Label: "läbel 'with\" \\ 日本", Veto: "no", At: 1772366400000, Data: `{"a": "b"}`,
	}
}

func (w *world) swapAll(writes ...store.Write) {
	w.Helper()
	results, _, _ := w.st.Store.Swap(w.ctx, writes)
	for i, err := range results {
		if err != nil {
			w.Fatalf("write %d of %d: %v", i, len(writes), err)
		}
	}
}

func testGet(w *world) {
	r := sample("get", 3, 1)
	w.swapAll(store.Write{New: r})
	keys := []store.Key{{Namespace: "get", Node: 4}, r.Key, {Namespace: "other", Node: 3}, r.Key, {
		Namespace: "get",
		Node:      store.NamespaceNode,
	}}
	rs, _, err := w.st.Store.Get(w.ctx, keys)
	w.mustNot(err)
	want := []store.Record{{Key: keys[0]}, r, {Key: keys[2]}, r, {Key: keys[4]}}
	if !slices.Equal(rs, want) {
		w.Errorf("Get:\n got %+v\nwant %+v", rs, want)
	}
	if rs, _, err := w.st.Store.Get(w.ctx, nil); err != nil || len(rs) != 0 {
		w.Errorf("Get of nothing: %v, %v", rs, err)
	}
}

// testList lists nodes of two namespaces and the heads of a store, in their
// order and by limits.
func testList(w *world) {
	var nodes []store.Record // of the namespace a
	for _, node := range []int64{store.NamespaceNode, 0, 1, 2, 3, 9, 10, 11, 15, 16, 255, 256, 1 << 17, 1 << 40} {
		r := sample("a", node, 1)
		nodes = append(nodes, r)
		w.swapAll(store.Write{New: r}, store.Write{New: sample("a.b", node, 1)})
	}
	far := sample("a", -1000, 1) // is in no list
	w.swapAll(store.Write{New: far})
	rs, _, err := w.st.Store.Get(w.ctx, []store.Key{far.Key})
	if w.mustNot(err); rs[0] != far {
		w.Errorf("Get of a record far below the nodes: %+v", rs[0])
	}
	slices.Reverse(nodes)
	w.swapAll(store.Write{Old: nodes[3].Nonce, New: sample("a", nodes[3].Node, 2)}) // it stays where it is
	nodes[3] = sample("a", nodes[3].Node, 2)
	slices.Reverse(nodes)
	for _, among := range []snowfence.NodeRange{
		{From: -1, Until: math.MaxInt64},
		{Until: math.MaxInt64},
		{From: 2, Until: 3},
		{From: 4, Until: 9},
		{From: 9, Until: 9},
		{From: 10, Until: 9},
		{From: 2, Until: 256},
		{From: 1 << 17, Until: 1<<17 + 1},
		{From: -1, Until: 1},
	} {
		for _, limit := range []int{1, 2, 3, len(nodes) - 1, len(nodes), len(nodes) + 1, 1 << 20} {
			var want []store.Record
			for _, r := range nodes {
				if r.Node >= among.From && r.Node < among.Until && len(want) < limit {
					want = append(want, r)
				}
			}
			got, _, err := w.st.Store.List(w.ctx, "a", among, limit)
			w.mustNot(err)
			if !slices.Equal(got, want) {
				w.Errorf("List of %+v up to %d: got %d records %+v, want %d %+v", among, limit, len(got), got,
					len(want), want)
			}
		}
	}
	if got, _, err := w.st.Store.List(w.ctx, "nothing", snowfence.NodeRange{Until: 9}, 9); err != nil || len(got) != 0 {
		w.Errorf("List of nothing: %+v, %v", got, err)
	}
	want := []string{"a", "a.b", name}
	for _, n := range []string{"A", "a-b", "a_b"} { // an escaped name may sort in another place
		w.swapAll(store.Write{New: sample(n, store.NamespaceNode, 1)})
		want = append(want, n)
	}
	slices.Sort(want)
	heads, _, err := w.st.Store.Heads(w.ctx)
	w.mustNot(err)
	var got []string
	for _, r := range heads {
		if got = append(got, r.Namespace); r.Namespace != name && r != sample(r.Namespace, r.Node, 1) {
			w.Errorf("Heads has %+v", r)
		}
	}
	if !slices.Equal(got, want) {
		w.Errorf("Heads of %q, want %q", got, want)
	}
}

// testAnswers asks the store for its identity and its time, and pins it.
func testAnswers(w *world) {
	for _, namespace := range []string{name, ""} {
		id, err := store.Identity(w.ctx, w.st.Store, namespace)
		w.mustNot(err)
		again, err := store.Identity(w.ctx, w.st.Store, namespace)
		w.mustNot(err)
		if id != again {
			w.Errorf("Identity(%q): %q, and then %q", namespace, id, again)
		}
	}
	first, err := w.st.Store.Pin(w.ctx)
	w.mustNot(err)
	second, err := w.st.Store.Pin(w.ctx)
	w.mustNot(err)
	first()
	w.readNode(0) // while the second one holds
	second()
	w.readNode(0)
}

// testSuspect gives the store another identity, once: a later caller names
// the identity of before.
func testSuspect(w *world) {
	other := sample("other", store.NamespaceNode, 1)
	w.swapAll(store.Write{New: other})
	names := []string{"", name, "other"}
	identities := func() (ids []string) {
		w.Helper()
		for _, n := range names {
			id, err := store.Identity(w.ctx, w.st.Store, n)
			w.mustNot(err)
			ids = append(ids, id)
		}
		return ids
	}
	for i, n := range names {
		before := identities()
		if before[i] == "" {
			return // it has none
		}
		w.mustNot(w.st.Store.Suspect(w.ctx, "not "+before[i]))
		if after := identities(); !slices.Equal(after, before) {
			w.Errorf("Suspect of an identity that the store has not: it was %q, and is %q", before, after)
		}
		w.mustNot(w.st.Store.Suspect(w.ctx, before[i]))
		after := identities()
		for j := range names {
			if after[j] == before[j] {
				w.Errorf("Suspect of the identity of %q: the identity of %q is still %q", n, names[j], after[j])
			}
		}
		w.mustNot(w.st.Store.Suspect(w.ctx, before[i]))
		if again := identities(); !slices.Equal(again, after) {
			w.Errorf("Suspect of an identity of before: it was %q, and is %q", after, again)
		}
	}
	rs, _, err := w.st.Store.Get(w.ctx, []store.Key{other.Key})
	w.mustNot(err)
	if rs[0] != other {
		w.Errorf("Suspect left %+v, want %+v", rs[0], other)
	}
	w.swapAll(store.Write{Old: other.Nonce, New: sample("other", store.NamespaceNode, 2)})
}

func testSwap(w *world) {
	first, second := sample("swap", 1, 1), sample("swap", 1, 2)
	second.Holder, second.Data = "", ""
	expect := func(what string, write store.Write, want error, stored store.Record) {
		w.Helper()
		keys := []store.Key{{Namespace: write.New.Namespace, Node: 77}, write.New.Key}
		errs, after, _ := w.st.Store.Swap(w.ctx, []store.Write{write}, keys...)
		if !errors.Is(errs[0], want) {
			w.Errorf("%s: %v, want %v", what, errs[0], want)
		}
		if after != nil && (len(after) != 2 || after[0] != store.Record{Key: keys[0]} || after[1] != stored) {
			w.Errorf("%s: after it the store read %+v, want %+v", what, after, stored)
		}
		rs, _, err := w.st.Store.Get(w.ctx, keys[1:])
		w.mustNot(err)
		if rs[0] != stored {
			w.Errorf("%s left %+v, want %+v", what, rs[0], stored)
		}
	}
	expect("a swap of a record that is not there", store.Write{Old: "x", New: first}, store.ErrLost,
		store.Record{Key: first.Key})
	expect("the first write", store.Write{New: first}, nil, first)
	expect("a first write of a record that is there", store.Write{New: second}, store.ErrLost, first)
	for _, wrong := range []string{"a", "x", first.Nonce + "x", first.Nonce[:len(first.Nonce)-1]} {
		expect("a swap with a wrong nonce", store.Write{Old: wrong, New: second}, store.ErrLost, first)
	}
	expect("a swap", store.Write{Old: first.Nonce, New: second}, nil, second)
	expect("the same swap again", store.Write{Old: first.Nonce, New: second}, store.ErrLost, second)
	expect("a swap of what did not change but for the nonce", store.Write{Old: second.Nonce, New: first}, nil, first)
}

func testBatch(w *world) {
	var writes []store.Write
	for node := range int64(1200) {
		writes = append(writes, store.Write{New: sample("batch", node, 1)})
	}
	w.swapAll(writes...)
	for i := range writes {
		writes[i].Old = writes[i].New.Nonce
		if i%3 == 0 {
			writes[i].Old = "wrong"
		}
		writes[i].New = sample("batch", int64(i), 2)
	}
	results, after, _ := w.st.Store.Swap(w.ctx, writes, writes[1].New.Key)
	if after != nil && (len(after) != 1 || after[0] != writes[1].New) {
		w.Errorf("after a batch the store read %+v, want %+v", after, writes[1].New)
	}
	for i, err := range results {
		if want := i%3 == 0; errors.Is(err, store.ErrLost) != want || err != nil && !want {
			w.Fatalf("write %d of a batch: %v, lost wanted: %v", i, err, want)
		}
	}
	var keys []store.Key
	for _, x := range writes {
		keys = append(keys, x.New.Key)
	}
	rs, _, err := w.st.Store.Get(w.ctx, keys)
	w.mustNot(err)
	for i, r := range rs {
		want := int64(2)
		if i%3 == 0 {
			want = 1
		}
		if r != sample("batch", int64(i), want) {
			w.Fatalf("record %d after the batch: %+v", i, r)
		}
	}
	twice := []store.Write{{New: sample("batch", 5000, 1)}, {New: sample("batch", 5000, 2)}}
	results, _, _ = w.st.Store.Swap(w.ctx, twice)
	for i, err := range results {
		if err == nil {
			w.Errorf("write %d of a batch with the same key twice was done", i)
		}
	}
	if errs, _, _ := w.st.Store.Swap(w.ctx, nil); len(errs) != 0 {
		w.Errorf("a batch of nothing: %v", errs)
	}
}

// testContention lets many swap one record: for each nonce exactly one may
// win, and reads never go back.
func testContention(w *world) {
	const rounds, clients = 20, 8
	key := store.Key{Namespace: "contention", Node: 1}
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[string]int{} // by the nonce that was replaced
	for c := range clients {
		wg.Go(func() {
			last := int64(0)
			for i := range rounds {
				rs, _, err := w.st.Store.Get(w.ctx, []store.Key{key})
				if err != nil {
					w.Error(err)
					return
				}
				if rs[0].Revision < last {
					w.Errorf("a read went back from revision %d to %d", last, rs[0].Revision)
				}
				last = rs[0].Revision
				next := rs[0]
				next.Nonce, next.Revision = fmt.Sprint(c, "/", i), last+1
				switch _, err := store.Put(w.ctx, w.st.Store, store.Write{Old: rs[0].Nonce, New: next}); {
				case err == nil:
					mu.Lock()
					won[rs[0].Nonce]++
					mu.Unlock()
					last++
				case !errors.Is(err, store.ErrLost):
					w.Error(err)
				}
			}
		})
	}
	wg.Wait()
	rs, _, err := w.st.Store.Get(w.ctx, []store.Key{key})
	w.mustNot(err)
	if int(rs[0].Revision) != len(won) {
		w.Errorf("%d swaps were acknowledged, and the revision is %d", len(won), rs[0].Revision)
	}
	for nonce, n := range won {
		if n != 1 {
			w.Errorf("nonce %q was replaced %d times", nonce, n)
		}
	}
}

// testConcurrentBatches lets batches with common keys run at once, in
// opposite orders.
func testConcurrentBatches(w *world) {
	const nodes = 50
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			for range 5 {
				var keys []store.Key
				for n := range int64(nodes) {
					if c%2 == 0 {
						n = nodes - 1 - n
					}
					keys = append(keys, store.Key{Namespace: "batches", Node: n})
				}
				rs, _, err := w.st.Store.Get(w.ctx, keys)
				if err != nil {
					w.Error(err)
					return
				}
				writes := make([]store.Write, len(rs))
				for i, r := range rs {
					next := sample("batches", r.Node, r.Revision+1)
					next.Nonce += fmt.Sprint("by", c)
					writes[i] = store.Write{Old: r.Nonce, New: next}
				}
				results, _, _ := w.st.Store.Swap(w.ctx, writes)
				for _, err := range results {
					if err != nil && !errors.Is(err, store.ErrLost) {
						w.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}
