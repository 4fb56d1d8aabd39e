package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// tellRollback raises the floor if the store lost a write of a hold.
func (c *storeClaim) tellRollback(ctx context.Context) error {
	if err := c.diagnose(ctx); err != nil {
		return err
	}
	return c.raiseIfSuspected(ctx)
}

// diagnose tells whether another holder took a lost node, or the store was
// rolled back.
func (c *storeClaim) diagnose(ctx context.Context) (err error) {
	h, stored := c.lostHold, c.foundInstead
	if h == nil {
		return nil
	}
	if stored == nil {
		if stored, err = c.readPlaces(ctx, h); err != nil {
			return err
		}
	}
	last := len(stored) - 1
	if stored[last].Generation < h.generation {
		c.lossAfter, c.lossProven = &h.generation, slices.Max(h.acked) > 0 // the namespace itself was rolled back
	}
	c.noticeRollback(h, stored[:last])
	c.lostHold, c.foundInstead = nil, nil
	return nil
}

// readPlaces reads the records in the places of a hold, and at the end that
// of the namespace.
func (c *storeClaim) readPlaces(ctx context.Context, h *hold) ([]store.Record, error) {
	stored, _, err := c.st.Get(ctx, append(keys(h.records), c.namespaceKey()))
	if err != nil {
		return nil, fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	return stored, nil
}

// noticeRollback suspects a store that lost a write, or has another one
// with its revision. It is proven where the store told this holder that the
// write is durable: a write that was only read may be gone after a crash.
//
// Ticks of the grant that another holder has prove nothing: a copy of this
// machine may have given them back.
func (c *storeClaim) noticeRollback(h *hold, stored []store.Record) {
	for i, r := range stored {
		known := h.records[i]
		replaced := known.Revision == h.acked[i] && r.Revision == known.Revision && r.Nonce != known.Nonce
		if r.Revision < known.Revision || replaced {
			c.lossAfter, c.lossProven = &h.generation, c.lossProven || replaced || r.Revision < h.acked[i]
			c.Report(RolledBack, nil, "node", r.Node, "revision", r.Revision, "expected", known.Revision)
		}
	}
}

// loseIfReplaced returns the error of a call of the store. If the store was
// replaced, no grant of the old one protects anybody, and the hold is lost
// at once. Otherwise the grant may be used to its end.
func (c *storeClaim) loseIfReplaced(err error) error {
	if errors.Is(err, store.ErrReplaced) {
		return c.lose(err)
	}
	return err
}

// below reports whether all that this claim was granted lies below the
// floor.
func (c *storeClaim) below(ns scope.Namespace) bool { return c.reached <= ns.Floor }

// raiseIfSuspected raises the floor if the store was rolled back behind a
// grant or a ticket, unless another process has done so.
func (c *storeClaim) raiseIfSuspected(ctx context.Context) error {
	if c.lossAfter == nil {
		return nil
	}
	after := *c.lossAfter // a later generation was raised after the rollback
	return c.raiseFloor(ctx, func(ns scope.Namespace, _ string) bool {
		return ns.Generation > after && c.below(ns) // usable looks at the identity
	})
}

// usable returns the namespace if it gives grants to this lease. If its
// store was replaced, usable raises the floor.
func (c *storeClaim) usable(ctx context.Context) (scope.Namespace, error) {
	for {
		ns, a, err := scope.Namespaces(c.st).Admit(ctx, c.Name, c.Scheme, c.fits)
		if err != nil {
			return ns, err
		}
		if c.last = &a; a.Identity == ns.Identity {
			return ns, nil
		}
		c.Report(Replaced, nil, "was", ns.Identity, "is", a.Identity)
		if err := c.raiseFloor(ctx, func(ns scope.Namespace, id string) bool { return ns.Identity == id }); err != nil {
			return scope.Namespace{}, err
		}
	}
}

// raiseFloor makes all grants from now on start above everything that can
// have been used in a store that was rolled back. The new generation ends
// all grants. It does nothing if done says, from namespace and identity,
// that another process has raised it.
func (c *storeClaim) raiseFloor(ctx context.Context, done func(ns scope.Namespace, id string) bool) error {
	for {
		ns, err := c.readNamespace(ctx)
		if errors.Is(err, fault.ErrNoNamespace) && c.Create { // not a deleted one
			ns, err = scope.Namespaces(c.st).Create(ctx, c.Name, c.Scheme, c.creation())
		}
		if err == nil {
			err = ns.Usable(c.Scheme)
		} else if !errors.Is(err, fault.ErrNoNamespace) && !errors.Is(err, store.ErrMoved) {
			return err
		}
		if err != nil {
			return errors.Join(err, c.tellLoss(ctx, ns))
		}
		id := c.last.Identity
		same, err := ns.Identify(id)
		if err != nil {
			return err
		}
		if done(ns, id) {
			return nil
		}
		if c.lossProven && !c.below(ns) { // it was not raised since
			was := ns.Identity
			if same { // perhaps with more sources
				was = id
			}
			if err = c.changeIdentity(ctx, was); err != nil {
				return err
			}
			id = c.last.Identity
		}
		c.MaxSkew = min(c.MaxSkew, ns.MaxSkew) // it may have been lowered
		now, err := c.clock(ctx)               // a wrong clock must not move everybody's floor
		if err != nil {
			return err
		}
		after := int64(0)
		if c.lossAfter != nil {
			after = *c.lossAfter // tells others with the same loss that it was done
		}
		if ns, err = ns.Raise(ctx, c.st, now, id, c.reached, after); !errors.Is(err, store.ErrLost) {
			if err == nil {
				c.Report(FloorRaised, nil, "until", c.Ticks.Layout.TimeOf(ns.Floor))
			}
			return err
		}
	}
}

// tellLoss tells other holders that the store lost writes, where this one
// cannot raise the floor: the namespace is gone, moved or of another
// layout. A guest, which knows no identity, may tell it again.
func (c *storeClaim) tellLoss(ctx context.Context, ns scope.Namespace) error {
	was := c.identity
	if same, _ := store.Compare(c.last.Identity, ns.Identity); was == "" && same { // nobody else told it
		was = c.last.Identity
	}
	if !c.lossProven {
		return nil
	}
	return c.changeIdentity(ctx, was)
}

// changeIdentity gives a store that lost writes another identity. Holders
// of other namespaces see it at their next renewal. All holders that saw
// the loss name the identity of before, so it changes once.
func (c *storeClaim) changeIdentity(ctx context.Context, was string) error {
	if err := c.st.Suspect(ctx, was); err != nil {
		return fmt.Errorf("lease: giving the store another identity: %w", err)
	}
	if _, err := c.ask(ctx); err != nil { // the answer of before is old
		return fmt.Errorf("lease: reading the store's identity: %w", err)
	}
	return nil
}
