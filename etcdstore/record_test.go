package etcdstore

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/lease/store"
)

func TestOrdered(t *testing.T) {
	ns := []int64{
		math.MinInt64, -1 << 40, -256, -2, -1, 0, 1, 9, 15, 16, 255, 256, 1<<17 - 1, 1 << 17, 1 << 62,
		math.MaxInt64,
	}
	for i, n := range ns {
		text := sortable(n)
		if back, err := nodeOf("a/b/" + text); err != nil || back != n {
			t.Errorf("%d is written %q and read %d, %v", n, text, back, err)
		}
		if i > 0 && sortable(ns[i-1]) >= text {
			t.Errorf("%q of %d does not sort before %q of %d", sortable(ns[i-1]), ns[i-1], text, n)
		}
	}
	for _, bad := range []string{
		"", "a/", "a/x", "a/5", "a/+000000000000005", "a/800000000000000A",
		"a/08000000000000005",
	} {
		if n, err := nodeOf(bad); err == nil {
			t.Errorf("%q is read as node %d", bad, n)
		}
	}
}

// TestRecord writes records and reads them, and looks which prefixes a value has: that of
// its own nonce, and no other.
func TestRecord(t *testing.T) {
	texts := []string{"", "a", "a\t", "a\\", "a\\t", "\n", "\x00", "\xff", "ä", "a\tb", strings.Repeat("long", 50)}
	text := func() string { return texts[rand.IntN(len(texts))] }
	number := func() int64 { return []int64{math.MinInt64, -1, 0, 1, 12, math.MaxInt64}[rand.IntN(6)] }
	var nonces, values []string
	for range 300 {
		r := store.Record{
			Key: store.Key{Namespace: "ns", Node: 5}, Nonce: "n" + text(), Revision: number(), Generation: number(),
			From: number(), Until: number(), PrevUntil: number(),
			SkipFrom: number(), SkipUntil: number(), Holder: text(), Label: text(), Veto: text(), At: number(),
			Data: text(),
		}
		value := encode(r, "mark")
		back, mark, err := decode(r.Key, []byte(value))
		if err != nil || back != r || mark != "mark" {
			t.Fatalf("%q:\n got %+v, %q, %v\nwant %+v", value, back, mark, err, r)
		}
		nonces, values = append(nonces, r.Nonce), append(values, value)
	}
	for i, nonce := range nonces {
		for j, v := range values {
			begin := prefix(nonce)
			if in := v > begin && v < beyond(begin); in != (nonce == nonces[j]) {
				t.Fatalf("value %q against the prefix %q of %q and %q: %v", v, begin, nonce, nonces[i], in)
			}
		}
	}
	for _, bad := range []string{
		"", "x", strings.Repeat("\t", fields-1), strings.Replace(values[0], "\tmark\t", "\tmark\tx", 1),
		values[0] + "\t",
	} {
		if r, _, err := decode(store.Key{}, []byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, r)
		}
	}
}

func TestKeys(t *testing.T) {
	ks := keyspace("p/")
	k := store.Key{Namespace: "a/b ü", Node: 7}
	if name, err := ks.namespaceOf(ks.record(k)); err != nil || name != k.Namespace {
		t.Errorf("namespace of %q: %q, %v", ks.record(k), name, err)
	}
}

func TestNew(t *testing.T) {
	if _, err := New(nil, nil); err == nil {
		t.Error("no client is no error")
	}
	if _, err := New(&clientv3.Client{}, &Options{Timeout: -time.Second}); err == nil {
		t.Error("a negative timeout is no error")
	}
	st, err := New(&clientv3.Client{}, &Options{Prefix: "team"})
	if err != nil || st.keys != "team/" {
		t.Errorf("prefix %q, %v", st.keys, err)
	}
}
