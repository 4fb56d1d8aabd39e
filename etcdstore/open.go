package etcdstore

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

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
