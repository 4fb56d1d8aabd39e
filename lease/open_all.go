package lease

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// openers is how many leases are opened or closed at a time. Each makes several
// round trips one after another, so these are enough to fill the round trips of a [Group].
const openers = 4 * groupLimit

// OpenAll opens n leases with the same options, as [Open] does, and keeps each by itself. It is
// much faster: it reads once which nodes are free, and the leases share round trips (a [Group],
// which st need not be yet). It opens all or none: after an error it closes those that it opened.
// With n above 1, it refuses Options.Node and Options.StickyFile. ctx limits OpenAll, not the
// leases.
func OpenAll(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, n int, o *Options,
) ([]*Lease, error) {
	if err := check(st, namespace, s); err != nil {
		return nil, err
	}
	opts, err := o.normal(s)
	if err != nil {
		return nil, err
	}
	if err := o.many(n); err != nil {
		return nil, err
	}
	if _, ok := st.(*group); !ok {
		st = Group(st)
	}
	leases, err := openAll(ctx, st, namespace, s, n, opts)
	if err != nil {
		closing, cancel := world.From(ctx).WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer cancel()
		return nil, errors.Join(err, ShutdownAll(closing, leases))
	}
	return leases, nil
}

// many is an error unless n leases can have the options.
func (o *Options) many(n int) error {
	switch {
	case n < 0:
		return invalidf("lease: opening %d leases: the number must not be negative", n)
	case n > 1 && o != nil && (o.Node != nil || o.StickyFile != ""):
		return invalidf("lease: opening %d leases: Options.Node and Options.StickyFile are for one", n)
	}
	return nil
}

// openAll opens n leases. With an error it returns those that it opened.
func openAll(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, n int, opts Options,
) (leases []*Lease, err error) {
	for len(leases) < n {
		more, err := openTogether(ctx, st, namespace, s, n-len(leases), opts)
		leases = append(leases, more...)
		if err != nil {
			return leases, err
		}
		if len(more) == 0 {
			// Nothing is free, or others were faster. One lease alone searches
			// all nodes. It waits if it may, or names the holders.
			l, err := open(ctx, st, namespace, s, opts, nil)
			if err != nil {
				return leases, err
			}
			leases = append(leases, l)
		}
	}
	return leases, nil
}

// openTogether reads once which nodes are free, and opens up
// to n leases on them. Others may be faster for some of them.
func openTogether(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, n int, opts Options,
) ([]*Lease, error) {
	together := &offers{want: n, start: world.From(ctx).Now()}
	leases := make([]*Lease, n)
	do := func(i int) error {
		l, err := open(ctx, st, namespace, s, opts, together)
		if errors.Is(err, errDrained) || errors.Is(err, store.ErrLost) {
			return nil
		}
		leases[i] = l
		return err
	}
	err := do(0) // alone: it reads what is free, for all
	if err == nil {
		err = each(n-1, openers, func(i int) error { return do(i + 1) })
	}
	return slices.DeleteFunc(leases, func(l *Lease) bool { return l == nil }), err
}

// ShutdownAll ends all leases at once and gives their nodes back, many at a time, as
// [Lease.Shutdown] does for one. It tries all of them and returns the first error.
func ShutdownAll(ctx context.Context, leases []*Lease) error {
	for _, l := range leases {
		l.once.Do(l.stop)
	}
	errs := make([]error, len(leases))
	_ = each(len(leases), openers, func(i int) error {
		errs[i] = leases[i].Shutdown(ctx)
		return nil
	})
	return cmp.Or(errs...)
}

// each calls do for 0 to n−1, at most so many at a time. After an error it
// begins no more calls, and returns when those under way have ended. It does
// not interrupt them, because an interrupted acquisition may leave a node held.
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
