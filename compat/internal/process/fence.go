package process

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// fence grants one node all ticks from a floor on.
type fence struct {
	scheme *snowfence.Scheme
	node   int64
	from   int64
	seal   func() int64 // of its one generator; says what that used, also after Close
}

func (f *fence) Scheme() *snowfence.Scheme { return f.scheme }

func (f *fence) Bind(seal func() int64) (func(), error) {
	f.seal = seal
	return func() {}, nil
}

func (f *fence) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	end := f.scheme.MaxTick()
	if after > end || f.from > end {
		return snowfence.Grant{}, fmt.Errorf("%w: the time bits ran out at %s: change the layout",
			snowfence.ErrLifetime, f.scheme.Layout().EndOfLife().Format(time.RFC3339))
	}
	return snowfence.Grant{Node: f.node, From: f.from, Until: end + 1}, nil
}

func (f *fence) Held(after int64) (snowfence.Grant, bool) {
	gr, err := f.Grant(context.Background(), after)
	return gr, err == nil
}

func (f *fence) Release(context.Context, snowfence.Grant, int64) error { return nil }
