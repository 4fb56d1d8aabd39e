//go:build unix

package redis

import (
	"errors"
	"testing"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
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

// TestKeysPutBack puts copies of all keys back into a server that goes on.
// As docs/choose/stores.md says, nothing shows that: the records are old,
// and the identity is what it was, until the server is started again.
func TestKeysPutBack(t *testing.T) {
	r := servers.StartRedis(t)
	c := single(t, r)
	st := newStore(t, c, nil)
	swapped := func(old string, rev int64) store.Record {
		t.Helper()
		next := record(1, rev)
		if err := st.Swap(t.Context(), []store.Write{{Old: old, New: next}})[0]; err != nil {
			t.Fatal(err)
		}
		return next
	}
	first := swapped("", 1)
	keys, err := c.Do(t.Context(), c.B().Keys().Pattern("snowfence:*").Build()).AsStrSlice()
	if err != nil || len(keys) < 4 {
		t.Fatalf("the keys are %q, %v", keys, err)
	}
	for _, key := range keys {
		r.Do(t, "COPY", key, key+".copy")
	}
	swapped(first.Nonce, 2)
	before := identityOf(t, st)
	for _, key := range keys {
		r.Do(t, "COPY", key+".copy", key, "REPLACE")
	}
	rs, err := st.Get(t.Context(), []store.Key{first.Key})
	if err != nil || rs[0].Nonce != first.Nonce {
		t.Fatalf("the old record is not back, so the test shows nothing: %+v, %v", rs, err)
	}
	for _, st := range []*redisstore.Store{st, newStore(t, single(t, r), nil)} {
		if id := identityOf(t, st); id != before {
			t.Errorf("the identity was %s and is %s: docs/choose/stores.md says that it cannot be noticed", before, id)
		}
	}
	r.End(t) // what docs/choose/stores.md says to do instead of waiting
	r.Again(t)
	if id := identityOf(t, newStore(t, single(t, r), nil)); id == before {
		t.Errorf("after a restart the identity is still %s", id)
	}
}

// identityOf returns who a store says it is, after it has read a record.
func identityOf(t testing.TB, st *redisstore.Store) string {
	t.Helper()
	if _, err := st.Get(t.Context(), []store.Key{{Namespace: namespace, Node: 1}}); err != nil {
		t.Fatal(err)
	}
	id, err := st.Identity(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	return id
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
		_, err := lease.Namespaces(st).Create(t.Context(), other, shared.Default(t), nil)
		return err
	})
	identity := func(name string) (id string) {
		shared.Eventually(t, "the identity", func() error {
			_, err := st.Get(t.Context(), []store.Key{{Namespace: name, Node: 1}})
			if err == nil {
				id, err = st.Identity(t.Context(), name)
			}
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
