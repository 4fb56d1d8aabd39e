//go:build unix

// Package redis tests leases in real Redis servers: single ones, behind
// Sentinel, and in a cluster.
package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/redisstore"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// client connects to servers.
func client(t testing.TB, o rueidis.ClientOption) rueidis.Client {
	t.Helper()
	o.DisableCache = true
	c, err := rueidis.NewClient(o)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func single(t testing.TB, r *servers.Redis) rueidis.Client {
	t.Helper()
	return client(t, rueidis.ClientOption{InitAddress: []string{r.Address()}, ForceSingleClient: true})
}

func sentinel(t testing.TB, s *servers.Sentinel) rueidis.Client {
	t.Helper()
	return client(t, rueidis.ClientOption{
		InitAddress: s.Addresses(), Sentinel: rueidis.SentinelOption{MasterSet: servers.SentinelMaster},
	})
}

func newStore(t testing.TB, c rueidis.Client, o *redisstore.Options) *redisstore.Store {
	t.Helper()
	st, err := redisstore.New(c, o)
	must(t, err)
	return st
}

var prefixes atomic.Int64

// conform runs the suite in many stores of the same servers, and then looks
// at their indexes.
func conform(t *testing.T, c rueidis.Client, o redisstore.Options) {
	open := func(t *testing.T) store.Store {
		o := o
		o.Prefix = fmt.Sprint("test", prefixes.Add(1))
		t.Cleanup(func() { sameIndexes(t, c, o.Prefix) })
		return newStore(t, c, &o)
	}
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

func TestSingle(t *testing.T) {
	conform(t, single(t, servers.StartRedis(t)), redisstore.Options{})
}

func TestSentinel(t *testing.T) {
	conform(t, sentinel(t, servers.StartSentinel(t, 2)), redisstore.Options{Replicas: 1, Timeout: shared.Patience()})
}

func TestCluster(t *testing.T) {
	c := servers.StartRedisCluster(t)
	conform(t, client(t, rueidis.ClientOption{InitAddress: c.Addresses()}),
		redisstore.Options{Replicas: 1, Timeout: shared.Patience()})
}

func TestGeneratorInOneLine(t *testing.T) {
	c := single(t, servers.StartRedis(t))
	shared.OneLine(t, newStore(t, c, nil), func(o *lease.Options) (*snowfence.Generator, error) {
		return redisstore.Open(t.Context(), c, o)
	})
}

const namespace = "ids"

// newFleet returns a fleet over a store, in a namespace that it makes.
func newFleet(t testing.TB, st store.Store) *shared.Fleet {
	t.Helper()
	f := shared.New(t, func(string) store.Store { return st })
	f.Namespace("")
	return f
}

// short bounds a call to a store that is hurt.
func short(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// sameIndexes reads all records of a store as they lie in Redis, and
// compares each set of nodes with the records.
func sameIndexes(t testing.TB, c rueidis.Client, prefix string) {
	t.Helper()
	ctx := context.Background()
	names, err := c.Do(ctx, c.B().Smembers().Key(prefix+":{@}:namespaces").Build()).AsStrSlice()
	must(t, err)
	for _, name := range names {
		base := prefix + ":{" + name + "}:"
		got, err := c.Do(ctx, c.B().Zrange().Key(base+"nodes").Min("0").Max("-1").Build()).AsStrSlice()
		must(t, err)
		want, err := c.Do(ctx, c.B().Hkeys().Key(base+"records").Build()).AsStrSlice()
		must(t, err)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%snodes: %s", base, difference(got, want))
		}
	}
}

func difference(got, want []string) string {
	var extra, missing []string
	for _, m := range got {
		if !slices.Contains(want, m) {
			extra = append(extra, m)
		}
	}
	for _, m := range want {
		if !slices.Contains(got, m) {
			missing = append(missing, m)
		}
	}
	return fmt.Sprintf("%d members for %d; extra %q, missing %q", len(got), len(want), extra, missing)
}

// TestNamesThatNobodyHas asks for names without records: nothing of them
// stays in Redis.
func TestNamesThatNobodyHas(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t)
	st := newStore(t, single(t, r), nil)
	ends := func(name string) bool { return strings.TrimSpace(r.Do(t, "TTL", "snowfence:{"+name+"}:meta")) != "-1" }
	for range 2 {
		tests.WantErr(t, tests.ErrOf(scope.Namespaces(st).Show(t.Context(), "nobody")), lease.ErrNoNamespace, "no name")
	}
	if !ends("nobody") {
		t.Error("the key of a name that nobody has stays for ever")
	}
	looks := newStore(t, single(t, r), &redisstore.Options{ReadOnly: true})
	tests.WantErr(t, tests.ErrOf(scope.Namespaces(looks).Show(t.Context(), "nowhere")), lease.ErrNoNamespace, "a look")
	if n := strings.TrimSpace(r.Do(t, "EXISTS", "snowfence:{nowhere}:meta")); n != "0" {
		t.Error("a look has written")
	}
	must(t, tests.ErrOf(scope.Namespaces(st).Create(t.Context(), "nobody", shared.Default(t), nil)))
	if ends("nobody") || ends("@") {
		t.Error("the identity of a namespace, or of the list, is forgotten")
	}
}
