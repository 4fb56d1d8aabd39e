//go:build unix

package redis

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// raised waits until a holder has raised the floor, with which the generation
// goes up.
func raised(t testing.TB, f *shared.Fleet) {
	t.Helper()
	shared.Eventually(t, "another generation", func() error {
		if ns := f.Show(""); ns.Generation < 2 {
			return errors.New("no holder raised the floor")
		}
		return nil
	})
}

func TestFlushWhileHeld(t *testing.T) {
	r := servers.StartRedis(t)
	st := newStore(t, single(t, r), nil)
	f := newFleet(t, st)
	f.Grow(6, "")
	f.Renewed()
	r.Do(t, "FLUSHALL")
	f.Namespace("") // with short limits
	raised(t, f)
	f.Grow(1, "")
	f.Renewed()
	if got, err := lease.Namespaces(st).List(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("namespaces after all was flushed: %+v, %v", got, err)
	}
}

func TestFlushBetweenRuns(t *testing.T) {
	r := servers.StartRedis(t)
	st := newStore(t, single(t, r), nil)
	f := newFleet(t, st)
	f.Grow(1, "")
	f.Renewed()
	f.Crash()
	before, err := st.Identity(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	r.Do(t, "FLUSHALL")
	_, err = lease.Open(t.Context(), st, "default", shared.Default(t), nil)
	if !errors.Is(err, lease.ErrNoNamespace) || !strings.Contains(err.Error(), "create it") {
		t.Fatalf("a lease in a store that was flushed: %v", err)
	}
	after, err := st.Identity(t.Context(), "default")
	if err != nil || after == before {
		t.Errorf("the identity was %s and is %s, %v", before, after, err)
	}
	// As docs/choose/stores.md says, the namespace that is made again knows of
	// nothing.
	f.Namespace("")
	if ns := f.Show(""); ns.Floor != 0 || ns.Generation != 1 {
		t.Errorf("the namespace was made again as %+v: docs/choose/stores.md says that it cannot be noticed", ns)
	}
}

// TestOldFile puts an append-only file back that is older than what holders and
// newcomers know.
func TestOldFile(t *testing.T) {
	r := servers.StartRedis(t)
	f := newFleet(t, newStore(t, single(t, r), nil))
	f.Grow(4, "")
	f.Renewed()
	old := t.TempDir()
	r.End(t)
	copyDir(t, r.Dir, old)
	r.Again(t)
	f.Renewed()
	holder := f.Start("holder", "", 50) // a node that was free when the copy was made
	f.Renewed()
	before := f.Show("").Identity
	r.Kill()
	if err := os.RemoveAll(r.Dir); err != nil {
		t.Fatal(err)
	}
	copyDir(t, old, r.Dir)
	r.Again(t)
	f.Start("who knows of no holder", "", 50)
	f.Forget(holder)
	f.Grow(1, "")
	f.Renewed()
	if after := f.Show("").Identity; after == before {
		t.Errorf("an old file was put back, and the identity is still %s", before)
	}
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestKeysPutBack puts copies of all keys back into a server that goes on. As
// docs/choose/stores.md says, nothing shows that: the records are old, and the
// identity is what it was, until the server is started again.
func TestKeysPutBack(t *testing.T) {
	type way struct {
		save func(r *servers.Redis, key string) string
		back func(r *servers.Redis, key, saved string) string
	}
	for name, do := range map[string]way{
		"DUMP and RESTORE": {
			func(r *servers.Redis, key string) string { // not by redis-cli: the value has any bytes
				c := single(t, r)
				saved, err := c.Do(t.Context(), c.B().Dump().Key(key).Build()).ToString()
				if err != nil {
					t.Fatal(err)
				}
				return saved
			},
			func(r *servers.Redis, key, saved string) string {
				c := single(t, r)
				restore := c.B().Restore().Key(key).Ttl(0).SerializedValue(saved).Replace().Build()
				answer, err := c.Do(t.Context(), restore).ToString()
				if err != nil {
					t.Fatal(err)
				}
				return answer
			},
		},
		"COPY": {
			func(r *servers.Redis, key string) string { r.Do(t, "COPY", key, key+".copy"); return key + ".copy" },
			func(r *servers.Redis, key, saved string) string { return r.Do(t, "COPY", saved, key, "REPLACE") },
		},
		"SWAPDB": {
			func(r *servers.Redis, key string) string { return r.Do(t, "COPY", key, key, "DB", "1") },
			func(r *servers.Redis, key, _ string) string {
				if !strings.HasSuffix(key, ":meta") || strings.Contains(key, "@") { // once is enough
					return ""
				}
				return r.Do(t, "SWAPDB", "0", "1")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
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
			saved := map[string]string{}
			for _, key := range keys {
				saved[key] = do.save(r, key)
			}
			swapped(first.Nonce, 2)
			before := identityOf(t, st)
			for _, key := range keys {
				do.back(r, key, saved[key])
			}
			rs, err := st.Get(t.Context(), []store.Key{first.Key})
			if err != nil || rs[0].Nonce != first.Nonce {
				t.Fatalf("the old record is not back, so the test shows nothing: %+v, %v", rs, err)
			}
			for _, st := range []*redisstore.Store{st, newStore(t, single(t, r), nil)} {
				if id := identityOf(t, st); id != before {
					t.Errorf("the identity was %s and is %s: docs/choose/stores.md says that it cannot be noticed",
						before, id)
				}
			}
			r.End(t) // what docs/choose/stores.md says to do instead of waiting
			r.Again(t)
			if id := identityOf(t, newStore(t, single(t, r), nil)); id == before {
				t.Errorf("after a restart the identity is still %s", id)
			}
		})
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

// TestStalePromotion promotes a replica that has missed a holder, by hand, and
// lets clients go there at once: the holder runs on while its node is asked for
// by another one.
func TestStalePromotion(t *testing.T) {
	master, replica := servers.StartRedis(t), servers.StartRedis(t)
	replica.Follow(t, master)
	way := newRelay(t, master.Address())
	f := newFleet(t, newStore(t, client(t, rueidis.ClientOption{
		InitAddress:       []string{way.address()},
		ForceSingleClient: true,
	}), nil))
	f.Grow(3, "")
	f.Renewed()
	shared.Eventually(t, "the replica has all", func() error {
		if master.Field("master_repl_offset") != replica.Field("slave_repl_offset") {
			return errors.New("it lags")
		}
		return nil
	})
	replica.Do(t, "REPLICAOF", "NO", "ONE") // and nobody knows
	holder := f.Start("holder", "", 50)
	f.Renewed()
	way.turn(replica.Address())
	f.Start("who knows of no holder", "", 50)
	f.Forget(holder)
	f.Grow(1, "")
	f.Renewed()
	if g := f.Show("").Generation; g < 2 {
		t.Errorf("a stale replica was promoted, and the generation is %d", g)
	}
}

// TestFailover kills the master while leases come and go, and Sentinel promotes
// a replica.
func TestFailover(t *testing.T) {
	for _, c := range []struct {
		name string
		o    redisstore.Options
	}{{"acknowledged", redisstore.Options{Replicas: 1}}, {"not acknowledged", redisstore.Options{}}} {
		t.Run(c.name, func(t *testing.T) {
			s := servers.StartSentinel(t, 2)
			f := newFleet(t, newStore(t, sentinel(t, s), &c.o))
			f.Grow(8, "")
			f.Renewed()
			first := s.Master(t)
			first.Signal(t, syscall.SIGKILL)
			f.Grow(4, "") // while no server answers
			if s.Master(t) == first {
				t.Fatal("no failover")
			}
			f.Renewed()
			if g := f.Show("").Generation; g < 2 {
				t.Errorf("the master changed, and the generation is %d", g)
			}
		})
	}
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
