package clib

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/nodes"
	"github.com/snowfence/snowfence/statefile"
)

// openStore opens a store as the program does: "" is the file of this
// machine or of this user.
func openStore(ctx context.Context, url string) (*open.Store, error) {
	if url != "" {
		return open.Open(ctx, url)
	}
	return open.PlacesOf(runtime.GOOS, os.Getenv).Open(ctx)
}

// Open leases a node of a namespace and returns the handle of a generator.
func (l *Library) Open(store, namespace, optionText string) (Handle, error) {
	o, err := parseOptions(optionText, onStore)
	if err != nil {
		return 0, err
	}
	namespace = cmp.Or(namespace, lease.DefaultNamespace)
	ctx, cancel := context.WithTimeout(context.Background(), openWait+o.lease.wait)
	defer cancel()
	url := urlOf(store)
	if open.Servers(url) != nil {
		return l.openServer(ctx, url, namespace, o)
	}
	st, err := openStore(ctx, url)
	if err != nil {
		return 0, err
	}
	h, err := l.openOn(ctx, st, namespace, o)
	return h, hide(st, err)
}

// openOn opens a generator on a store, and closes the store if that fails.
func (l *Library) openOn(ctx context.Context, st *open.Store, namespace string, o *options) (Handle, error) {
	u, err := useNamespace(ctx, st, namespace, o)
	if err != nil {
		return 0, errors.Join(err, st.Close())
	}
	o.lease.TTL = cmp.Or(o.lease.TTL, u.TTL)
	return l.holdNode(ctx, u.Scheme, o, func(ctx context.Context, lo *lease.Options) (*lease.Lease, error) {
		return lease.Open(ctx, st.Leases, namespace, u.Scheme, lo)
	}, st.Close)
}

// hide returns an error without the passwords of a store.
func hide(st *open.Store, err error) error {
	if err == nil {
		return nil
	}
	return coded{StatusOf(err), errors.New(st.Hide(TextOf(err)))}
}

// holdNode leases a node, and opens a generator on it. It closes the
// lease's store when the generator ends, also if it does not begin.
func (l *Library) holdNode(
	ctx context.Context, s *snowfence.Scheme, o *options,
	take func(ctx context.Context, lo *lease.Options) (*lease.Lease, error), end func() error,
) (_ Handle, err error) {
	lo := o.lease.Options
	lo.Logger = slog.New(slog.DiscardHandler) // the program's stderr is not ours
	if o.lease.within != "" {
		if lo.Within, err = nodes.Within(ctx, s, o.lease.within); err != nil {
			return 0, errors.Join(InvalidError("option within: %s", TextOf(err)), end())
		}
	}
	if o.lease.wait > 0 {
		lo.Wait = true
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.lease.wait)
		defer cancel()
	}
	held, err := take(ctx, &lo)
	if err != nil {
		return 0, errors.Join(err, end())
	}
	return l.startGenerator(held, o, func() error { return errors.Join(held.Close(), end()) })
}

// useNamespace returns what a lease takes from a namespace. On first use it
// makes the namespace if that is default, or if the store belongs to this
// machine, as the program does.
func useNamespace(ctx context.Context, st *open.Store, namespace string, o *options) (u open.Use, err error) {
	wanted := snowfence.Default()
	if o.layout != "" {
		if wanted, err = snowfence.ParseLayout(o.layout); err != nil {
			return u, err
		}
	}
	u, err = st.Use(ctx, namespace, wanted, func(l snowfence.Layout) (*snowfence.Scheme, error) {
		if o.layout != "" && !l.Equal(wanted) {
			return nil, otherLayout(namespace, l, wanted)
		}
		return o.schemeFor(l)
	})
	if errors.Is(err, lease.ErrNoNamespace) {
		err = fmt.Errorf("namespace %q does not exist in %s: if the name is right, create it with "+
			"snowfence namespace create %s --store URL (%w)", namespace, st.Name, namespace, lease.ErrNoNamespace)
	}
	return u, err
}

// OpenStateFile returns the handle of a generator for one node that a file
// keeps.
func (l *Library) OpenStateFile(path, layout string, node int64, optionText string) (Handle, error) {
	o, err := parseOptions(optionText, onStateFile)
	if err != nil {
		return 0, err
	}
	if path == "" {
		return 0, InvalidError("the path of the state file is missing")
	}
	s, err := o.schemeOf(layout, node)
	if err != nil {
		return 0, err
	}
	file, err := statefile.File(path, s, node)
	if err != nil {
		return 0, err
	}
	var fence snowfence.Fence = file
	if o.slice != nil {
		if fence, err = file.SequencePart(o.slice[0], o.slice[1]); err != nil {
			return 0, errors.Join(err, file.Close())
		}
	}
	return l.startGenerator(fence, o, file.Close)
}

// OpenStatic returns the handle of a generator for a bare node number. A
// number that was open before in this process goes on above the IDs that it
// had.
func (l *Library) OpenStatic(layout string, node int64, optionText string) (Handle, error) {
	o, err := parseOptions(optionText, onStatic)
	if err != nil {
		return 0, err
	}
	s, err := o.schemeOf(layout, node)
	if err != nil {
		return 0, err
	}
	fence, err := l.staticFence(s, node)
	if err != nil {
		return 0, err
	}
	h, err := l.startGenerator(fence, o, func() error { return nil })
	if errors.Is(err, snowfence.ErrBound) {
		return 0, coded{Taken, fmt.Errorf("node %d is open in this process already: share or close its handle", node)}
	}
	return h, err
}

// staticFence returns the fence of a number.
//
// Invariant: no two fences of statics of the same epoch and tick make one
// ID. So the names of parts and other divisions of the bits do not hide a
// number that was used, and no encrypted IDs stand beside those of another
// layout or secret.
func (l *Library) staticFence(s *snowfence.Scheme, node int64) (snowfence.Fence, error) {
	lay := s.Layout()
	ids := snowfence.Region{
		Layout: lay, Nodes: snowfence.NodeRange{From: node, Until: node + 1}, First: lay.First, Last: lay.Last,
		From: 1, Until: 2, // tick 1 shows the place of the time, too
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for fence, used := range l.statics {
		earlier, other := fence.Scheme(), used.Layout
		same := earlier.Fingerprint() == s.Fingerprint() && slices.Equal(earlier.KeyIDs(), s.KeyIDs())
		if same && used.Nodes == ids.Nodes {
			return fence, nil
		}
		if same || !other.Epoch.Equal(lay.Epoch) || other.Tick != lay.Tick {
			continue
		}
		met, err := snowfence.Meet(used, ids)
		if met != nil {
			err = errors.New("both can make one ID")
		}
		if err != nil {
			return nil, coded{Taken, fmt.Errorf("node %d does not go with another layout or secret (%s), which this "+
				"process used: %w; use that one, or start the process anew", node, other, err)}
		}
	}
	fence := snowfence.Unguarded(s, node)
	l.statics[fence] = ids
	return fence, nil
}
