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
	"github.com/snowfence/snowfence/nodes"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Space is a namespace that the server knows, and makes IDs for when it is
// asked to.
type Space struct {
	Coding
	Own    OwnLease
	*tally // of all Spaces of this name

	core   *Core
	spaces *Spaces
	lessor *lessor.Lessor // leases to clients
	unit   atomic.Int64   // of the namespace
	stale  atomic.Bool    // open it anew
	readAt atomic.Int64   // when it last was as in the store, in Unix nanoseconds

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
	s, err := sp.core.newScheme(sp.Name, ns.Layout)
	if err != nil {
		return nil, 0, err
	}
	if s.Fingerprint() != ns.Fingerprint {
		return nil, 0, Errorf(Refused, "namespace %q is encrypted with other secrets than the server has for it",
			sp.Name)
	}
	if ns.Layout.Bits(snowfence.FieldKey) > 0 && ns.State == scope.Active {
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
// its leases, unless they lapsed.
func (sp *Space) isCurrent() bool {
	now := sp.core.now()
	_, sublet := sp.lessor.Count()
	switch {
	case sp.stale.Load():
		return false
	case sublet > 0, now.UnixNano()-sp.readAt.Load() < int64(schemeTTL):
		return true
	case sp.Own.gen.Load() == nil, sp.Own.Lapsed(now):
		return false
	}
	sp.readAt.Store(now.UnixNano())
	return true
}

// schemeTTL is how long a Space without a lease trusts its layout.
const schemeTTL = 5 * time.Second

func (sp *Space) changedError() error {
	return Errorf(Unavailable, "namespace %q has just been closed or changed: ask again", sp.Name)
}

// Unit returns how many nodes a lease of the namespace has at least.
func (sp *Space) Unit() int64 { return sp.unit.Load() }

// Sublet returns how many nodes of the server's units have a holder, as of
// the last second, and how many nodes the units have.
func (sp *Space) Sublet() (held, nodes int64) { return sp.lessor.Count() }

// Stale reports whether the namespace was closed or changed: ask the
// service for it again.
func (sp *Space) Stale() bool { return sp.stale.Load() }

// Held returns the server's nodes: its units, and the node of its own IDs.
func (sp *Space) Held() (out []*pb.HeldNodes) {
	add := func(g snowfence.Grant, sublet *int64) {
		last := g.Node + max(g.Nodes, 1) - 1
		out = append(out, &pb.HeldNodes{Namespace: sp.Name, FirstNode: g.Node, LastNode: last, Sublet: sublet})
	}
	for _, u := range sp.lessor.Units() {
		add(u.Grant, &u.Sublet)
	}
	if g := sp.Own.gen.Load(); g != nil {
		if own, ok := g.Grant(); ok {
			add(own, nil)
		}
	}
	return out
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

// giveNodesBack gives the nodes back. The own lease goes first: in an agent
// it is of a unit.
func (sp *Space) giveNodesBack(ctx context.Context) error {
	sp.stale.Store(true)
	return errors.Join(sp.Own.giveBack(ctx), sp.lessor.Close(ctx))
}

// end gives the nodes back in the background. Subleases go on to the end of
// their grants.
func (sp *Space) end() {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	go func() {
		defer cancel()
		_ = sp.giveNodesBack(ctx) // what is not given back runs out
	}()
}
