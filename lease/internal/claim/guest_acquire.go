package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/wire"
)

// acquire asks for a node, and refuses ticks that were granted before.
func (c *guestClaim) acquire(ctx context.Context) (none snowfence.Grant, err error) {
	if c.refused {
		if err := c.refuse(ctx); err != nil {
			return none, err
		}
	}
	g, err := c.askAgain(ctx)
	if err != nil {
		return none, err
	}
	if g.Node == c.lastGrant.Node && g.From < c.lastGrant.Until {
		err = fmt.Errorf("lease: node %d of namespace %q: the server grants ticks from %d on, and those below %d "+
			"were granted before: its store was rolled back, and this lease waits for later ticks",
			g.Node, c.Name, g.From, c.lastGrant.Until)
		return none, errors.Join(err, c.refuse(ctx))
	}
	return g, nil
}

// maxAsked is how often a lease asks for a node in one go: the next call
// goes to another server.
const maxAsked = 4

// askAgain asks until there is an answer, at most maxAsked times.
func (c *guestClaim) askAgain(ctx context.Context) (g snowfence.Grant, err error) {
	for range maxAsked {
		if g, err = c.request(ctx); len(c.earlier) == 0 {
			break
		}
	}
	return g, err
}

// request acquires, or finds the nodes of an attempt without an answer.
func (c *guestClaim) request(ctx context.Context) (none snowfence.Grant, err error) {
	o := c.Settings
	r := wire.Request{
		TTL: c.asked, Node: o.Node, Guard: o.Guard, Within: o.Within, Nodes: o.Nodes, Label: o.Label,
		Attempt: c.World.Text(), Earlier: slices.Clone(c.earlier), Lost: c.lost, Free: c.lastGrant.Until > 0,
		Fingerprint: c.Scheme.Fingerprint(), Prefer: c.near,
	}
	if c.Scheme.Layout().Bits(snowfence.FieldKey) > 0 {
		r.Keys = c.Scheme.KeyIDs()
	}
	if c.lastGrant.Until > 0 {
		r.Prefer = &c.lastGrant.Node
	}
	node := int64(-1)
	if c.Node != nil {
		node = *c.Node
		r.Prefer = nil
	}
	if err := c.noteSend(ctx, node, c.target()); err != nil {
		return none, err
	}
	c.noteAttempt(r.Attempt)
	before := c.Now()
	a, err := c.server.Acquire(ctx, c.Name, r)
	if err != nil {
		if definite(err) {
			c.earlier = nil
			c.kept.Store(nil)
		}
		if errors.Is(err, fault.ErrInvalid) && c.lastGrant.Until > 0 {
			c.asked = 0 // the namespace may allow less now
		}
		return none, err
	}
	if err := c.takeOver(a); err != nil {
		return none, err
	}
	c.copyUses = len(r.Earlier) > 0
	if err := c.skew(before, a.Now); err != nil {
		return none, errors.Join(err, c.refuse(ctx))
	}
	c.lost = nil
	c.Logger.Info("lease acquired", "namespace", c.Name, "label", c.Label,
		"node", a.Grant.Node, "nodes", a.Grant.Nodes, "from", a.Grant.From, "until", a.Grant.Until)
	return a.Grant, nil
}

// refuse gives a grant back without its use.
func (c *guestClaim) refuse(ctx context.Context) error {
	c.refused = true
	return c.GiveBack(ctx, &Owed{c.grant.Node, c.grant.From, c.grant.From})
}

// definite reports whether an acquisition that ended so took no node.
func definite(err error) bool {
	for _, known := range []error{
		fault.ErrTaken, fault.ErrRefused, fault.ErrVetoed, fault.ErrInvalid, fault.ErrNoNamespace, fault.ErrExists,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
