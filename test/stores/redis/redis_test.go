//go:build unix

// Package redis tests leases in real Redis servers: single ones, behind
// Sentinel, and in a cluster.
package redis

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
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
