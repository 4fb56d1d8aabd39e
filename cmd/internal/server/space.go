package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/nodes"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Space is a namespace that the server knows, and makes IDs for when it is
// asked to.
type Space struct {
	Name string

	*tally // of all Spaces of this name

	core     *Core
	spaces   *Spaces
	lessor   *lessor.Lessor // leases to clients
	unit     atomic.Int64   // of the namespace
	scheme   atomic.Pointer[snowfence.Scheme]
	layout   snowfence.Layout                    // of scheme
	spec     string                              // of layout
	gen      atomic.Pointer[snowfence.Generator] // nil until the first ID
	stale    atomic.Bool                         // open it anew
	readAt   atomic.Int64                        // when it was read from the store, in Unix nanoseconds
	warnTick atomic.Int64                        // first tick of the grant that WarnLater told of

	openTurn chan struct{} // semaphore of one: hold it to call the store or to set what follows
	lease    *lease.Lease
	failure  failure

	backfills backfills
}

// tally counts the IDs made in a namespace since the server began. It
// outlives a Space, because a counter that falls looks like a restart.
type tally struct {
	// Made counts the IDs that were made here.
	Made atomic.Int64

	// Waits counts the requests for one ID that had to wait for the clock
	// or a grant.
	Waits atomic.Int64

	moved atomic.Bool // the lease ended because of a move to another store, and none came after it
}

// failure is why the last attempt failed. It is told again for a moment, so
// that many callers do not each ask the store.
type failure struct {
	err   error
	until time.Time
}

// failureTTL is how long a failure is told again.
const failureTTL = 200 * time.Millisecond

// loadNamespace reads the namespace from the store, unless that was done a
// moment ago. Another layout than the one known ends the Space.
func (sp *Space) loadNamespace(ctx context.Context) error {
	known := sp.scheme.Load()
	s, unit, err := sp.readNamespace(ctx)
	switch {
	case known == nil && err == nil:
		sp.scheme.Store(s)
		sp.layout = s.Layout()
		sp.spec = sp.layout.String()
		sp.unit.Store(unit)
	case known == nil:
		return err
	case err == nil && (s.Fingerprint() != known.Fingerprint() || unit != sp.unit.Load()),
		errors.Is(err, lease.ErrNoNamespace):
		sp.spaces.forgetSpace(sp)
		return sp.changedError()
	}
	// Without the store, the known layout is good enough to decode with.
	sp.readAt.Store(sp.core.now().UnixNano())
	return nil
}

// readNamespace returns the scheme of the namespace as the store has it,
// and its unit.
func (sp *Space) readNamespace(ctx context.Context) (_ *snowfence.Scheme, unit int64, _ error) {
	ns, err := scope.Namespaces(sp.core.store).Show(ctx, sp.Name)
	if err != nil {
		return nil, 0, err
	}
	if ns.State == scope.Deleted {
		return nil, 0, fmt.Errorf("namespace %q: %w: it was deleted", sp.Name, lease.ErrNoNamespace)
	}
	l := ns.Layout
	var keys []*snowfence.Secret
	if l.Cipher != snowfence.Plain && sp.core.opts.Keys != nil {
		if keys, err = sp.core.opts.Keys(sp.Name); err != nil {
			return nil, 0, err
		}
	}
	s, err := snowfence.NewScheme(l, keys...)
	if errors.Is(err, snowfence.ErrKey) {
		return nil, 0, Errorf(Refused, "namespace %q is encrypted, and the server does not have its secrets: %w",
			sp.Name, err)
	}
	if err != nil {
		return nil, 0, Errorf(Internal, "namespace %q: %w", sp.Name, err)
	}
	if s.Fingerprint() != ns.Fingerprint {
		return nil, 0, Errorf(Refused, "namespace %q is encrypted with other secrets than the server has for it",
			sp.Name)
	}
	if l.Bits(snowfence.FieldKey) > 0 && ns.State == scope.Active {
		// A secret that is new among the server's secrets is made known, so
		// that holders elsewhere may use it.
		_, err = scope.Namespaces(sp.core.store).Create(ctx, sp.Name, s, nil)
		if errors.Is(err, snowfence.ErrKey) {
			err = kindError{Refused, err}
		}
	}
	return s, ns.Unit, err
}

// isCurrent reports whether the Space may be used without another look at
// the store. One that makes IDs, or sublets nodes, learns of a change from
// its leases.
func (sp *Space) isCurrent() bool {
	_, sublet := sp.lessor.Count()
	return !sp.stale.Load() && (sp.gen.Load() != nil || sublet > 0 ||
		sp.core.now().UnixNano()-sp.readAt.Load() < int64(schemeTTL))
}

// schemeTTL is how long a layout counts as the store's, where no lease
// would tell otherwise.
const schemeTTL = 5 * time.Second

