package store_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
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

const (
	paged   = 4096
	highest = 1<<63 - 2 // a range ends before its Until
)

var errSilent = errors.New("no answer")

// pages is a store in memory that notes where lists begin, and fails at one
// of them.
type pages struct {
	*store.Memory
	from   []int64
	fail   int  // the number of the list that fails, from 1 on
	repeat bool // it begins at node 0 each time
}

func (p *pages) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	if p.from = append(p.from, nodes.From); len(p.from) == p.fail || len(p.from) > 10 {
		return nil, store.Reply{}, errSilent // at the latest in a loop that has no end
	}
	if p.repeat {
		nodes.From = 0
	}
	return p.Memory.List(ctx, namespace, nodes, limit)
}

// full returns a store that has these nodes of the namespace n, and the
// namespace itself.
func full(t *testing.T, nodes ...int64) *pages {
	t.Helper()
	p := &pages{Memory: store.NewMemory()}
	var writes []store.Write
	for _, node := range append(nodes, store.NamespaceNode) {
		writes = append(writes, store.Write{New: store.Record{Key: store.Key{Namespace: "n", Node: node}, Nonce: "x"}})
	}
	if errs, _, _ := p.Swap(t.Context(), writes); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	return p
}

func upTo(n int64) (nodes []int64) {
	for node := range n {
		nodes = append(nodes, node)
	}
	return nodes
}

// All records come once and in order, page by page. No page is asked for
// that must be empty.
func TestRecordsOfManyPages(t *testing.T) {
	for _, c := range []struct {
		stored []int64
		nodes  snowfence.NodeRange
		want   []int64
		from   []int64
	}{
		{nil, snowfence.NodeRange{Until: highest}, nil, []int64{0}},
		{upTo(10), snowfence.NodeRange{}, nil, nil},
		{upTo(10), snowfence.NodeRange{Until: highest}, upTo(10), []int64{0}},
		{upTo(paged - 1), snowfence.NodeRange{Until: highest}, upTo(paged - 1), []int64{0}},
		{upTo(paged), snowfence.NodeRange{Until: highest}, upTo(paged), []int64{0, paged}},
		{upTo(paged), snowfence.NodeRange{Until: paged}, upTo(paged), []int64{0}},
		{upTo(2*paged + 5), snowfence.NodeRange{Until: highest}, upTo(2*paged + 5), []int64{0, paged, 2 * paged}},
		{upTo(2 * paged), snowfence.NodeRange{From: 7, Until: paged + 8}, upTo(paged + 8)[7:], []int64{7, paged + 7}},
		{[]int64{highest}, snowfence.NodeRange{Until: highest + 1}, []int64{highest}, []int64{0}},
	} {
		p := full(t, c.stored...)
		var got []int64
		for r, err := range store.Records(t.Context(), p, "n", c.nodes) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Node)
		}
		if !slices.Equal(got, c.want) || !slices.Equal(p.from, c.from) {
			t.Errorf("%+v of %d records: %d by pages from %v, not %d from %v", c.nodes, len(c.stored), len(got), p.from,
				len(c.want), c.from)
		}
	}
}

// An error comes once, at the end. A caller with enough records asks for no
// more, and a store that repeats itself is not asked for ever.
func TestRecordsEnd(t *testing.T) {
	all := snowfence.NodeRange{Until: highest}
	p := full(t, upTo(paged+1)...)
	p.fail = 2
	n, failed := 0, 0
	for _, err := range store.Records(t.Context(), p, "n", all) {
		if err != nil {
			failed++
			continue
		}
		n++
	}
	if n != paged || failed != 1 {
		t.Errorf("%d records and %d errors", n, failed)
	}
	p = full(t, upTo(paged+1)...)
	for r := range store.Records(t.Context(), p, "n", all) {
		if r.Node == 5 {
			break
		}
	}
	if len(p.from) != 1 {
		t.Errorf("%d pages for six records", len(p.from))
	}
	p.from, p.repeat = nil, true
	for _, err := range store.Records(t.Context(), p, "n", all) {
		if err != nil {
			t.Error(err)
		}
	}
	if len(p.from) != 2 {
		t.Errorf("%d pages of a store that repeats itself", len(p.from))
	}
}

