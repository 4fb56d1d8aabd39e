package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// guestClaim is a claim over a server, which applies the rules. The claim
// repeats calls without an answer, shows its last ticket after a loss, and
// compares clocks.
type guestClaim struct {
	*Setup
	server wire.Server
	asked  time.Duration // the ttl; 0 leaves it to the server
	near   *int64        // the node to ask for at first; nil for none

	ticket    wire.Ticket     // nil when nothing is held
	grant     snowfence.Grant // of ticket
	earlier   []string        // attempts that may have worked, and had no answer
	copyUses  bool            // an earlier attempt may have got the grant, as in hold
	refused   bool            // the grant is not used, and given back before the next step
	lost      wire.Ticket     // the last ticket, after a loss
	lastGrant snowfence.Grant // the highest grant of its node; Until 0 when there was none
}

// OverServer returns a claim over a server that holds nothing. It asks for
// the node near at first; nil means none.
func OverServer(s *Setup, server wire.Server, near *int64) Claim {
	asked := s.TTL
	s.setTTL(cmp.Or(asked, scope.DefaultTTL))
	s.MaxSkew = cmp.Or(s.MaxSkew, scope.DefaultTTL)
	return &guestClaim{Setup: s, server: server, asked: asked, near: near}
}

// Next implements [Claim].
func (c *guestClaim) Next(ctx context.Context) (snowfence.Grant, error) {
	if c.ticket == nil || c.refused {
		return c.acquire(ctx)
	}
	return c.renew(ctx)
}

// renew sends the ticket with a new attempt, and those without an answer.
func (c *guestClaim) renew(ctx context.Context) (none snowfence.Grant, err error) {
	if err := c.noteSend(ctx, c.grant.Node, c.target()); err != nil {
		return none, err
	}
	attempt, earlier := c.World.Text(), slices.Clone(c.earlier)
	c.noteAttempt(attempt)
	before := c.Now()
	a, err := c.server.Renew(ctx, c.ticket, attempt, earlier)
	switch {
	case errors.Is(err, store.ErrLost), errors.Is(err, fault.ErrNoNamespace):
		c.lost = c.ticket
		c.forgetHold()
		return none, Lost(err)
	case errors.Is(err, fault.ErrElsewhere), errors.Is(err, fault.ErrInvalid):
		// The grant goes on to its end, and another one takes its place.
		c.forgetHold()
		return c.acquire(ctx)
	case err != nil:
		return none, err
	}
	if err := c.takeOver(a); err != nil {
		return none, err
	}
	return a.Grant, c.skew(before, a.Now)
}

// noteAttempt notes an attempt until it is answered. The write of a
// forgotten attempt counts as another holder's.
func (c *guestClaim) noteAttempt(attempt string) {
	if len(c.earlier) < maxUnanswered {
		c.earlier = append(c.earlier, attempt)
	}
}

// takeOver takes over the acknowledged lease.
func (c *guestClaim) takeOver(a wire.Lease) error {
	g := a.Grant
	if len(a.Ticket) == 0 || a.TTL < 0 || g.Until < g.From || g.Nodes < int64(c.Nodes) ||
		c.ticket != nil && (g.Node != c.grant.Node || g.Nodes != c.grant.Nodes || g.From < c.grant.From) {
		return fmt.Errorf("lease: namespace %q: the server answers with %d nodes from %d on and the ticks %d to %d, "+
			"which were not asked for", c.Name, g.Nodes, g.Node, g.From, g.Until)
	}
	c.ticket, c.grant, c.earlier = a.Ticket, g, nil
	c.given.Store(int64(cmp.Or(a.TTL, c.TTL)))
	c.kept.Store(&Kept{g.Node, g.Until})
	return nil
}

// forgetHold forgets the hold, and remembers the end of its ticks.
func (c *guestClaim) forgetHold() {
	if c.grant.Until > c.grant.From && !c.refused {
		c.lastGrant = c.grant
	}
	c.ticket, c.grant, c.earlier, c.refused = nil, snowfence.Grant{}, nil, false
	c.kept.Store(nil)
}

// GiveBack implements [Claim]. A call without an answer is settled first,
// because the node is ours if it worked.
//
// Invariant: if an earlier attempt may have got the node, its ticks stay
// spent: a copy of this holder may have the answer, and use them.
func (c *guestClaim) GiveBack(ctx context.Context, o *Owed) error {
	if c.Copied() {
		return nil
	}
	if len(c.earlier) > 0 {
		var err error
		if c.ticket == nil {
			_, err = c.request(ctx)
		} else {
			_, err = c.renew(ctx)
		}
		if len(c.earlier) > 0 {
			return err
		}
	}
	if c.ticket == nil {
		c.forgetHold()
		return nil
	}
	used := int64(-1)
	if !c.copyUses && o != nil && o.Node == c.grant.Node && o.From == c.grant.From {
		used = o.Used
	}
	err := c.server.Release(ctx, c.ticket, used)
	if err != nil && !errors.Is(err, fault.ErrNoNamespace) && !errors.Is(err, fault.ErrElsewhere) &&
		!errors.Is(err, store.ErrLost) && !errors.Is(err, fault.ErrInvalid) {
		return fmt.Errorf("lease: giving node %d of namespace %q back: %w", c.grant.Node, c.Name, err)
	}
	if used >= 0 {
		c.grant.Until = used // all that it used
	}
	c.forgetHold()
	return nil
}

// Forget implements [Claim].
func (c *guestClaim) Forget() {
	if c.ticket != nil {
		c.lost = c.ticket
	}
	c.forgetHold()
}

// target is the end of the grants that a server may give now.
func (c *guestClaim) target() int64 { return c.Ticks.Target(c.Now()) }

// skew is [fault.ErrSkew] if the server's clock and this one's differ by
// more than allowed.
func (c *guestClaim) skew(before, theirs time.Time) error {
	now, wall := c.Now(), c.Clock.Wall()
	err := answer.CompareClocks(before, theirs, now, c.MaxSkew, "the server's")
	if err != nil && answer.CompareClocks(wall.Add(before.Sub(now)), theirs, wall, c.MaxSkew, "") == nil {
		c.correct(now.Sub(wall))
		return nil
	}
	return err
}
