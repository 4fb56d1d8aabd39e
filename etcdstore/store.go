// Package etcdstore keeps leases in etcd: a [store.Store] over your client.
//
//	client, err := clientv3.New(clientv3.Config{
//		Endpoints:            []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"},
//		DialKeepAliveTime:    5 * time.Second, // notices a machine that vanished before a request times out
//		DialKeepAliveTimeout: 3 * time.Second,
//	})
//	ids, err := etcdstore.Open(ctx, client, nil)
//	id, err := ids.Next(ctx)
//
// # Promises
//
// etcd is linearizable, and acknowledges a write when a majority of its
// members has it on disk. The store keeps both properties: it makes no
// serializable reads, and one compare-and-swap is one transaction in one
// round trip. IDs are unique within one cluster and prefix. The cluster may
// lose any minority. Without a majority no lease is renewed: holders make
// IDs to the end of their grants, and go on by themselves when the majority
// is back.
//
// Choose it if you already run etcd, and renewals must go on after the loss
// of one machine. It renews 131,072 leases every 20 s on two cores, shared
// with their process (docs/prove/figures.md).
//
// # Restores: seen and unseen
//
// The store's identity has three parts: the cluster's ID, a random text
// that the first use writes (the key <prefix>id), and the revisions in
// which that key was made and changed. The store checks every answer
// against them. If all keys are put back from a copy, this key has other
// revisions. A cluster restored from a snapshot under another
// --initial-cluster-token, or a deleted prefix, is another store: grants
// then start above all earlier ones. etcd's revision never falls. When a
// store sees it fall, the data was rolled back, and the store changes the
// identity for all programs.
//
// The store does not notice a rollback that keeps the cluster's ID if no
// process runs meanwhile: a copied data folder, or a snapshot restored with
// the same token and peer URLs. Nor does it notice such a snapshot with
// --bump-revision, or keys that are put back without <prefix>id. After any
// of these, delete the key <prefix>id (etcdctl del snowfence/id) before
// programs start. etcd has no clock that clients can read, so the store
// cannot notice wrong clocks of holders (its replies have no time).
//
// # Needs
//
// It needs etcd 3.4.21, 3.5.5 or later. Earlier versions can lose
// acknowledged writes in a cluster of one member, and 3.5.0 to 3.5.2 in any
// cluster. With authentication it needs a role that may read and write the
// keys of the prefix, and nothing else:
//
//	etcdctl role add snowfence
//	etcdctl role grant-permission snowfence readwrite --prefix=true snowfence/
//
// etcd keeps every change until the server compacts it, and a renewal takes
// about 400 bytes until then. Start it with --auto-compaction-retention=5m,
// or 1m if there are many leases. 131,072 leases renewed every 20 s write
// 2.5 MB/s, which is 750 MB in 5 minutes; etcd's default limit is 2 GiB
// (--quota-backend-bytes). At the limit no lease is renewed, and the error
// says what to do.
//
// A client takes up to two minutes to reconnect to a lost member, unless
// its DialOptions say otherwise (grpc.WithConnectParams). It logs each
// failed attempt (Config.Logger).
//
// Do not change keys by hand. You may delete all keys of the prefix
// together, or <prefix>id.
package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Options says where and how leases are kept. Nil and the zero value use
// the defaults.
type Options struct {
	// Prefix is the prefix of all keys; "" means "snowfence/". The store
	// adds a missing slash at its end.
	Prefix string

	// Timeout limits one request, so that there is time to ask another
	// member when one hangs. 0 means 3 s. Keep it well below a third of the
	// ttl of the leases.
	Timeout time.Duration

	// ReadOnly makes the store change nothing, for tools that inspect a
	// store. All methods fail if no program has used the prefix.
	ReadOnly bool
}

// Store keeps leases under a prefix of an etcd cluster. It is safe for
// concurrent use, and many processes may share a prefix.
type Store struct {
	store.Basic

	kv      clientv3.KV
	keys    keyspace
	timeout time.Duration
	looks   bool         // Options.ReadOnly
	limit   atomic.Int64 // operations that the server allows in a transaction

	prepareGate chan struct{} // holds a value while a call finds out the identity
	past        []idVersion   // ids that others replaced; the gate guards it
	mu          sync.Mutex    // guards what follows
	seen        seen
}

// New returns a store over a client, which you close after all leases. It
// does no I/O: errors of the cluster show at the first use.
func New(c *clientv3.Client, o *Options) (*Store, error) {
	opts := *cmp.Or(o, &Options{})
	switch {
	case c == nil:
		return nil, errors.New("etcdstore: the client is nil")
	case opts.Timeout < 0:
		return nil, fmt.Errorf("etcdstore: Options.Timeout is %v; it must be positive", opts.Timeout)
	}
	if opts.Prefix == "" {
		opts.Prefix = "snowfence/"
	}
	if !strings.HasSuffix(opts.Prefix, "/") {
		opts.Prefix += "/"
	}
	if opts.Timeout == 0 {
		opts.Timeout = 3 * time.Second
	}
	s := &Store{
		kv: c.KV, keys: keyspace(opts.Prefix), timeout: opts.Timeout, looks: opts.ReadOnly,
		prepareGate: make(chan struct{}, 1),
	}
	s.limit.Store(maxOps)
	return s, nil
}

// maxOps is etcd's default limit of a transaction (--max-txn-ops). A
// refusal shows a lower one.
const maxOps = 128

// Get implements [store.Store]. Many keys take several transactions.
func (s *Store) Get(ctx context.Context, keys []store.Key) (_ []store.Record, told store.Reply, _ error) {
	out := make([]store.Record, 0, len(keys))
	for len(keys) > len(out) {
		rest := keys[len(out):]
		n := min(len(rest), int(s.limit.Load())-1)
		ops := make([]clientv3.Op, n)
		for i, k := range rest[:n] {
			ops[i] = clientv3.OpGet(s.keys.recordKey(k))
		}
		resp, err := s.sendReads(ctx, ops...)
		if errors.Is(err, errFewerOps) {
			continue
		}
		if err == nil {
			err = told.Join(resp.told)
		}
		if err != nil {
			return nil, store.Reply{}, err
		}
		for i, k := range rest[:n] {
			r := store.Record{Key: k}
			if kvs := resp.ranges[i].Kvs; len(kvs) > 0 {
				if r, _, err = store.Decode(k, string(kvs[0].Value)); err != nil {
					return nil, store.Reply{}, fmt.Errorf("etcdstore: %w", err)
				}
			}
			out = append(out, r)
		}
	}
	return out, told, nil
}

// Open leases a node from a cluster and returns a generator on it. It makes
// the namespace "default" if it is missing. Closing the generator ends the
// lease. Nil options use the defaults. For another prefix or timeout, pass
// the result of [New] to lease.Generator.
func Open(ctx context.Context, c *clientv3.Client, o *lease.Options) (*snowfence.Generator, error) {
	st, err := New(c, nil)
	if err != nil {
		return nil, err
	}
	return lease.Generator(ctx, st, o)
}
