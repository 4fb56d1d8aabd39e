package linear

import (
	"os"
	"testing"

	"github.com/snowfence/snowfence/kubestore"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// TestKubernetes kills the API server, and its etcd, too.
func TestKubernetes(t *testing.T) {
	k := servers.StartKubernetes(t)
	t.Parallel()
	l := newLink(t, k.Address())
	config, err := kubestore.Kubeconfig(k.Kubeconfig(t, l.address, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	config.Namespace = k.NewNamespace(t)
	check(t, subject{
		open: func(t *testing.T) store.Store {
			t.Helper()
			st, err := kubestore.New(config, nil)
			if err != nil {
				t.Fatal(err)
			}
			return st
		},
		faults: append(l.faults(), killed(k.Process, k.Port), killed(k.Etcd.Process, k.Etcd.Port)),
	})
}
