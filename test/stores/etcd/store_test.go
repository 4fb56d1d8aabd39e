//go:build unix

package etcd

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// stores returns a function that opens empty stores: each has a prefix of
// its own.
func stores(c *clientv3.Client) func(*testing.T) store.Store {
	var n atomic.Int64
	return func(t *testing.T) store.Store { return openStore(t, c, fmt.Sprint("test", n.Add(1))) }
}

func openStore(t testing.TB, c *clientv3.Client, prefix string) *etcdstore.Store {
	t.Helper()
	st, err := etcdstore.New(c, &etcdstore.Options{Prefix: prefix, Timeout: shared.Patience()})
	must(t, err)
	return st
}

func TestConformance(t *testing.T) {
	open := stores(servers.EtcdClient(t, servers.StartEtcd(t)))
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

// calm are flags for a busy machine: a slow leader does not lose its
// office.
var calm = []string{"--heartbeat-interval=500", "--election-timeout=5000"}

func TestConformanceCluster(t *testing.T) {
	servers.Later(t)
	open := stores(servers.EtcdClient(t, servers.StartEtcdCluster(t, 3, calm...)...))
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

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
	_, _, err = st.List(t.Context(), "a", every, 100)
	tests.Says(t, err, damaged, "a key that is none of the store's")
}

// swap makes writes, all of which must be done: again where the server of a
// busy machine gave up.
func swap(b testing.TB, st store.Store, writes []store.Write) {
	b.Helper()
	left := writes
	shared.Eventually(b, "writes", func() (failed error) {
		var again []store.Write
		results, _, _ := st.Swap(b.Context(), left)
		for i, err := range results {
			if err == nil {
				continue
			}
			rs, _, readErr := st.Get(b.Context(), []store.Key{left[i].New.Key})
			if readErr == nil && rs[0].Nonce == left[i].New.Nonce {
				continue // it was done, and no answer came
			}
			if errors.Is(err, store.ErrLost) {
				b.Fatalf("write %d of %d: %v", i, len(left), err)
			}
			failed, again = err, append(again, left[i])
		}
		left = again
		return failed
	})
}

var nonces atomic.Int64

// renew makes writes that come after others.
func renew(writes []store.Write, ticks int64) {
	for i := range writes {
		w := &writes[i]
		w.Old = w.New.Nonce
		w.New.Nonce = fmt.Sprintf("%026d", 1<<40+nonces.Add(1))
		w.New.Until += ticks
		w.New.Revision++
	}
}
