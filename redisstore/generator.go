package redisstore

import (
	"context"
	"log/slog"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Generator leases a node from Redis and returns a generator on it, with nothing to
// configure; nil options are good for most. It makes the namespace "default" where it is
// missing. Closing the generator ends the lease. With replicas, or for another prefix,
// give the Store of [New] to lease.OpenGenerator, which this calls.
func Generator(ctx context.Context, c rueidis.Client, o *lease.GeneratorOptions) (*snowfence.Generator, error) {
	logger := lease.Warnings(slog.Default())
	if o != nil && o.Logger != nil {
		logger = o.Logger
	}
	st, err := New(c, &Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	return lease.OpenGenerator(ctx, st, o)
}
