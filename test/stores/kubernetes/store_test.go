package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/kubestore"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
)

func tlsOf(c *kubestore.Config) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.CA) {
		return nil, errors.New("the API server has made no certificate yet")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func open(t testing.TB, c *kubestore.Config) *kubestore.Store {
	t.Helper()
	st, err := kubestore.New(c, &kubestore.Options{Timeout: 20 * time.Second}) // the machine may be busy
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestConformance(t *testing.T) {
	c := start(t)
	each := func(t *testing.T) store.Store { return open(t, c.config("admin", c.namespace())) }
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, each)
		storetest.RunCounts(t, each)
	})
}

// The rights of the chart's Role are enough, and the error about missing ones names them.
func TestRights(t *testing.T) {
	c := start(t)
	namespace := c.namespace()
	st := open(t, c.config("pod", namespace))
	want := "get, list, create and update"
	if _, err := st.Heads(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, which should say %q", err, want)
	}
	const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/"
	for path, body := range map[string]string{
		"/roles": `{"metadata": {"name": "ids"}, "rules": [{"apiGroups": ["coordination.k8s.io"],
			"resources": ["leases"], "verbs": ["get", "list", "create", "update"]}]}`,
		"/rolebindings": `{"metadata": {"name": "ids"}, "subjects": [{"kind": "User", "name": "pod"}],
			"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ids"}}`,
	} {
		if err := c.ask("POST", roles+namespace+path, body); err != nil {
			t.Fatal(err)
		}
	}
	var ids *snowfence.Generator
	c.eventually("the Role counts", func() (err error) {
		ids, err = kubestore.Open(t.Context(), c.config("pod", namespace), nil)
		return err
	})
	if _, err := ids.Next(t.Context()); err != nil {
		t.Error(err)
	}
	if err := ids.Close(); err != nil {
		t.Error(err)
	}
	if _, err := lease.Namespaces(st).Restored(t.Context(), "default"); err != nil {
		t.Error("store restored: ", err)
	}
}

// Generators go on by themselves after the API server was killed. After its etcd was rolled back to
// a copy of its folder they repeat nothing, because versions of objects fell.
func TestKilledAndSetBack(t *testing.T) {
	c := start(t)
	config, seen := c.config("admin", c.namespace()), map[snowfence.ID]bool{}
	open := func() (ids *snowfence.Generator) {
		c.eventually("a generator opens", func() (err error) { // after a restore it waits for the floor
			ids, err = kubestore.Open(t.Context(), config, &lease.Options{Label: "pod"})
			return err
		})
		t.Cleanup(func() { _ = ids.Close() }) // the server may be gone
		return ids
	}
	ids := open()
	take := func(g *snowfence.Generator, what string) {
		t.Helper()
		c.eventually(what, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for range 1000 {
				id, err := g.Next(ctx)
				if err != nil {
					return err
				}
				if seen[id] {
					t.Fatalf("%s: the ID %d came twice", what, id)
				}
				seen[id] = true
			}
			return nil
		})
	}
	take(ids, "at the beginning")
	c.killAPI()
	c.startAPI()
	take(ids, "after the API server was killed")

	c.kill()
	if out, err := exec.Command("cp", "-a", c.path("etcd"), c.path("copy")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.up()
	other := open()
	take(other, "of another generator")
	take(ids, "before the etcd is rolled back")
	c.kill()
	if err := os.RemoveAll(c.path("etcd")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(c.path("copy"), c.path("etcd")); err != nil {
		t.Fatal(err)
	}
	c.up()
	time.Sleep(6 * time.Second) // at least one renewal of those that run
	fresh := open()
	for range 3 {
		take(ids, "after the etcd was rolled back")
		take(other, "of one that the etcd forgot")
		take(fresh, "of one that began afterwards")
	}
}
