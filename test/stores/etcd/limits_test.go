//go:build unix

package etcd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func key(node int64) store.Key { return store.Key{Namespace: "default", Node: node} }

func records(from, n int64) []store.Write {
	writes := make([]store.Write, n)
	for i := range writes {
		node := from + int64(i)
		writes[i].New = store.Record{
			Key: key(node), Nonce: fmt.Sprint("nonce", node), Revision: 1,
			Until: 100 + node, Holder: "holder", Label: fmt.Sprint("label", node),
		}
	}
	return writes
}

// counting counts the transactions that a store makes.
type counting struct {
	clientv3.KV
	txns   atomic.Int64
	refuse atomic.Int64 // how many of them the server refused
}

func (c *counting) Txn(ctx context.Context) clientv3.Txn { return &counted{c.KV.Txn(ctx), c} }

type counted struct {
	clientv3.Txn
	c *counting
}

func (t *counted) If(cs ...clientv3.Cmp) clientv3.Txn   { t.Txn = t.Txn.If(cs...); return t }
func (t *counted) Then(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Then(ops...); return t }
func (t *counted) Else(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Else(ops...); return t }

func (t *counted) Commit() (*clientv3.TxnResponse, error) {
	t.c.txns.Add(1)
	resp, err := t.Txn.Commit()
	if errors.Is(err, rpctypes.ErrTooManyOps) {
		t.c.refuse.Add(1)
	}
	return resp, err
}

// TestTransactionLength writes as many records in one transaction as a
// server allows: the default, and fewer.
func TestTransactionLength(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags   []string
		fit     int64 // records in one transaction
		refused bool  // until the store knows
	}{
		{nil, 126, false},
		{[]string{"--max-txn-ops=24"}, 14, true}, // 128, 64, 32, 16
		{[]string{"--max-txn-ops=5"}, 3, true},
	} {
		t.Run(fmt.Sprint(c.flags), func(t *testing.T) {
			t.Parallel()
			cl := servers.EtcdClient(t, servers.StartEtcd(t, c.flags...))
			kv := &counting{KV: cl.KV}
			cl.KV = kv
			st := openStore(t, cl, "limits")
			swap(t, st, records(0, 300))
			swap(t, st, records(1000, 300)) // by now it knows
			if kv.refuse.Load() > 0 != c.refused {
				t.Errorf("the server refused %d transactions", kv.refuse.Load())
			}
			for _, fit := range []int64{c.fit, c.fit + 1} {
				writes := records(0, fit)
				for i := range writes {
					rs, _, err := st.Get(t.Context(), []store.Key{writes[i].New.Key})
					must(t, err)
					// All that can change does, which makes the longest
					// transaction.
					writes[i].Old = rs[0].Nonce
					writes[i].New.Nonce, writes[i].New.Label, writes[i].New.Until = rs[0].Nonce+"x", rs[0].Label+"x",
						rs[0].Until+1
				}
				kv.txns.Store(0)
				kv.refuse.Store(0)
				swap(t, st, writes)
				if want := 1 + fit - c.fit; kv.txns.Load() != want || kv.refuse.Load() > 0 {
					t.Errorf("%d writes took %d transactions, of which %d were refused; want %d",
						fit, kv.txns.Load(), kv.refuse.Load(), want)
				}
			}
			keys := make([]store.Key, 300)
			for i := range keys {
				keys[i] = key(int64(i))
			}
			rs, _, err := st.Get(t.Context(), keys)
			must(t, err)
			for i, r := range rs {
				if r.Node != int64(i) || r.Nonce == "" {
					t.Fatalf("record %d: %+v", i, r)
				}
			}
		})
	}
}

// TestTransactionTooShort has a server that allows too few operations,
// which the error says.
func TestTransactionTooShort(t *testing.T) {
	t.Parallel()
	st := openStore(t, servers.EtcdClient(t, servers.StartEtcd(t, "--max-txn-ops=2")), "limits")
	_, err := store.Put(t.Context(), st, records(0, 1)[0])
	if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "--max-txn-ops") {
		t.Errorf("a swap on a server that allows 2 operations: %v", err)
	}
}