// with is a write of a record that is changed.
func with(change func(*store.Record)) (w store.Write) {
	change(&w.New)
	return w
}

// A batch that writes a record twice is refused, and a text that some
// databases would cut.
func TestCheckedWrites(t *testing.T) {
	a, b := store.Write{New: store.Record{Key: store.Key{"n", 1}}},
		store.Write{New: store.Record{Key: store.Key{"n", 2}}}
	for _, c := range []struct {
		ws []store.Write
		ok bool
	}{
		{nil, true},
		{[]store.Write{a}, true},
		{[]store.Write{a, b}, true},
		{[]store.Write{a, a}, false},
		{[]store.Write{a, b, a}, false},
		{[]store.Write{with(func(r *store.Record) { r.Holder = strings.Repeat("x", 64) })}, true},
		{[]store.Write{with(func(r *store.Record) { r.Holder = strings.Repeat("x", 65) })}, false},
		{[]store.Write{with(func(r *store.Record) { r.Nonce = strings.Repeat("x", 65) })}, false},
		{[]store.Write{with(func(r *store.Record) { r.Namespace = strings.Repeat("x", 65) })}, false},
		{[]store.Write{with(func(r *store.Record) { r.Label = strings.Repeat("x", 255) })}, true},
		{[]store.Write{with(func(r *store.Record) { r.Label = strings.Repeat("x", 256) })}, false},
		{[]store.Write{with(func(r *store.Record) { r.Data = strings.Repeat("x", 60_000) })}, true},
		{[]store.Write{with(func(r *store.Record) { r.Data = strings.Repeat("x", 60_001) })}, false},
		{[]store.Write{with(func(r *store.Record) { r.Veto = strings.Repeat("x", 60_001) })}, false},
	} {
		if err := store.Check(slices.Clone(c.ws)); (err == nil) != c.ok {
			t.Errorf("%d writes: %v", len(c.ws), err)
		}
	}
}

// busy is a store in which another process is always faster, or that fails.
type busy struct {
	store.Store
	swaps int
	read  error
	swap  error
}

func (b *busy) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if b.read != nil {
		return nil, store.Reply{}, b.read
	}
	return b.Store.Get(ctx, keys)
}

func (b *busy) Swap(context.Context, []store.Write, ...store.Key) ([]error, []store.Record, store.Reply) {
	b.swaps++
	return []error{b.swap}, nil, store.Reply{}
}

// An addition by swaps is tried again with pauses that grow, until ctx
// ends. Any other error than a lost swap ends it.
func TestAdditionWhileOthersAreFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &busy{Store: store.NewMemory(), swap: store.ErrLost}
		r := store.Record{Key: store.Key{Namespace: "#n", Node: -2}, Nonce: "x", Generation: 1}
		if _, err := store.Put(t.Context(), st.Store, store.Write{New: r}); err != nil {
			t.Fatal(err)
		}
		a := store.Addition{Key: r.Key, N: 1, Limit: 100, Generation: 1, Nonce: "y"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := store.Add(ctx, st, a); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if st.swaps < 60 || st.swaps > 1000 { // a pause of 8 ms on average, after the first ones
			t.Errorf("%d attempts in a second", st.swaps)
		}
		st.swap = errors.New("no answer")
		if _, _, err := store.Add(t.Context(), st, a); !errors.Is(err, st.swap) {
			t.Errorf("%v", err)
		}
		st.read = errors.New("no record")
		if _, _, err := store.Add(t.Context(), st, a); !errors.Is(err, st.read) {
			t.Errorf("%v", err)
		}
	})
}
