package lease

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/snowfence/snowfence/lease/internal/fault"
)

// closers is how many leases are closed at a time. Each makes several round
// trips one after another, so these are enough to fill the round trips of a
// [store.Group].
const closers = 4000

// many is an error unless n leases can have the options.
func (o *Options) many(n int) error {
	switch {
	case n < 0:
		return fault.Invalidf("lease: opening %d leases: the number must not be negative", n)
	case n > 1 && o != nil && (o.Node != nil || o.StickyFile != ""):
		return fault.Invalidf("lease: opening %d leases: Options.Node and Options.StickyFile are for one", n)
	}
	return nil
}

// ShutdownAll ends all leases at once and gives their nodes back, many at a
// time, as [Lease.Shutdown] does for one. It tries all of them and returns
// the first error.
func ShutdownAll(ctx context.Context, leases []*Lease) error {
	for _, l := range leases {
		l.once.Do(l.stop)
	}
	errs := make([]error, len(leases))
	_ = each(len(leases), closers, func(i int) error {
		errs[i] = leases[i].Shutdown(ctx)
		return nil
	})
	return cmp.Or(errs...)
}

// each calls do for 0 to n−1, at most so many at a time. After an error it
// begins no more calls, and returns when those under way have ended. It
// does not interrupt them, because an interrupted acquisition may leave a
// node held.
func each(n, most int, do func(i int) error) error {
	errs := make([]error, n)
	places := make(chan struct{}, most)
	var failed atomic.Bool
	var wg sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		if failed.Load() {
			break
		}
		wg.Go(func() {
			if errs[i] = do(i); errs[i] != nil {
				failed.Store(true)
			}
			<-places
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}
