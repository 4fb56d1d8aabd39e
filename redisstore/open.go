package redisstore

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Open leases a node from Redis and returns a generator on it. It makes the
// namespace "default" if it is missing. Closing the generator ends the
// lease. Nil options use the defaults. With replicas, or for another
// prefix, pass the result of [New] to lease.Generator.
func Open(ctx context.Context, c rueidis.Client, o *lease.Options) (*snowfence.Generator, error) {
	var opts Options
	if o != nil {
		opts.Logger = o.Logger
	}
	st, err := New(c, &opts)
	if err != nil {
		return nil, err
	}
	return lease.Generator(ctx, st, o)
}
