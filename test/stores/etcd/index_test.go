//go:build unix

package etcd

import (
	"math"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// A record is one key, however often it is written, and a key that is none
// of the store's is named.
func TestKeysOfARecord(t *testing.T) {
	t.Parallel()
	c := servers.EtcdClient(t, servers.StartEtcd(t))
	st, other := openStore(t, c, "index"), openStore(t, c, "index")
	r := store.Record{Key: store.Key{Namespace: "a", Node: 5}, Nonce: "x"}
	swap(t, st, []store.Write{{New: r}})
	for i, next := range []store.Record{{Holder: "h", Label: "l\tä\\", Until: 9}, {Label: "x/y", Until: 12}, {}} {
		next.Key, next.Nonce = r.Key, r.Nonce+"x"
		swap(t, []store.Store{other, st}[i%2], []store.Write{{Old: r.Nonce, New: next}}) // which has not read it
		r = next
	}
	resp, err := c.Get(t.Context(), "index/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || len(resp.Kvs) != 2 { // and the id
		t.Errorf("keys %v, %v", resp.Kvs, err)
	}
	damaged := "index/r/a/dzz"
	must(t, tests.ErrOf(c.Put(t.Context(), damaged, "x")))
	every := snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}
	if _, _, err := st.List(t.Context(), "a", every, 100); err == nil || !strings.Contains(err.Error(), damaged) {
		t.Errorf("a key that is none of the store's: %v", err)
	}
}
