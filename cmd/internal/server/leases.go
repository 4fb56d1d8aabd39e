package server

import (
	"cmp"
	"context"
	"errors"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
)

// Leases are nodes of programs that make IDs themselves. All methods are
// safe for concurrent use.
type Leases struct {
	core     *Core
	spaces   *Spaces
	views    *Views
	renewals renewals
	leaseLog throttle // lines about leases of clients
}

// maxNodes bounds the block of one ticket: each renewal writes all its
// records.
const maxNodes = 1024

// Granted is the caller's part of a lease.
type Granted struct {
	wire.Lease
	Secrets [][]byte // of an encrypted namespace, oldest first: without them the holder could make no IDs
}

// Acquire leases a node to a caller, which renews it with the ticket. The
// service keeps nothing of it, except in a namespace with units, where it
// sublets single nodes from memory. In an encrypted namespace with secrets
// that stay on the server, it refuses a caller without proof of them, and
// takes no node.
func (s *Leases) Acquire(
	ctx context.Context, id *Identity, namespace string, r wire.Request,
) (g Granted, sp *Space, err error) {
	if r.Label == "" {
		return Granted{}, nil, Errorf(Invalid, "the label is missing: name the program that will hold the node, so "+
			"that operators know it")
	}
	if r.Nodes > maxNodes {
		return Granted{}, nil, Errorf(Invalid, "%d nodes: ask for %d at most", r.Nodes, maxNodes)
	}
	limit, err := id.nodeLimit()
	if err = cmp.Or(checkEarlier(r.Earlier), err); err != nil {
		return Granted{}, nil, err
	}
	// A client that takes a node from a living holder of another label
	// decides about others: that takes the verb manage. A label is the
	// caller's word, and readers of leases know the labels of others.
	if id.May(VerbManage, namespace) != nil {
		r.Guard, r.Label = r.Node != nil, id.labelOf(r.Label)
	}
	var full error // it has no room for more than an earlier attempt got
	if limit > 0 {
		leave, err := id.enterGate(ctx)
		if err != nil {
			return Granted{}, nil, err
		}
		defer leave()
		full = s.checkRoom(ctx, id, limit, namespace, r)
		if r.Known = len(r.Earlier) > 0 && KindOf(full) == TooMuch; full != nil && !r.Known {
			return Granted{}, nil, full
		}
	}
	if g, sp, err = s.acquireNode(ctx, namespace, r); r.Known && errors.Is(err, lease.ErrTaken) {
		err = full
	}
	if err == nil && limit > 0 {
		used := g.Grant.From // the answer went to no client
		if len(r.Earlier) > 0 {
			used = -1 // a copy of the caller may have an earlier attempt's
		}
		err = s.keepWithin(ctx, id, limit, sp, g.Lease, used)
	}
	if err != nil {
		if id.May(VerbRead, namespace) != nil {
			err = withoutHolders(err)
		}
		return Granted{}, nil, err
	}
	if others, ok := s.leaseLog.allow(s.core.now(), refusalInterval); ok {
		s.core.opts.Logger.Info("a client leased a node", "namespace", namespace, "label", r.Label,
			"node", g.Grant.Node, "others", others)
	}
	return g, sp, nil
}

// checkEarlier bounds the attempts that had no answer.
func checkEarlier(earlier []string) error {
	if n := len(earlier); n > 64 {
		return Errorf(Invalid, "%d earlier attempts: name the last 64", n)
	}
	return nil
}

func (s *Leases) acquireNode(ctx context.Context, namespace string, r wire.Request) (Granted, *Space, error) {
	ctx, cancel := WithStoreTimeout(ctx)
	defer cancel()
	return withSpace(ctx, s.spaces, namespace, func(ctx context.Context, sp *Space) (g Granted, err error) {
		// What may be refused comes first: a node that the caller cannot
		// use would stay taken until its end.
		if g.Secrets, err = sp.Secrets(); err != nil && r.Fingerprint == "" {
			return Granted{}, err
		}
		if r.Within != (snowfence.NodeRange{}) {
			r.Within.Until = min(r.Within.Until, sp.Scheme().Nodes())
		}
		g.Lease, err = sp.lessor.Acquire(ctx, namespace, r)
		return g, err
	})
}

// NodesWith returns the nodes of a namespace with the given numbers in
// their highest parts.
func (s *Leases) NodesWith(ctx context.Context, namespace string, parts map[string]int64) (snowfence.NodeRange, error) {
	r, _, err := withSpace(ctx, s.spaces, namespace, func(_ context.Context, sp *Space) (snowfence.NodeRange, error) {
		r, err := sp.Scheme().NodesWith(parts)
		if err != nil {
			err = kindError{Invalid, err}
		}
		return r, err
	})
	return r, err
}

// Renew renews a lease. An ended sublease counts as a new one, for the
// limit of the token that its label names.
func (s *Leases) Renew(
	ctx context.Context, id *Identity, l wire.Lease, attempt string, earlier ...string,
) (wire.Lease, *Space, error) {
	limit, err := id.nodeLimit()
	if err = cmp.Or(checkEarlier(earlier), err); err != nil {
		return l, nil, err
	}
	ctx, cancel := timeoutFor(ctx, l)
	defer cancel()
	next, sp, err := withSpace(ctx, s.spaces, l.Namespace, func(ctx context.Context, sp *Space) (wire.Lease, error) {
		if err := s.checkLate(id, limit, sp, l, len(earlier)); err != nil {
			return l, err
		}
		return sp.lessor.Renew(ctx, l.Ticket, attempt, earlier)
	})
	s.countRenewal(l, err)
	if err == nil && limit > 0 && s.isLate(sp, l) {
		err = s.keepWithin(ctx, id, limit, sp, next, -1)
	}
	return next, sp, err
}

// Release gives a lease back. A negative used means that all of the
// grant counts as used.
func (s *Leases) Release(ctx context.Context, l wire.Lease, used int64) error {
	ctx, cancel := timeoutFor(ctx, l)
	defer cancel()
	_, _, err := withSpace(ctx, s.spaces, l.Namespace, func(ctx context.Context, sp *Space) (wire.Lease, error) {
		return l, sp.lessor.Release(ctx, l.Ticket, used)
	})
	return err
}

// timeoutFor bounds a call with a lease of the store. A sublease asks no
// store.
func timeoutFor(ctx context.Context, l wire.Lease) (context.Context, context.CancelFunc) {
	if l.Lessor != "" {
		return ctx, func() {}
	}
	return WithStoreTimeout(ctx)
}

// withSpace does something with a namespace, and once more if its layout
// was changed since the server read it.
func withSpace[T any](
	ctx context.Context, s *Spaces, namespace string, do func(context.Context, *Space) (T, error),
) (T, *Space, error) {
	for again := true; ; again = false {
		var zero T
		sp, err := s.Find(ctx, namespace)
		if err != nil {
			return zero, nil, err
		}
		out, err := do(ctx, sp)
		if errors.Is(err, lease.ErrMismatch) && again {
			s.forgetSpace(sp)
			continue
		}
		return out, sp, err
	}
}

// ReadTicket reads the ticket of a caller. It is not verified yet.
func ReadTicket(b []byte) (wire.Lease, error) {
	return lease.ReadTicket(b[:min(len(b), 4096)])
}
