package scope_test

import (
	"context"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

func newScheme(t testing.TB, spec string) *snowfence.Scheme {
	t.Helper()
	l := must(snowfence.ParseLayout(spec))
	return must(snowfence.NewScheme(l))
}

// generator leases a node for a generator. Closing the generator closes the
// lease.
func generator(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, c snowfence.Config, o *lease.Options,
) (*snowfence.Generator, error) {
	l, err := lease.Open(ctx, st, namespace, s, o)
	if err != nil {
		return nil, err
	}
	return l.Generator(c)
}
