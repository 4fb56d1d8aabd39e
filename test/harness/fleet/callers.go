package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// Callers take IDs all the time, and none may come twice.
type Callers struct {
	testing.TB
	sync.WaitGroup
	seen   sync.Map
	counts []*atomic.Int64 // of the IDs of each
}

// Ask is a caller until ctx ends. An error ends it, too, and fails the
// test.
func (c *Callers) Ask(ctx context.Context, next func(context.Context) ([]snowfence.ID, error)) {
	n := new(atomic.Int64)
	c.counts = append(c.counts, n)
	c.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			ids, err := next(ctx)
			if err != nil && ctx.Err() == nil {
				c.Error(err)
			}
			if err != nil {
				return
			}
			for _, id := range ids {
				if _, twice := c.seen.LoadOrStore(id, true); twice {
					c.Errorf("%d came twice", id)
				}
			}
			n.Add(int64(len(ids)))
		}
	})
}

// One takes one ID at a time.
func One(next func(context.Context) (snowfence.ID, error)) func(context.Context) ([]snowfence.ID, error) {
	return func(ctx context.Context) ([]snowfence.ID, error) {
		id, err := next(ctx)
		return []snowfence.ID{id}, err
	}
}

// GoOn waits until callers have some more IDs: those of some numbers, or
// all.
func (c *Callers) GoOn(what string, of ...int) {
	c.Helper()
	for i, n := range c.counts {
		if len(of) > 0 && !slices.Contains(of, i) {
			continue
		}
		want := n.Load() + 200
		Eventually(c, what, func() error {
			if c.Failed() {
				c.FailNow()
			}
			if n.Load() < want {
				return fmt.Errorf("caller %d has %d IDs and not %d", i, n.Load(), want)
			}
			return nil
		})
	}
}
