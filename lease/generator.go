package lease

import (
	"context"

	"github.com/snowfence/snowfence"
)

// Generator opens a lease and starts a generator on it, in one step: closing the generator closes the lease. c says how the generator
// works; its Fence is set here.
func Generator(ctx context.Context, st Store, namespace string, s *snowfence.Scheme, o *Options, c snowfence.Config) (*snowfence.Generator, error) {
	l, err := Open(ctx, st, namespace, s, o)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.oneGenerator = true
	l.mu.Unlock()
	c.Fence = l
	g, err := snowfence.New(c)
	if err != nil {
		_ = l.Close() // the first error is the one to tell
		return nil, err
	}
	return g, nil
}
