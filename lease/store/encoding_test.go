package store_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
)

// A record that was encoded is decoded to the same one. The bytes begin
// with the front of its own nonce only.
func TestEncodedRecords(t *testing.T) {
	texts := []string{"", "a", "a\t", "a\\", "a\\t", "\n", "\x00", "\xff", "ä", "a\tb", strings.Repeat("long", 50)}
	text := func() string { return texts[rand.IntN(len(texts))] }
	number := func() int64 { return []int64{math.MinInt64, -1, 0, 1, 12, math.MaxInt64}[rand.IntN(6)] }
	var nonces, encoded []string
	for range 300 {
		r := store.Record{
			Key: store.Key{Namespace: "ns", Node: 5}, Nonce: "n" + text(), Revision: number(), Generation: number(),
			From: number(), Until: number(), PrevUntil: number(),
			Holder: text(), Label: text(), Veto: text(), At: number(), Data: text(),
		}
		want := text()
		e := store.Encode(r, want)
		back, mark, err := store.Decode(r.Key, e)
		if err != nil || back != r || mark != want {
			t.Fatalf("%q:\n got %+v, %q, %v\nwant %+v", e, back, mark, err, r)
		}
		nonces, encoded = append(nonces, r.Nonce), append(encoded, e)
	}
	for i, nonce := range nonces {
		for j, e := range encoded {
			if has := strings.HasPrefix(e, store.Front(nonce)); has != (nonce == nonces[j]) {
				t.Fatalf("%q has the front of %q: %v, of the %d-th nonce", e, nonce, has, i)
			}
		}
	}
	safe := "stop the programs of this store, restore a backup, and run snowfence store restored before one starts"
	for _, bad := range []string{
		"", "x", strings.Repeat("\t", 13), strings.Replace(encoded[0], "\t", "\tx\t", 1), "n\t\tx" + strings.Repeat("\t1", 11),
		encoded[0] + "\t",
	} {
		if r, _, err := store.Decode(store.Key{}, bad); err == nil || !strings.Contains(err.Error(), safe) {
			t.Errorf("%q is read as %+v, %v", bad, r, err)
		}
	}
}

// Nodes as text sort as they do, and are read back.
func TestNodesAsText(t *testing.T) {
	ns := []int64{
		math.MinInt64, -1 << 40, -256, -2, -1, 0, 1, 9, 15, 16, 255, 256, 1<<17 - 1, 1 << 17, 1 << 62,
		math.MaxInt64,
	}
	for i, n := range ns {
		text := store.NodeText(n)
		if back, err := store.ParseNodeText(text); err != nil || back != n {
			t.Errorf("%d is written %q and read %d, %v", n, text, back, err)
		}
		if i > 0 && store.NodeText(ns[i-1]) >= text {
			t.Errorf("%q of %d does not sort before %q of %d", store.NodeText(ns[i-1]), ns[i-1], text, n)
		}
	}
	for _, bad := range []string{"", "x", "5", "+000000000000005", "800000000000000A", "08000000000000005"} {
		tests.Fails(t, tests.ErrOf(store.ParseNodeText(bad)), "%q is read as node", bad)
	}
}
