package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// TestLastNode has 131,071 of 131,072 nodes held in one file and leases the last one: one
// that was never leased, and one that was given back.
func TestLastNode(t *testing.T) {
	nodes := int64(1 << 17)
	if testing.Short() || raced {
		nodes = 1 << 12
	}
	_, st := openFile(t, filepath.Join(t.TempDir(), "ids.db"))
	s, err := snowfence.NewScheme(snowfence.MustLayout("randflake-raw"))
	if err != nil {
		t.Fatal(err)
	}
	ns, err := lease.Namespaces(st).Create(t.Context(), "default", s,
		&lease.NamespaceOptions{MaxTTL: time.Hour, Nodes: snowfence.NodeRange{Until: nodes}})
	if err != nil {
		t.Fatal(err)
	}
	until := s.Layout().TickOf(time.Now().Add(time.Hour))
	last := nodes*3/5 + 1
	start := time.Now()
	var writes []store.Write
	for n := range nodes {
		if n != last {
			writes = append(writes, store.Write{New: store.Record{
				Key: store.Key{Namespace: "default", Node: n}, Nonce: fmt.Sprint("nonce", n), Revision: 1,
				Generation: ns.Generation,
				From:       until - 100, Until: until + n%60, Holder: fmt.Sprint("holder", n),
				Label: fmt.Sprint("label", n),
			}})
		}
	}
	for _, err := range st.Swap(t.Context(), writes) {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d records written in %v", len(writes), time.Since(start))
	for _, what := range []string{"never leased", "given back", "given back"} {
		start := time.Now()
		l, err := lease.Open(t.Context(), st, "default", s, &lease.Options{Label: what})
		took := time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		if n := l.Status().Grant.Node; n != last {
			t.Errorf("leased node %d, want %d", n, last)
		}
		t.Logf("the last node of %d, %s: %v", nodes, what, took)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	renew := writes[:min(10_000, nodes/2)]
	for i := range renew {
		renew[i].Old, renew[i].New.Nonce = renew[i].New.Nonce, fmt.Sprint("next", i)
	}
	start = time.Now()
	for _, err := range st.Swap(t.Context(), renew) {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d renewals in %v", len(renew), time.Since(start))
}
