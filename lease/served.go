package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Keep is for servers that package remote does not reach. It acquires n leases with the same
// options, and keeps each, as [OpenAll] does from a store: all or none. s is the scheme of the
// namespace. Options.Create means nothing here: servers make no namespace.
//
// It asks for the nodes that follow the first one, because a server reads one record to see
// that such a node is free, and 64 to find any.
func Keep(
	ctx context.Context, server wire.Server, namespace string, s *snowfence.Scheme, n int, o *Options,
) ([]*Lease, error) {
	switch {
	case server == nil:
		return nil, errors.New("lease: the Server is nil")
	case s == nil:
		return nil, errors.New("lease: the Scheme is nil")
	}
	if err := checkName(namespace); err != nil {
		return nil, err
	}
	opts, err := o.normal(s)
	if err == nil {
		err = o.many(n)
	}
	if err != nil || n == 0 {
		return nil, err
	}
	leases := make([]*Lease, n)
	if leases[0], err = keepNear(ctx, server, namespace, s, opts, nil); err == nil {
		g := leases[0].Status().Grant
		err = each(n-1, servedTogether, func(i int) (err error) {
			node := (g.Node + int64(i+1)*g.Nodes) % s.Nodes()
			leases[i+1], err = keepNear(ctx, server, namespace, s, leases[0].opts, &node)
			return err
		})
	}
	if err != nil {
		leases = slices.DeleteFunc(leases, func(l *Lease) bool { return l == nil })
		closing, cancel := world.From(ctx).WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer cancel()
		return nil, errors.Join(err, ShutdownAll(closing, leases))
	}
	return leases, nil
}

// servedTogether is how many leases are opened over a server at a time. A server puts those of one
// round trip together, and more would wait for it longer than their requests may.
const servedTogether = 256

// keepNear keeps one lease, and asks for a node first; nil means none.
func keepNear(
	ctx context.Context, server wire.Server, namespace string, s *snowfence.Scheme, opts Options, node *int64,
) (*Lease, error) {
	asked := opts.TTL
	opts.TTL, opts.MaxSkew = cmp.Or(asked, usual.ttl), cmp.Or(opts.MaxSkew, usual.skew)
	c := &serverClaim{
		setup: newSetup(world.From(ctx), namespace, s, opts), server: server, asked: asked, near: node,
		avoid: map[int64]bool{},
	}
	g, err := firstGrant(ctx, c.setup, c)
	c.announce()
	if err != nil {
		return nil, err
	}
	c.opts.TTL, c.ticks.ttl = c.ttl, c.ttl // nothing reads them before the lease begins
	l := newLease(c.setup, c)
	l.begin(g)
	return l, nil
}

// serverClaim is a claim over a server, which applies the rules of the store. The claim repeats
// what had no answer, shows its last ticket after a loss, and compares clocks.
type serverClaim struct {
	*setup
	server wire.Server
	asked  time.Duration // the ttl; 0 leaves it to the server
	ttl    time.Duration // that the server gives
	near   *int64        // the node to ask for at first; nil for none

	ticket  wire.Ticket     // nil when nothing is held
	grant   snowfence.Grant // of ticket
	earlier []string        // attempts that may have worked, and had no answer
	fresh   bool            // no attempt before that of grant was without an answer
	lost    wire.Ticket     // the last ticket, after a loss
	last    snowfence.Grant // the highest grant of its node; Until 0 when there was none
	avoid   map[int64]bool  // nodes that Options.Check refused
}

// next implements [claim].
func (c *serverClaim) next(ctx context.Context) (snowfence.Grant, error) {
	if c.ticket == nil {
		return c.acquire(ctx)
	}
	return c.renew(ctx)
}

// maxRefused bounds how many nodes of a server Options.Check refuses in one go.
const maxRefused = 64