func (sp *Space) changedError() error {
	return Errorf(Unavailable, "namespace %q has just been closed or changed: ask again", sp.Name)
}

// Scheme returns the scheme of the namespace.
func (sp *Space) Scheme() *snowfence.Scheme { return sp.scheme.Load() }

// Layout returns the layout of the namespace, and its spec.
func (sp *Space) Layout() (snowfence.Layout, string) { return sp.layout, sp.spec }

// Generator returns the generator of the namespace, and leases its nodes at
// the first call.
func (sp *Space) Generator(ctx context.Context) (*snowfence.Generator, error) {
	if g := sp.gen.Load(); g != nil {
		return g, nil
	}
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	select {
	case sp.openTurn <- struct{}{}:
		defer func() { <-sp.openTurn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("namespace %q: waiting for the server's own lease: %w", sp.Name, context.Cause(ctx))
	}
	if g := sp.gen.Load(); g != nil {
		return g, nil
	}
	now := sp.core.now()
	if sp.stale.Load() {
		return nil, sp.changedError()
	}
	if sp.failure.err != nil && now.Before(sp.failure.until) {
		return nil, sp.failure.err
	}
	g, err := sp.startGenerator(ctx)
	if err != nil {
		if context.Cause(ctx) == nil || errors.Is(context.Cause(ctx), errStoreTimeout) {
			sp.failure = failure{err, now.Add(failureTTL)}
		}
		return nil, err
	}
	sp.gen.Store(g)
	if !sp.stale.Load() {
		return g, nil
	}
	// Close may have had no time to wait for this.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return nil, errors.Join(sp.changedError(), sp.endLeases(stop))
}

// startGenerator leases nodes and makes a generator on them.
func (sp *Space) startGenerator(ctx context.Context) (*snowfence.Generator, error) {
	if err := sp.core.checkRecord(ctx); err != nil {
		return nil, err
	}
	ns, err := scope.Namespaces(sp.core.store).Show(ctx, sp.Name)
	if err != nil {
		if errors.Is(err, lease.ErrNoNamespace) {
			sp.spaces.forgetSpace(sp)
		}
		return nil, err
	}
	o, s := sp.core.opts, sp.scheme.Load()
	within, err := sp.settingNodes(ctx, s)
	if err != nil {
		return nil, err
	}
	nodes := blockSize(o.Block, ns)
	for o.Block == 0 && nodes > 1 && within.Until > 0 && int64(nodes) > within.Until-within.From {
		nodes /= 2
	}
	l, err := sp.openBlock(ctx, s, ns, within, nodes)
	// Single leases of others may leave no block of that length although
	// most nodes are free. Fewer nodes make fewer IDs a tick, but they make
	// some.
	for o.Block == 0 && nodes > 1 && errors.As(err, new(*lease.TakenError)) {
		nodes /= 2
		l, err = sp.openBlock(ctx, s, ns, within, nodes)
	}
	if errors.Is(err, lease.ErrMismatch) || errors.Is(err, lease.ErrNoNamespace) {
		sp.spaces.forgetSpace(sp) // it has another layout by now, or is gone
	}
	if errors.Is(err, lease.ErrMismatch) {
		return nil, sp.changedError()
	}
	if err != nil {
		return nil, err
	}
	g, err := snowfence.New(snowfence.Config{
		Fence: l, Lead: o.Lead, Spread: sp.spreadFor(s), MaxWait: o.MaxWait, Coarse: true,
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	sp.lease = l
	sp.moved.Store(false)
	go func() {
		<-l.Done()
		err := l.Err()
		sp.moved.Store(errors.Is(err, store.ErrMoved))
		if !sp.stale.Load() {
			sp.core.opts.Logger.Warn("a namespace ended", "namespace", sp.Name, "cause", err)
		}
		sp.spaces.forgetSpace(sp)
	}()
	return g, nil
}

// spreadFor returns the namespace's setting, unless its layout has no use
// for it any more: IDs matter more than where they fall.
func (sp *Space) spreadFor(s *snowfence.Scheme) int64 {
	n := sp.core.opts.Spread[sp.Name]
	if err := s.Layout().CheckSpread(n); err != nil {
		sp.core.opts.Logger.Warn("IDs are made without the spread of the settings",
			"namespace", sp.Name, "cause", err)
		return 0
	}
	return n
}

// settingNodes returns the nodes that the settings allow; all of a layout
// without their part.
func (sp *Space) settingNodes(ctx context.Context, s *snowfence.Scheme) (all snowfence.NodeRange, err error) {
	text := sp.core.opts.Within
	part, _, parts := strings.Cut(text, "=")
	if text == "" || parts && s.Layout().Bits(part) == 0 {
		return all, nil
	}
	return nodes.Within(ctx, s, text)
}

// openBlock leases a block of nodes, with the ttl of the settings or the
// longest of the namespace.
func (sp *Space) openBlock(
	ctx context.Context, s *snowfence.Scheme, ns scope.Namespace, within snowfence.NodeRange, block int,
) (*lease.Lease, error) {
	o := sp.core.opts
	if o.TTL > ns.MaxTTL {
		o.Logger.Warn(fmt.Sprintf("the ttl is longer than the namespace allows, so its longest one is used: "+
			"to allow more, run snowfence namespace change %s --max-ttl %v", sp.Name, o.TTL),
			"ttl", o.TTL, "max_ttl", ns.MaxTTL)
	}
	lo := &lease.Options{
		TTL: min(o.TTL, ns.MaxTTL), Nodes: block, Within: within, Label: o.Label, Logger: o.Logger,
	}
	if o.Unit == nil {
		return lease.Open(ctx, sp.core.store, sp.Name, s, lo)
	}
	lo.Nodes = 1
	all, err := lease.Keep(ctx, sp.lessor, sp.Name, s, 1, lo)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// blockSize returns how many nodes of a namespace a server leases for
// itself.
func blockSize(want int, ns scope.Namespace) int {
	if want > 0 {
		return want
	}
	n := 1
	for n < 16 && int64(n)*2*64 <= ns.Nodes.Until-ns.Nodes.From {
		n *= 2
	}
	return n
}

// Status returns the hold of the server's own lease, and false when it has
// none.
func (sp *Space) Status() (lease.Status, bool) {
	select {
	case sp.openTurn <- struct{}{}:
		defer func() { <-sp.openTurn }()
	default:
		return lease.Status{}, false // it is being opened
	}
	if sp.lease == nil {
		return lease.Status{}, false
	}
	return sp.lease.Status(), true
}

// Held returns the server's nodes: its units, and the node of its own IDs.
func (sp *Space) Held() (out []*pb.HeldNodes) {
	add := func(g snowfence.Grant, sublet *int64) {
		last := g.Node + max(g.Nodes, 1) - 1
		out = append(out, &pb.HeldNodes{Namespace: sp.Name, FirstNode: g.Node, LastNode: last, Sublet: sublet})
	}
	for _, u := range sp.lessor.Units() {
		add(u.Grant, &u.Sublet)
	}
	if g := sp.gen.Load(); g != nil {
		if own, ok := g.Grant(); ok {
			add(own, nil)
		}
	}
	return out
}

// Unit returns how many nodes a lease of the namespace has at least.
func (sp *Space) Unit() int64 { return sp.unit.Load() }

// Sublet returns how many nodes of the server's units have a holder, as of
// the last second, and how many nodes the units have.
func (sp *Space) Sublet() (held, nodes int64) { return sp.lessor.Count() }

// giveNodesBack gives the nodes back. The own node of an agent goes first:
// it is one of a unit.
func (sp *Space) giveNodesBack(ctx context.Context) error {
	sp.stale.Store(true)
	if sp.core.opts.Unit != nil {
		return errors.Join(sp.closeOwn(ctx), sp.lessor.Close(ctx))
	}
	given := make(chan error, 1)
	go func() { given <- sp.lessor.Close(ctx) }()
	return errors.Join(sp.closeOwn(ctx), <-given)
}

// closeOwn gives back the nodes with which the server makes IDs.
func (sp *Space) closeOwn(ctx context.Context) error {
	select {
	case sp.openTurn <- struct{}{}:
		defer func() { <-sp.openTurn }()
	case <-ctx.Done():
		return fmt.Errorf("namespace %q: %w", sp.Name, ctx.Err())
	}
	return sp.endLeases(ctx)
}

// endLeases closes the lease and the units. The caller has opening.
func (sp *Space) endLeases(ctx context.Context) error {
	if sp.lease == nil {
		return nil
	}
	err := sp.gen.Load().Shutdown(ctx)
	return errors.Join(err, sp.lease.Shutdown(ctx))
}

// holdsNode reports whether the server's own lease has a node.
func (sp *Space) holdsNode(node int64) bool {
	g := sp.gen.Load()
	if g == nil {
		return false
	}
	gr, ok := g.Grant()
	return ok && node >= gr.Node && node < gr.Node+max(gr.Nodes, 1)
}

// Secrets returns the secrets of an encrypted namespace, for holders that
// make its IDs; an error of the kind Refused where the server keeps them to
// itself.
func (sp *Space) Secrets() ([][]byte, error) {
	if !sp.Scheme().Encrypted() {
		return nil, nil
	}
	if !sp.core.opts.HandOut {
		return nil, Errorf(Refused, "namespace %q is encrypted, and this server keeps its secrets: ask it for IDs "+
			"instead, or have it set to hand secrets out", sp.Name)
	}
	keys, err := sp.core.opts.Keys(sp.Name)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(keys))
	for i, k := range keys {
		out[i] = k.AppendSecret(nil)
	}
	return out, nil
}
