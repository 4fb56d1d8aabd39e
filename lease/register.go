package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// register makes sure that the namespace exists, is for this
// scheme, and allows this lease's ttl and skew.
func (c *storeClaim) register(ctx context.Context) error {
	if err := c.create(ctx); err != nil {
		return err // the next read would ask for a namespace that we may create
	}
	ns, err := c.usable(ctx)
	if err == nil && strings.Contains(ns.Identity+":", ":"+store.Closed+":") {
		c.opts.Logger.Warn("the store does not tell this program all of its identity: older data that is put back "+
			"while no program runs may go unnoticed", "namespace", c.name, "identity", ns.Identity)
	}
	return err
}

// create makes the namespace if it is missing, and the options say so.
func (c *storeClaim) create(ctx context.Context) error {
	if !c.opts.Create {
		return nil
	}
	_, err := readNamespace(ctx, c.st, c.name)
	if errors.Is(err, ErrNoNamespace) {
		_, err = Namespaces(c.st).Create(ctx, c.name, c.scheme, c.opts.creation())
	}
	return err
}

// usable returns the namespace if it gives grants to this lease: active,
// for this scheme, in the store it was made in. It adds to the namespace
// new keys, and the identity of a store that was moved, which raises the
// floor.
func (c *storeClaim) usable(ctx context.Context) (Namespace, error) {
	for {
		ns, err := readNamespace(ctx, c.st, c.name)
		if err != nil {
			return Namespace{}, err
		}
		if err := ns.usable(c.scheme); err != nil {
			return Namespace{}, err
		}
		if err := c.settle(ns); err != nil {
			return Namespace{}, err
		}
		id, same, err := ns.identify(ctx, c.st)
		if err != nil {
			return Namespace{}, err
		}
		if c.unit != ns.Unit {
			return Namespace{}, fmt.Errorf("lease: namespace %q: %w: it has a unit of %d nodes now, no longer %d: "+
				"open the lease again", c.name, ErrMismatch, ns.Unit, c.unit)
		}
		if n := c.opts.Node; n != nil && *n != ns.whole(*n) {
			return Namespace{}, invalidf("lease: namespace %q: node %d is inside a unit: a lease has all nodes %d "+
				"to %d of it, so ask for its first one", c.name, *n, ns.whole(*n), ns.whole(*n)+ns.Unit-1)
		}
		if n := ns.Nodes.Until - ns.Nodes.From; c.opts.Node == nil && n < int64(c.opts.Nodes) {
			return Namespace{}, invalidf("lease: namespace %q has %d leasable nodes, fewer than a block of %d",
				c.name, n, c.opts.Nodes)
		}
		keys, added, err := ns.rotated(c.scheme, false)
		switch {
		case err != nil:
			return Namespace{}, err
		case !same:
			c.report(EventReplaced, nil, "was", ns.Identity, "is", id)
			if err := c.raiseFloor(ctx, func(ns Namespace, id string) bool { return ns.Identity == id }); err != nil {
				return Namespace{}, err
			}
			continue
		case !added && id == ns.Identity:
			return ns, nil
		}
		ns.Keys, ns.Identity = keys, id
		ns, err = ns.write(ctx, c.st)
		if !errors.Is(err, store.ErrLost) {
			return ns, err
		}
	}
}

// fit returns the ttl and the skew of a lease with these options, or why
// the namespace refuses them.
func fit(ns Namespace, o Options) (l limits, err error) {
	l = limits{cmp.Or(o.TTL, min(usual.ttl, ns.MaxTTL)), cmp.Or(o.MaxSkew, min(usual.skew, ns.MaxSkew))}
	switch {
	case l.ttl > ns.MaxTTL:
		return l, invalidf("lease: namespace %q: a ttl of %v is more than its longest, %v: take that one, or raise it "+
			"(snowfence namespace change %s --max-ttl %v)", ns.Name, l.ttl, ns.MaxTTL, ns.Name, l.ttl)
	case l.skew > ns.MaxSkew:
		return l,
			invalidf("lease: namespace %q: a skew of %v is more than its largest, %v: take that one, or raise it "+
				"(snowfence namespace change %s --max-skew %v)", ns.Name, l.skew, ns.MaxSkew, ns.Name, l.skew)
	}
	return l, nil
}
