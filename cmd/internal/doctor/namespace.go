package doctor

import (
	"context"
	"math"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

const (
	endsSoon = 365 * 24 * time.Hour // a change of layout is planned, not hurried
	recently = 7 * 24 * time.Hour   // how long a mark of a rollback is a finding
)

// eachNamespace makes a check of all namespaces from a check of one and its
// layout.
func eachNamespace(
	look func(ctx context.Context, c *Case, ns scope.Namespace, l snowfence.Layout, r *report) error,
) func(context.Context, *Case, *report) {
	return func(ctx context.Context, c *Case, r *report) {
		switch {
		case c.listErr != nil:
			r.unchecked(r.names, "", "%v", c.listErr)
		case len(c.namespaces) == 0:
			r.unchecked(r.names, "", "there is no namespace")
		}
		for _, ns := range c.namespaces {
			if ns.State == scope.Deleted {
				continue
			}
			if err := look(ctx, c, ns, ns.Layout, r); err != nil {
				r.unchecked(r.names, ns.Name, "%v", err)
			}
		}
	}
}

// namespace looks at the record of a namespace.
func namespace(_ context.Context, c *Case, ns scope.Namespace, l snowfence.Layout, r *report) error {
	now := c.Now()
	if ns.State == scope.Changing {
		r.found(NamespaceChanging, ns.Name, "run the change again: it goes on where it stopped",
			"a change of the namespace has begun and not ended: no node can be leased")
	}
	if from := l.TimeOf(ns.Floor); ns.Floor > 0 && from.After(now) {
		r.found(NamespaceWaits, ns.Name, "wait: nothing is wrong after a change, a restore or a failover",
			"its first ID can be made in %v, at %s", from.Sub(now).Round(time.Millisecond), stamp(from))
	}
	lookBack := "look for what happened then: a backup put back, a failover, a server that lost its disk"
	at := time.UnixMilli(ns.RolledBack)
	switch {
	case ns.BackfillStopped:
		r.found(NamespaceRolledBack, ns.Name, "name nodes without IDs for the past: see "+
			"https://snowfence.github.io/snowfence/move/past",
			"the store may have lost writes, and IDs for the past wait until an operator names other nodes")
	case ns.RolledBack > 0 && now.Sub(at) < recently:
		r.found(NamespaceRolledBack, ns.Name, lookBack, "at %s a program noticed that the store may have lost writes, "+
			"or an operator confirmed a store that was moved", stamp(at))
	}
	for _, nodes := range ns.Uncovered() {
		r.found(NodesUncovered, ns.Name, "give no program such a number by hand; after the functions are retired: "+
			"snowfence namespace change "+ns.Name+" --leasable RANGE --unused TIME"+c.Flags+": "+show.Unused,
			"no program may use the nodes %d to %d by hand: beside functions in a database, only leasable nodes are "+
				"safe", nodes.From, nodes.Until-1)
	}
	end := l.EndOfLife()
	// Beyond 292 years a Duration is full.
	left := end.Sub(now)
	change := "plan another layout: https://snowfence.github.io/snowfence/operate/operations#another-layout"
	switch days := int64(left / (24 * time.Hour)); {
	case left <= 0:
		r.found(LayoutEnds, ns.Name, change, "its layout ended at %s: no ID can be made", stamp(end))
	case left < endsSoon:
		r.found(LayoutEnds, ns.Name, change, "%d days are left: its layout ends at %s", days, stamp(end))
	case left == math.MaxInt64:
		r.good(LayoutEnds, ns.Name, "its layout lasts for more than 292 years")
	default:
		r.good(LayoutEnds, ns.Name, "%d days are left: its layout ends at %s", days, stamp(end))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// identity compares the store with the last store of a namespace.
func identity(ctx context.Context, c *Case, ns scope.Namespace, _ snowfence.Layout, r *report) error {
	now, err := store.Identity(ctx, c.Store.Leases, ns.Name)
	same, less := store.Compare(now, ns.Identity)
	switch {
	case err != nil:
		return err
	case now == "" || ns.Identity == "":
		r.unchecked(r.names, ns.Name, "this store has no identity")
	case less:
		r.found(StoreIdentity, ns.Name, "give its user back the rights that store-durability names, or do what the "+
			"error of \"snowfence new\" says",
			"the store hides a part of its identity that the namespace has seen, so no lease is renewed")
	case !same:
		r.found(StoreIdentity, ns.Name, "after a restore, see https://snowfence.github.io/snowfence/operate/operations"+
			"#backup before programs start; after a failover, let them wait; only if you moved all data while no "+
			"program used it: snowfence namespace confirm "+ns.Name+c.Flags,
			"the namespace was last used in another store: it was restored, moved or failed over")
	default:
		r.good(StoreIdentity, ns.Name, "the namespace was last used in this store")
	}
	return nil
}
