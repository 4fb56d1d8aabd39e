package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// How far ahead callers may lease: a node of a caller that is gone stays taken for so long.
const (
	minTTL = 10 * time.Millisecond
	maxTTL = 10 * time.Minute
)

// maxNodes bounds the block of one ticket, all of whose records are written at each renewal.
const maxNodes = 1024

// maxAvoided bounds the nodes that a holder refuses.
const maxAvoided = 1000

// Granted is what a caller gets with a lease.
type Granted struct {
	Ticket  lease.Ticket
	Secrets [][]byte // of an encrypted namespace, oldest first: without them the holder could make no IDs
}

// Acquire leases a node to a caller, who renews it with the ticket. The service keeps nothing of
// it.
// In an encrypted namespace whose secrets stay on the server, it refuses a caller who does not show
// that it has them, and no node is taken.
func (s *Service) Acquire(
	ctx context.Context, id *Identity, namespace string, r lease.Request, o lease.Options,
) (g Granted, sp *Space, err error) {
	if o.TTL != 0 && (o.TTL < minTTL || o.TTL > maxTTL) {
		return Granted{}, nil, Errorf(Invalid, "a ttl of %v: ask for %v to %v", o.TTL, minTTL, maxTTL)
	}
	if o.Label == "" {
		return Granted{}, nil, Errorf(Invalid, "the label is missing: say who will hold the node, for the people who "+
			"look after it")
	}
	if o.Nodes > maxNodes {
		return Granted{}, nil, Errorf(Invalid, "%d nodes: ask for %d at most", o.Nodes, maxNodes)
	}
	if err := checkEarlier(r.Earlier); err != nil {
		return Granted{}, nil, err
	}
	if n := len(r.Avoid); n > maxAvoided {
		return Granted{}, nil, Errorf(Invalid, "%d nodes are refused: name %d at most", n, maxAvoided)
	}
	// A client that takes a node from a living holder of another label decides about others: that
	// is for those who manage the namespace. A label is the caller's word, and everybody who reads
	// leases knows those of others.
	if id.May(VerbManage, namespace) != nil {
		o.Guard, o.Label = o.Node != nil, id.labelOf(o.Label)
	}
	limit, err := id.nodeLimit()
	if err != nil {
		return Granted{}, nil, err
	}
	if limit > 0 {
		leave, err := id.enter(ctx)
		if err != nil {
			return Granted{}, nil, err
		}
		defer leave()
		if len(r.Earlier) == 0 { // what it got is there already, and counts afterwards
			if err := s.checkRoom(ctx, id, limit, namespace, o.Node, o.Nodes); err != nil {
				return Granted{}, nil, err
			}
		}
	}
	if g, sp, err = s.acquire(ctx, namespace, r, o); err == nil && limit > 0 {
		used := g.Ticket.From // nobody has the answer
		if len(r.Earlier) > 0 {
			used = -1 // a copy of the caller may have that of an earlier attempt
		}
		err = s.keepWithin(ctx, id, limit, sp, g.Ticket, used)
	}
	if err != nil {
		return Granted{}, nil, err
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

func (s *Service) acquire(
	ctx context.Context, namespace string, r lease.Request, o lease.Options,
) (Granted, *Space, error) {
	o.Time, o.Logger, o.Events = s.anchored, s.opts.Logger, s.onLeaseEvent
	return withSpace(ctx, s, namespace, func(ctx context.Context, sp *Space) (g Granted, err error) {
		// What may be refused comes first: a node that nobody can use would stay taken
		// until its end.
		if g.Secrets, err = s.Secrets(sp); err != nil && r.Fingerprint == "" {
			return Granted{}, err
		}
		if o.Within != (snowfence.NodeRange{}) {
			o.Within.Until = min(o.Within.Until, sp.Scheme().Nodes())
		}
		if g.Ticket, err = lease.Acquire(ctx, s.store, namespace, sp.Scheme(), &r, &o); err != nil {
			return Granted{}, err
		}
		return g, nil
	})
}

// tickets are the options of what is leased already.
func (s *Service) tickets() *lease.Options {
	return &lease.Options{Time: s.anchored, Logger: s.opts.Logger, Events: s.onLeaseEvent}
}

// Renew renews what a ticket stands for. One that has ended counts as a new one, for the limit of
// the token that its label names.
func (s *Service) Renew(
	ctx context.Context, id *Identity, t lease.Ticket, attempt string, earlier ...string,
) (lease.Ticket, *Space, error) {
	if err := checkEarlier(earlier); err != nil {
		return t, nil, err
	}
	limit, err := id.nodeLimit()
	if err != nil {
		return t, nil, err
	}
	next, sp, err := withSpace(ctx, s, t.Namespace, func(ctx context.Context, sp *Space) (lease.Ticket, error) {
		return t.Renew(ctx, s.store, sp.Scheme(), attempt, earlier, s.tickets())
	})
	if errors.Is(err, store.ErrLost) {
		text := fmt.Sprintf("node %d: its holder lost the lease", t.Node)
		s.Events.Add(Event{Kind: "lost", Namespace: t.Namespace, Actor: t.Label, Text: text})
	}
	if err == nil && sp.Scheme().Layout().TickOf(s.now()) >= t.Until {
		err = s.keepLate(ctx, id, limit, sp, next)
	}
	return next, sp, err
}

// Release gives back what a ticket stands for. A negative used means that all of the
// grant counts as used.
func (s *Service) Release(ctx context.Context, t lease.Ticket, used int64) error {
	_, _, err := withSpace(ctx, s, t.Namespace, func(ctx context.Context, sp *Space) (lease.Ticket, error) {
		return t, t.Release(ctx, s.store, sp.Scheme(), used, s.tickets())
	})
	return err
}

// withSpace does something with a namespace, and once more if its layout was changed
// since the server read it.
func withSpace[T any](
	ctx context.Context, s *Service, namespace string, do func(context.Context, *Space) (T, error),
) (T, *Space, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	for again := true; ; again = false {
		var zero T
		sp, err := s.Space(ctx, namespace)
		if err != nil {
			return zero, nil, err
		}
		out, err := do(ctx, sp)
		var mismatch *lease.MismatchError
		if errors.As(err, &mismatch) && again {
			s.forget(sp)
			continue
		}
		return out, sp, err
	}
}

// ParseTicket reads what a caller sends as its ticket.
func ParseTicket(b []byte) (lease.Ticket, error) {
	t, err := lease.ParseTicket(b[:min(len(b), 4096)])
	if err == nil && (t.TTL > maxTTL || t.Nodes > maxNodes) {
		err = Errorf(Invalid, "the ticket is damaged: send back the bytes of the last answer as they are")
	}
	return t, err
}

// Secrets returns the secrets of an encrypted namespace, for holders who make its IDs
// themselves; an error of the kind Refused where the server keeps them to itself.
func (s *Service) Secrets(sp *Space) ([][]byte, error) {
	if !sp.Scheme().Encrypted() {
		return nil, nil
	}
	if !s.opts.HandOut {
		return nil, Errorf(Refused, "namespace %q is encrypted, and this server keeps its secrets: ask it for IDs "+
			"instead, or have it set to hand secrets out", sp.Name)
	}
	keys, err := s.opts.Keys(sp.Name)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(keys))
	for i, k := range keys {
		out[i] = k.AppendSecret(nil)
	}
	return out, nil
}
