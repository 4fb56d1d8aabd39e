// Package etcdstore keeps leases in etcd: an implementation of [lease.Store] over the
// caller's client.
//
//	client, err := clientv3.New(clientv3.Config{
//		Endpoints:            []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"},
//		DialKeepAliveTime:    5 * time.Second, // without it, a machine that vanished is noticed by each request's timeout only
//		DialKeepAliveTimeout: 3 * time.Second,
//	})
//	st, err := etcdstore.New(client, nil)
//	l, err := lease.Open(ctx, st, "default", scheme, nil)
//
// # What it promises
//
// etcd is linearizable, and acknowledges a write when a majority of its members has it on
// disk. So is this store: no read is serializable, and one compare-and-swap is one
// transaction, in one round trip. IDs are unique within one cluster and prefix. It
// survives the loss of any minority. Without a majority nothing is renewed: holders run
// to the end of what was granted, and go on by themselves when the majority is back.
//
// Choose it where an etcd is at hand that somebody looks after, and where the loss of one
// machine must not stop renewals. 131,072 leases were renewed in batches in 8 s, and the
// last free node among them was found in 13 ms, on two cores shared with the server
// (test/etcd, BenchmarkRenew and BenchmarkLastFree).
//
// # What it notices, and what it cannot
//
// The store's identity is the cluster's ID, a random one that the first use writes (the
// key <prefix>id), and the revisions in which that key was made and changed; all are
// checked with every answer. Keys that are put back from a copy, that one among them,
// have other revisions. A cluster that was restored from a snapshot under another
// --initial-cluster-token, or a prefix that was deleted, is another store: grants then
// start above everything that can have been granted before. etcd numbers its changes (the
// revision), and this number never falls; when a store sees it fall, the data was rolled
// back, and it changes the identity for everybody.
//
// It cannot see that data was rolled back while no process looked, if the cluster keeps
// its ID: a copied data folder, or a snapshot restored with the same token and the same
// peer URLs. Nor does it see keys that are put back without <prefix>id. Whoever does
// either deletes the key <prefix>id afterwards (etcdctl del snowfence/id), before
// programs start, and all is well. etcd has no clock that clients can read, so that
// skewed clocks of holders are not noticed here (Now is the zero time).
//
// # What it needs
//
// etcd 3.4 or later. With authentication, a role that may read and write the keys of the
// prefix, and nothing else:
//
//	etcdctl role add snowfence
//	etcdctl role grant-permission snowfence readwrite --prefix=true snowfence/
//
// etcd keeps every change until it is compacted, which is the server's business: start it
// with --auto-compaction-retention=5m, or with many leases 1m. A renewal takes about 400
// bytes until then. 131,072 leases renewed every 20 s write 2.5 MB/s, which is 750 MB in
// 5 minutes, and etcd's default limit is 2 GiB (--quota-backend-bytes). When the limit is
// reached nothing is renewed, and the error says what to do.
//
// A client reconnects to a member that was unreachable with delays of up to two minutes, unless
// its DialOptions say otherwise (grpc.WithConnectParams), and it logs each failed attempt
// (Config.Logger). Both matter more to leases than to most.
//
// Keys are not to be changed by hand, except that all keys of the prefix may be deleted
// together, and <prefix>id alone.
package etcdstore

import (
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
)

// Options says where and how leases are kept. Nil and the zero value are good for most.
type Options struct {
	// Prefix begins all keys. A slash is added where it does not end with one; "" means
	// "snowfence/".
	Prefix string

	// Timeout bounds one request, so that a member that hangs does not take all the time
	// there is until a lease ends: the next request goes to another one. 0 means 3 s. It
	// should be well below a third of the ttl of the leases.
	Timeout time.Duration
}

// Store keeps leases under a prefix of an etcd cluster. It is safe for concurrent use,
// and any number of processes may use the same prefix.
type Store struct {
	lease.Basic

	kv      clientv3.KV
	keys    keyspace
	timeout time.Duration
	limit   atomic.Int64 // operations that the server allows in a transaction

	known known // where the index has records that were read or written here

	preparing chan struct{} // holds a value while somebody finds out the identity
	mu        sync.Mutex    // guards what follows
	seen      seen
}

// New returns a store over a client, which stays the caller's to close, after all leases.
// It does no I/O: what is wrong with the cluster shows at the first use.
func New(c *clientv3.Client, o *Options) (*Store, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
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
	s := &Store{kv: c.KV, keys: keyspace(opts.Prefix), timeout: opts.Timeout, preparing: make(chan struct{}, 1)}
	s.limit.Store(maxOps)
	return s, nil
}

// maxOps is how many operations etcd allows in a transaction by default (--max-txn-ops).
// Servers that allow fewer are noticed by their refusal.
const maxOps = 128

// Get implements [lease.Store].
func (s *Store) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	rs, err := s.fetch(ctx, keys, 0)
	if err != nil {
		return nil, err
	}
	s.known.add(rs)
	return rs, nil
}

// fetch reads records as they were at a revision of the cluster; 0 means now. A long list
// is read in several transactions.
func (s *Store) fetch(ctx context.Context, keys []lease.Key, revision int64) ([]lease.Record, error) {
	out := make([]lease.Record, 0, len(keys))
	for len(keys) > len(out) {
		rest := keys[len(out):]
		n := min(len(rest), int(s.limit.Load())-1)
		ops := make([]clientv3.Op, n)
		for i, k := range rest[:n] {
			ops[i] = clientv3.OpGet(s.keys.record(k), clientv3.WithRev(revision))
		}
		resp, err := s.read(ctx, ops...)
		if errors.Is(err, errFewerOps) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i, k := range rest[:n] {
			r := lease.Record{Key: k}
			if kvs := resp.ranges[i].Kvs; len(kvs) > 0 {
				if r, _, err = decode(k, kvs[0].Value); err != nil {
					return nil, fmt.Errorf("etcdstore: %w", err)
				}
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// Count implements [lease.Store].
func (s *Store) Count(ctx context.Context, namespace string, nodes snowfence.NodeRange) (int64, error) {
	if nodes.From >= nodes.Until {
		return 0, nil
	}
	from, end := s.keys.records(namespace, nodes)
	resp, err := s.read(ctx, clientv3.OpGet(from, clientv3.WithRange(end), clientv3.WithCountOnly()))
	if err != nil {
		return 0, err
	}
	return resp.ranges[0].Count, nil
}
