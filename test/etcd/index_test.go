//go:build unix

package etcd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/test/servers"
)

// TestIndex changes records in all ways, and compares what lists find with the records
// themselves, and how many entries the index has.
func TestIndex(t *testing.T) {
	t.Parallel()
	c := servers.EtcdClient(t, servers.StartEtcd(t))
	st, other := openStore(t, c, "index"), openStore(t, c, "index")
	const nodes = 60
	rnd := rand.New(rand.NewPCG(1, 2))
	namespaces := []string{"a", "a-b", "a.b", "b"}
	stored := map[lease.Key]lease.Record{}
	for i := range 60 {
		var writes []lease.Write
		for _, node := range rnd.Perm(nodes)[:20] {
			k := lease.Key{Namespace: namespaces[rnd.IntN(len(namespaces))], Node: int64(node) - 1}
			r := lease.Record{
				Key: k, Nonce: fmt.Sprint("nonce", i), Revision: stored[k].Revision + 1,
				Until:  int64(rnd.IntN(400) - 20),
				Holder: [2]string{"", "h"}[rnd.IntN(2)], Label: [4]string{"", "x", "x/y", "l\tä\\"}[rnd.IntN(4)],
			}
			writes = append(writes, lease.Write{Old: stored[k].Nonce, New: r})
			stored[k] = r
		}
		swap(t, []lease.Store{st, other}[rnd.IntN(2)], writes) // neither knows what the other wrote
	}
	var all []lease.Record
	entries := map[string]int{}
	for _, r := range stored {
		all = append(all, r)
		entries["r"]++
		entries[map[bool]string{true: "v", false: "h"}[r.Holder == ""]]++
		if r.Label != "" {
			entries["l"]++
		}
	}
	for kind, want := range entries {
		resp, err := c.Get(t.Context(), "index/"+kind+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || int(resp.Count) != want {
			t.Errorf("%d keys of kind %s, want %d: %v", resp.Count, kind, want, err)
		}
	}
	for range 200 {
		q := lease.Query{
			Namespace: append(namespaces, "", "none")[rnd.IntN(6)],
			Nodes:     snowfence.NodeRange{From: int64(rnd.IntN(nodes/2)) - 1, Until: int64(rnd.IntN(nodes)) + 1},
			Label:     [3]string{"", "x", "l\tä\\"}[rnd.IntN(3)], MaxUntil: int64(rnd.IntN(2) * rnd.IntN(400)),
			Vacant: rnd.IntN(3) == 0, ByUntil: rnd.IntN(2) == 0, Limit: rnd.IntN(2) * rnd.IntN(20),
		}
		if rnd.IntN(5) == 0 {
			q.Nodes = snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}
		}
		var want []lease.Record
		for _, r := range all {
			if q.Match(r) {
				want = append(want, r)
			}
		}
		slices.SortFunc(want, q.Compare)
		if q.Limit > 0 {
			want = want[:min(len(want), q.Limit)]
		}
		got, err := st.List(t.Context(), q)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("List(%+v): %v\n got %d %+v\nwant %d %+v", q, err, len(got), got, len(want), want)
		}
		if q.Namespace != "" {
			n := int64(0)
			for _, r := range all {
				if r.Namespace == q.Namespace && r.Node >= q.Nodes.From && r.Node < q.Nodes.Until {
					n++
				}
			}
			if c, err := st.Count(t.Context(), q.Namespace, q.Nodes); err != nil || c != n {
				t.Errorf("Count(%q, %+v) = %d, %v; want %d", q.Namespace, q.Nodes, c, err, n)
			}
		}
	}
	damaged := "index/r/a/dzz"
	if _, err := c.Put(t.Context(), damaged, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.List(t.Context(), lease.Query{
		Namespace: "a", Nodes: snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64},
	}); err == nil || !strings.Contains(err.Error(), damaged) {
		t.Errorf("a key that is none of the store's: %v", err)
	}
}