// TestLargeRequests writes records that only fit into transactions of few.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	st := openStore(t, servers.EtcdClient(t, servers.StartEtcd(t, "--max-request-bytes=65536")), "limits")
	writes := records(0, 50)
	for i := range writes {
		writes[i].New.Data = strings.Repeat("d", 10000)
	}
	swap(t, st, writes)
	tooLarge := records(100, 1)
	tooLarge[0].New.Data, tooLarge[0].New.Veto = strings.Repeat("d", 60_000), strings.Repeat("v", 40_000)
	_, err := store.Put(t.Context(), st, tooLarge[0])
	tests.Says(t, err, "--max-request-bytes", "a record that is too large")
	larger := servers.EtcdClient(t, servers.StartEtcd(t, "--max-request-bytes=262144"))
	swap(t, openStore(t, larger, "limits"), tooLarge)
}

// TestNoSpace fills the database: renewals fail with what to do, and go on
// when it was done.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	member := servers.StartEtcd(t, "--quota-backend-bytes=4194304", "--auto-compaction-retention=5m")
	cl := servers.EtcdClient(t, member)
	st := openStore(t, cl, "space")
	writes := records(0, 1)
	swap(t, st, writes)
	for full := false; !full; {
		_, err := cl.Put(t.Context(), "other", strings.Repeat("x", 500_000))
		if full = errors.Is(err, rpctypes.ErrNoSpace); err != nil && !full {
			t.Fatal(err)
		}
	}
	renew(writes, 1)
	_, err := store.Put(t.Context(), st, writes[0])
	if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(),
		"compact it (etcdctl compact --physical REVISION, which "+
			"etcdctl endpoint status -w json shows), etcdctl defrag on each member, then etcdctl alarm disarm; and start etcd with --auto-compaction-retention=5m") {
		t.Fatalf("a swap in a full database: %v", err)
	}
	if _, _, err := st.Get(t.Context(), []store.Key{key(0)}); err != nil {
		t.Errorf("reading in a full database: %v", err)
	}
	_, revision, ok := strings.Cut(ask(t, member, "endpoint", "status", "-w", "json"), `"revision":`)
	if !ok {
		t.Fatal(revision)
	}
	ask(t, member, "compact", "--physical", regexp.MustCompile(`^\d+`).FindString(revision))
	ask(t, member, "defrag")
	ask(t, member, "alarm", "disarm")
	swap(t, st, writes)
}

// twice sends each writing transaction two times, as a proxy may do after a
// lost answer.
type twice struct{ clientv3.KV }

func (k twice) Txn(ctx context.Context) clientv3.Txn { return &repeated{kv: k.KV, ctx: ctx} }

type repeated struct {
	kv    clientv3.KV
	ctx   context.Context
	cmps  []clientv3.Cmp
	then  []clientv3.Op
	other []clientv3.Op
}

func (r *repeated) If(cs ...clientv3.Cmp) clientv3.Txn   { r.cmps = cs; return r }
func (r *repeated) Then(ops ...clientv3.Op) clientv3.Txn { r.then = ops; return r }
func (r *repeated) Else(ops ...clientv3.Op) clientv3.Txn { r.other = ops; return r }

func (r *repeated) Commit() (resp *clientv3.TxnResponse, err error) {
	for range 2 {
		if resp, err = r.kv.Txn(r.ctx).If(r.cmps...).Then(r.then...).Else(r.other...).Commit(); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// TestRepeatedWrite has writes that reach the server twice. Each was done,
// and none is lost to itself; but the same swap in a later call is.
func TestRepeatedWrite(t *testing.T) {
	t.Parallel()
	cl := servers.EtcdClient(t, servers.StartEtcd(t))
	cl.KV = twice{cl.KV}
	st := openStore(t, cl, "twice")
	for _, n := range []int64{1, 200} {
		writes := records(1000*n, n)
		swap(t, st, writes)
		renew(writes, 1)
		swap(t, st, writes)
		results, _, _ := st.Swap(t.Context(), writes)
		for i, err := range results {
			if !errors.Is(err, store.ErrLost) {
				t.Fatalf("write %d of %d, in a second call: %v", i, n, err)
			}
		}
	}
}
