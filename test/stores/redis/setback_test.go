//go:build unix

package redis

import (
	"errors"
	"testing"

	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"

	"github.com/redis/rueidis"
)

// raised waits until a holder has raised the floor, with which the
// generation goes up.
func raised(t testing.TB, f *shared.Fleet) {
	t.Helper()
	shared.Eventually(t, "another generation", func() error {
		if ns := f.Show(""); ns.Generation < 2 {
			return errors.New("no holder raised the floor")
		}
		return nil
	})
}

// TestClusterFailover moves one namespace to another server, and leaves the
// other one alone.
func TestClusterFailover(t *testing.T) {
	// Servers of a busy machine are not to be taken for dead.
	c := servers.StartRedisCluster(t, "--cluster-node-timeout", "5000")
	st := newStore(t, client(t, rueidis.ClientOption{InitAddress: c.Addresses()}), &redisstore.Options{Replicas: 1})
	f := newFleet(t, st)
	const key = "snowfence:{default}:meta"
	owner := c.Owner(key)
	other := ""
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		if c.Owner("snowfence:{"+name+"}:meta") != owner {
			other = name
			break
		}
	}
	shared.Eventually(t, "the other namespace", func() error {
		_, err := scope.Namespaces(st).Create(t.Context(), other, shared.Default(t), nil)
		return err
	})
	identity := func(name string) (id string) {
		shared.Eventually(t, "the identity", func() error {
			_, reply, err := st.Get(t.Context(), []store.Key{{Namespace: name, Node: 1}})
			id = reply.Identity
			return err
		})
		return id
	}
	here, there := identity("default"), identity(other)
	f.Grow(4, "")
	f.Renewed()
	owner.Kill()
	shared.Eventually(t, "a failover", func() error {
		if c.Owner(key) == nil {
			return errors.New("no master has the slot")
		}
		return nil
	})
	owner.Again(t) // as a replica: writes count with one only
	raised(t, f)
	f.Grow(1, "")
	f.Renewed()
	if now := identity("default"); now == here {
		t.Errorf("after the failover the identity is still %s", now)
	}
	if now := identity(other); now != there {
		t.Errorf("the failover of another server changed the identity from %s to %s", there, now)
	}
}
