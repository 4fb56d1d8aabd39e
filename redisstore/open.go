package redisstore

import (
	"context"
	"log/slog"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Open leases a node from Redis and returns a generator on it. It makes the namespace
// "default" where it is missing. Closing the generator ends the lease. Nil options are good
// for most. With replicas, or for another prefix, give the Store of [New] to
// lease.Generator.
func Open(ctx context.Context, c rueidis.Client, o *lease.Options) (*snowfence.Generator, error) {
	logger := store.Warnings(slog.Default())
	if o != nil && o.Logger != nil {
		logger = o.Logger
	}
	st, err := New(c, &Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	return lease.Generator(ctx, st, o)
}
