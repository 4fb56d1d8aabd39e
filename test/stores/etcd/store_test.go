//go:build unix

package etcd

import (
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/etcdstore"
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
