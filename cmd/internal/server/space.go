package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Space is a namespace that the server knows, and makes IDs for when it is asked to.
type Space struct {
	Name string

	// Made counts the IDs that were made here. Wires add to it, a batch of commands at a time.
	Made atomic.Int64

	// Waits counts the requests for one ID that had to wait for the clock or a grant.
	Waits atomic.Int64

	service *Service
	scheme  atomic.Pointer[snowfence.Scheme]
	gen     atomic.Pointer[snowfence.Generator] // nil until the first ID
	over    atomic.Bool                         // it is to be opened anew

	opening chan struct{} // who has put a value in may talk to the store and set what follows
	lease   *lease.Lease
	failed  failure
}

// failure is why the last attempt failed. It is told again for a moment, so that many callers do not each ask the store.
type failure struct {
	err  error
	till time.Time
}

// remember is how long a failure is told again.
const remember = 200 * time.Millisecond

// load reads the namespace from the store, unless that was done.
func (sp *Space) load(ctx context.Context) error {
	if sp.scheme.Load() != nil {
		return nil
	}
	ns, err := lease.ShowNamespace(ctx, sp.service.store, sp.Name)
	if err != nil {
		return err
	}
	if ns.State == lease.Deleted {
		return fmt.Errorf("namespace %q: %w: it was deleted", sp.Name, lease.ErrNoNamespace)
	}
	l, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return fmt.Errorf("namespace %q: %w", sp.Name, err)
	}
	var keys []*snowfence.Key
	if l.Cipher != snowfence.Plain && sp.service.opts.Keys != nil {
		if keys, err = sp.service.opts.Keys(sp.Name); err != nil {
			return err
		}
	}
	s, err := snowfence.NewScheme(l, keys...)
	if errors.Is(err, snowfence.ErrKey) {
		return kindError{Refused, fmt.Errorf("namespace %q is encrypted, and the server has not the secrets for it: %w", sp.Name, err)}
	}
	if err != nil {
		return fmt.Errorf("namespace %q: %w", sp.Name, err)
	}
	if s.Fingerprint() != ns.Fingerprint {
		return kindError{Refused, fmt.Errorf("namespace %q is encrypted with other secrets than the server has for it", sp.Name)}
	}
	sp.scheme.Store(s)
	return nil
}

// Scheme returns the scheme of the namespace.
func (sp *Space) Scheme() *snowfence.Scheme { return sp.scheme.Load() }

// Generator returns the generator of the namespace, and leases its nodes at the first call.
func (sp *Space) Generator(ctx context.Context) (*snowfence.Generator, error) {
	if g := sp.gen.Load(); g != nil {
		return g, nil
	}
	select {
	case sp.opening <- struct{}{}:
		defer func() { <-sp.opening }()
	case <-ctx.Done():
		return nil, fmt.Errorf("namespace %q: waiting for the server's own lease: %w", sp.Name, ctx.Err())
	}
	if g := sp.gen.Load(); g != nil {
		return g, nil
	}
	now := sp.service.now()
	if sp.over.Load() {
		return nil, errStopping
	}
	if sp.failed.err != nil && now.Before(sp.failed.till) {
		return nil, sp.failed.err
	}
	g, err := sp.start(ctx)
	if err != nil {
		if ctx.Err() == nil {
			sp.failed = failure{err, now.Add(remember)}
		}
		return nil, err
	}
	sp.gen.Store(g)
	return g, nil
}

// start leases nodes and makes a generator on them.
func (sp *Space) start(ctx context.Context) (*snowfence.Generator, error) {
	ns, err := lease.ShowNamespace(ctx, sp.service.store, sp.Name)
	if err != nil {
		return nil, err
	}
	o, s := sp.service.opts, sp.scheme.Load()
	l, err := lease.Open(ctx, sp.service.store, sp.Name, s, &lease.Options{
		TTL: o.TTL, Nodes: block(o.Block, ns.First, ns.Last), Label: o.Label, Logger: o.Logger,
	})
	var mismatch *lease.MismatchError
	if errors.As(err, &mismatch) {
		sp.service.forget(sp) // it has another layout by now
	}
	if err != nil {
		return nil, err
	}
	g, err := snowfence.New(snowfence.Config{Fence: l, Lead: o.Lead, MaxWait: o.MaxWait, Coarse: true})
	if err != nil {
		return nil, errors.Join(err, l.Close(ctx))
	}
	sp.lease = l
	go func() {
		<-l.Done()
		if err := l.Err(); !sp.over.Load() {
			sp.service.opts.Logger.Warn("a namespace ended", "namespace", sp.Name, "cause", err)
			sp.service.Events.Add(Event{Kind: "ended", Namespace: sp.Name, Text: err.Error()})
		}
		sp.service.forget(sp)
	}()
	gr, _ := g.Grant()
	sp.service.Events.Add(Event{Kind: "leased", Namespace: sp.Name, Text: fmt.Sprintf("this server makes IDs with nodes %d to %d", gr.Node, gr.Node+max(gr.Nodes, 1)-1)})
	return g, nil
}

// block returns how many of the nodes first to last a server leases for itself.
func block(want int, first, last int64) int {
	if want > 0 {
		return want
	}
	n := 1
	for n < 16 && int64(n)*2*64 <= last-first+1 {
		n *= 2
	}
	return n
}

// Status returns what the server's own lease holds, and false when it has none.
func (sp *Space) Status() (lease.Status, bool) {
	select {
	case sp.opening <- struct{}{}:
		defer func() { <-sp.opening }()
	default:
		return lease.Status{}, false // it is being opened
	}
	if sp.lease == nil {
		return lease.Status{}, false
	}
	return sp.lease.Status(), true
}

// close gives the nodes back.
func (sp *Space) close(ctx context.Context) error {
	sp.over.Store(true)
	select {
	case sp.opening <- struct{}{}:
		defer func() { <-sp.opening }()
	case <-ctx.Done():
		return fmt.Errorf("namespace %q: %w", sp.Name, ctx.Err())
	}
	if sp.lease == nil {
		return nil
	}
	err := sp.gen.Load().Close(ctx)
	return errors.Join(err, sp.lease.Close(ctx))
}
