package lease_test

import (
	"errors"
	"math"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Holders see no record of a sequence, and write none.
func TestHoldersSeeNoSequences(t *testing.T) {
	raw := lease.NewMemory()
	keys := []lease.Key{
		{Namespace: "#n", Node: -2}, {Namespace: "#n", Node: 20261122}, {Namespace: "n", Node: 5},
	}
	for _, k := range keys {
		r := lease.Record{Key: k, Nonce: "x", Generation: 1, From: 7, Data: "{}"}
		if err := raw.Swap(t.Context(), []lease.Write{{New: r}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	st := lease.Holders(raw, nil)
	rs, err := st.Get(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	if rs[0] != (lease.Record{Key: keys[0]}) || rs[1] != (lease.Record{Key: keys[1]}) || rs[2].Nonce != "x" {
		t.Errorf("%+v", rs)
	}
	for _, namespace := range []string{"n", "#n"} {
		nodes := snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}
		rs, err := st.List(t.Context(), namespace, nodes, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			if r.Key != keys[2] {
				t.Errorf("namespace %q lists %+v", namespace, r)
			}
		}
		if namespace == "n" && len(rs) != 1 {
			t.Errorf("%d records are listed", len(rs))
		}
	}
	a := store.Addition{Key: keys[0], N: 1, Limit: 100, Generation: 1, Nonce: "y"}
	if _, err := st.Add(t.Context(), a); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("an addition: %v", err)
	}
	w := lease.Write{Old: "x", New: lease.Record{Key: keys[0], Nonce: "y", From: 3}}
	if err := st.Swap(t.Context(), []lease.Write{w})[0]; err == nil {
		t.Error("a write was done")
	}
	if rs, err := raw.Get(t.Context(), keys[:1]); err != nil || rs[0].From != 7 || rs[0].Nonce != "x" {
		t.Errorf("%+v, %v", rs, err)
	}
}