func (c *serverClaim) acquire(ctx context.Context) (none snowfence.Grant, err error) {
	if err := c.checkFixed(ctx); err != nil {
		return none, err
	}
	for range maxRefused {
		tried := len(c.avoid)
		g, err := c.persist(ctx)
		if err != nil {
			return none, err
		}
		refused := c.check(ctx, g)
		if refused == nil {
			return g, nil
		}
		if err := c.giveBack(ctx, c.unused()); err != nil {
			return none, errors.Join(refused, err)
		}
		if len(c.avoid) == tried {
			return none, refused // another node would be no better
		}
	}
	return none, fmt.Errorf("lease: namespace %q: %w: the holder refused the last %d", c.name,
		ErrTaken, maxRefused)
}

// checkFixed asks Options.Check about a fixed node before it is taken from anybody.
func (c *serverClaim) checkFixed(ctx context.Context) error {
	if c.opts.Node == nil || c.opts.Check == nil {
		return nil
	}
	return c.vetoed(*c.opts.Node, c.opts.Check(ctx, *c.opts.Node))
}

func (c *serverClaim) vetoed(node int64, why error) error {
	if why == nil {
		return nil
	}
	return fmt.Errorf("lease: node %d of namespace %q: %w: %w", node, c.name, ErrVetoed, why)
}

// check refuses a grant that the holder must not use.
func (c *serverClaim) check(ctx context.Context, g snowfence.Grant) error {
	if g.Node == c.last.Node && g.From < c.last.Until {
		return fmt.Errorf("lease: node %d of namespace %q: the server grants ticks from %d on, and those below %d "+
			"were granted before: its store was rolled back, and this lease waits for later ones",
			g.Node, c.name, g.From, c.last.Until)
	}
	if c.opts.Node == nil && c.opts.Check != nil {
		if err := c.opts.Check(ctx, g.Node); err != nil {
			if ctx.Err() == nil {
				c.avoid[g.Node] = true
			}
			return c.vetoed(g.Node, err)
		}
	}
	return nil
}

// maxAsked is how often a lease asks for a node in one go: the next call goes to another server.
const maxAsked = 4

// persist asks until there is an answer.
func (c *serverClaim) persist(ctx context.Context) (g snowfence.Grant, err error) {
	for range maxAsked {
		if g, err = c.ask(ctx); len(c.earlier) == 0 {
			break
		}
	}
	return g, err
}

// ask acquires, or finds what an attempt without an answer got.
func (c *serverClaim) ask(ctx context.Context) (none snowfence.Grant, err error) {
	o := c.opts
	r := wire.Request{
		TTL: c.asked, Node: o.Node, Guard: o.Guard, Within: o.Within, Nodes: o.Nodes, Label: o.Label,
		Attempt: c.world.Text(), Earlier: slices.Clone(c.earlier), Lost: c.lost, Free: c.last.Until > 0,
		Avoid: slices.Sorted(maps.Keys(c.avoid)), Fingerprint: c.scheme.Fingerprint(),
	}
	if c.scheme.Layout().Bits(snowfence.FieldKey) > 0 {
		r.Keys = c.scheme.KeyIDs()
	}
	if c.last.Until > 0 {
		r.Prefer = &c.last.Node
	} else if node := c.stickyNode(); len(node) > 0 {
		r.Prefer = &node[0]
	} else {
		r.Prefer = c.near
	}
	node := int64(-1)
	if c.opts.Node != nil {
		node = *c.opts.Node
		r.Prefer = nil
	}
	if err := c.noteSend(ctx, node, c.target()); err != nil {
		return none, err
	}
	c.send(r.Attempt)
	before := c.now()
	a, err := c.server.Acquire(ctx, c.name, r)
	if err != nil {
		if definite(err) {
			c.earlier = nil
			c.kept.Store(nil)
		}
		return none, err
	}
	if err := c.heard(a); err != nil {
		return none, err
	}
	c.noteSticky(a.Grant.Node)
	c.fresh = len(r.Earlier) == 0
	if err := c.skew(before, a.Now); err != nil {
		return none, errors.Join(err, c.giveBack(ctx, c.unused()))
	}
	c.lost = nil
	c.opts.Logger.Info("lease acquired", "namespace", c.name, "label", c.opts.Label,
		"node", a.Grant.Node, "nodes", a.Grant.Nodes, "from", a.Grant.From, "until", a.Grant.Until)
	return a.Grant, nil
}

