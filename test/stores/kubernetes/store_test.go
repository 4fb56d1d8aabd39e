// Package kubernetes runs kubestore over a real API server and etcd.
package kubernetes

import (
	"os"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/kubestore"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// config is that of a token's programs in a namespace.
func config(t testing.TB, k *servers.Kubernetes, token, namespace string) *kubestore.Config {
	t.Helper()
	c, err := kubestore.Kubeconfig(k.Kubeconfig(t, k.Address(), token))
	must(t, err)
	c.Namespace = namespace
	return c
}

func open(t testing.TB, c *kubestore.Config) *kubestore.Store {
	t.Helper()
	st, err := kubestore.New(c, &kubestore.Options{Timeout: 20 * time.Second}) // the machine may be busy
	must(t, err)
	return st
}

func TestConformance(t *testing.T) {
	k := servers.StartKubernetes(t)
	each := func(t *testing.T) store.Store { return open(t, config(t, k, "admin", k.NewNamespace(t))) }
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, each)
		storetest.RunCounts(t, each)
	})
}

// The rights of the chart's Role are enough, and the error about missing
// ones names them.
func TestRights(t *testing.T) {
	k := servers.StartKubernetes(t)
	namespace := k.NewNamespace(t)
	pod := config(t, k, "pod", namespace)
	st := open(t, pod)
	_, _, err := st.Heads(t.Context())
	tests.Says(t, err, "get, list, create and update", "without rights")
	const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/"
	for path, body := range map[string]string{
		"/roles": `{"metadata": {"name": "ids"}, "rules": [{"apiGroups": ["coordination.k8s.io"],
			"resources": ["leases"], "verbs": ["get", "list", "create", "update"]}]}`,
		"/rolebindings": `{"metadata": {"name": "ids"}, "subjects": [{"kind": "User", "name": "pod"}],
			"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ids"}}`,
	} {
		must(t, k.Ask("POST", roles+namespace+path, body, nil))
	}
	var ids *snowfence.Generator
	fleet.Eventually(t, "the Role counts", func() (err error) {
		ids, err = kubestore.Open(t.Context(), pod, nil)
		return err
	})
	must(t, tests.ErrOf(ids.Next(t.Context())))
	must(t, ids.Close())
	tests.WantErr(t, tests.ErrOf(scope.Namespaces(st).Restored(t.Context(), "default")), nil, "store restored")
}