// unused is what is given back of a grant that this holder refuses. If an earlier attempt may have
// got it, a copy of this holder may have the answer, and use it.
func (c *serverClaim) unused() *owed {
	if !c.fresh {
		return nil
	}
	return &owed{c.grant.Node, c.grant.From, c.grant.From}
}

// definite reports whether an acquisition that ended so took no node.
func definite(err error) bool {
	for _, known := range []error{ErrTaken, ErrRefused, ErrVetoed, ErrInvalid, ErrNoNamespace, ErrExists} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func (c *serverClaim) renew(ctx context.Context) (none snowfence.Grant, err error) {
	if err := c.noteSend(ctx, c.grant.Node, c.target()); err != nil {
		return none, err
	}
	attempt, earlier := c.world.Text(), slices.Clone(c.earlier)
	c.send(attempt)
	before := c.now()
	a, err := c.server.Renew(ctx, c.ticket, attempt, earlier)
	switch {
	case errors.Is(err, store.ErrLost), errors.Is(err, ErrNoNamespace):
		c.lost = c.ticket
		c.ended()
		return none, &lostError{err}
	case err != nil:
		return none, err
	}
	if err := c.heard(a); err != nil {
		return none, err
	}
	return a.Grant, c.skew(before, a.Now)
}

// send notes an attempt until it is answered. The write of one that is forgotten counts as
// another holder's.
func (c *serverClaim) send(attempt string) {
	if len(c.earlier) < maxUnanswered {
		c.earlier = append(c.earlier, attempt)
	}
}

// heard takes over what the server acknowledged.
func (c *serverClaim) heard(a wire.Lease) error {
	g := a.Grant
	if len(a.Ticket) == 0 || g.Until < g.From || g.Nodes != int64(c.opts.Nodes) ||
		c.ticket != nil && (g.Node != c.grant.Node || g.From < c.grant.From) {
		return fmt.Errorf("lease: namespace %q: the server answers with %d nodes from %d on and the ticks %d to %d, "+
			"which were not asked for", c.name, g.Nodes, g.Node, g.From, g.Until)
	}
	c.ticket, c.grant, c.earlier, c.ttl = a.Ticket, g, nil, cmp.Or(a.TTL, c.opts.TTL)
	c.kept.Store(&kept{g.Node, g.Until})
	return nil
}

// ended forgets what was held, and remembers up to where its ticks went.
func (c *serverClaim) ended() {
	if c.grant.Until > c.grant.From {
		c.last = c.grant
	}
	c.ticket, c.grant, c.earlier = nil, snowfence.Grant{}, nil
	c.kept.Store(nil)
}

// giveBack implements [claim]. What had no answer is settled first, because the node is ours if it
// worked.
func (c *serverClaim) giveBack(ctx context.Context, o *owed) error {
	if len(c.earlier) > 0 {
		var err error
		if c.ticket == nil {
			_, err = c.ask(ctx)
		} else {
			_, err = c.renew(ctx)
		}
		if len(c.earlier) > 0 {
			return err
		}
	}
	if c.ticket == nil {
		c.ended()
		return nil
	}
	used := int64(-1)
	if o != nil && o.node == c.grant.Node && o.from == c.grant.From {
		used = o.used
	}
	err := c.server.Release(ctx, c.ticket, used)
	if err != nil && !errors.Is(err, ErrNoNamespace) {
		return fmt.Errorf("lease: giving node %d of namespace %q back: %w", c.grant.Node, c.name, err)
	}
	if used >= 0 {
		c.grant.Until = used // all that it used
	}
	c.ended()
	return nil
}

// target is up to where a server may grant now.
func (c *serverClaim) target() int64 { return c.ticks.target(c.now()) }

// skew is [ErrSkew] if the server's clock and this one's differ by more than allowed.
func (c *serverClaim) skew(before, theirs time.Time) error {
	now, wall := c.now(), c.opts.clock.Wall()
	err := compareClocks(before, theirs, now, c.opts.MaxSkew, "the server's")
	if err != nil && compareClocks(wall.Add(before.Sub(now)), theirs, wall, c.opts.MaxSkew, "") == nil {
		c.correct(now.Sub(wall))
		return nil
	}
	return err
}
