package scope

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

const (
	// sqlSkew is how far a database's clock may be off from the operator's
	// clock.
	sqlSkew = 30 * time.Second

	// maxSQLLead is more than any layout's lead needs, and keeps times
	// apart from overflows.
	maxSQLLead = 100 * 365 * 24 * time.Hour

	longestText = 128 // bytes of each text of functions

	sqlVeto = "functions in a database " // their vetoes begin so
)

// RecordFunctions gives a node to functions in a database. It returns the
// region of the functions, and the tick above which their IDs have to
// begin. The node must be outside the leasable nodes. If the node has
// functions already, again must be true: with it, the operator states that
// the new ones are for the same database, whose clock is within 30 seconds,
// and was never further ahead. They must have the same schema.
//
// From then on no program leases the node. Until
// [Operator.RetireFunctions], a change that could make an ID of it is
// refused, and the namespace cannot be deleted. A wrong clock is a
// lease.ErrSkew.
func (op Operator) RecordFunctions(
	ctx context.Context, namespace string, node int64, f Functions, again bool,
) (recorded Region, after int64, err error) {
	switch {
	case max(len(f.Label), len(f.Dialect), len(f.Schema)) > longestText ||
		!store.Plain(f.Label+" "+f.Dialect+" "+f.Schema):
		return recorded, 0, fault.Invalidf("lease: namespace %q: the label %.200q, or the schema %.200q, is no text "+
			"of at most %d bytes", namespace, f.Label, f.Schema, longestText)
	case f.Lead < 0 || f.Lead > maxSQLLead:
		return recorded, 0, fault.Invalidf("lease: namespace %q: a lead of %v: it is between 0 and %v", namespace,
			f.Lead, time.Duration(maxSQLLead))
	}
	w := world.From(ctx)
	now := w.Now()
	if !again {
		if err := vacant(ctx, op.st, namespace, node, now); err != nil {
			return recorded, 0, err
		}
	}
	lost := false
	ns, err := editNamespace(ctx, op.st, namespace, func(ns *Namespace, a answer.Answer) (bool, error) {
		lost = a.Identity != ns.Identity
		if now, err = a.Clock(w, w.Now, min(ns.MaxSkew, sqlSkew)); err == nil {
			err = ns.recordSQL(node, f, again, now)
		}
		return true, err
	})
	if err != nil {
		return recorded, 0, err
	}
	recorded, _ = ns.functionsAt(node)
	l := recorded.Layout
	after = max(l.TickOf(now)+1, recorded.From)
	if again { // the database may be a new one, in place of one that is gone
		after = max(after, l.TickOf(now.Add(recorded.Functions.Lead+sqlSkew))+1)
	}
	if lost || !l.Equal(ns.Layout) { // a lease of the node may go on, and its record may be gone
		after = max(after, ns.above(l, now))
	}
	if !l.Equal(ns.Layout) {
		return recorded, after, nil
	}
	// A holder that took the node before it was recorded is in its record
	// now, and evicted.
	r, err := op.Veto(ctx, namespace, node, sqlVeto+"make its IDs: "+recorded.Functions.database())
	if err != nil {
		return Region{}, 0, err
	}
	return recorded, max(after, ns.FloorOf(r)), nil
}

// vacant refuses a node that a lease holds, or that an operator vetoed.
func vacant(ctx context.Context, st store.Store, namespace string, node int64, now time.Time) error {
	ns, err := Namespaces(st).Show(ctx, namespace)
	if err != nil {
		return err
	}
	l := ns.Layout
	rs, _, err := st.Get(ctx, []store.Key{{Namespace: namespace, Node: ns.whole(node)}})
	if err != nil {
		return fmt.Errorf("lease: reading node %d of namespace %q: %w", node, namespace, err)
	}
	switch r := rs[0]; {
	case r.Held(l.TickOf(now)) && r.Generation >= ns.Since:
		return fault.Refusedf("lease: node %d of namespace %q is held by %q: stop that process, or take another node",
			node, namespace, r.Label)
	case r.Veto != "" && !strings.HasPrefix(r.Veto, sqlVeto):
		return fault.Refusedf("lease: node %d of namespace %q has a veto (%s): lift it first, or take another node",
			node, namespace, fault.Shown(r.Veto))
	}
	return nil
}

// recordSQL gives a node of the leases to functions, or notes that
// functions were printed again.
func (ns *Namespace) recordSQL(node int64, f Functions, again bool, now time.Time) error {
	refuse := func(format string, args ...any) error {
		return fault.Refusedf("lease: node %d of namespace %q: "+format, append([]any{node, ns.Name}, args...)...)
	}
	l := ns.Layout
	old, had := ns.functionsAt(node)
	start := max(ns.Floor, l.TickOf(now))
	switch {
	case ns.State != Active:
		return ns.notActive()
	case again && !had:
		return refuse("no functions in a database have this node: print new ones, without --again")
	case again && (old.Functions.Dialect != f.Dialect || old.Functions.Schema != f.Schema):
		return refuse("its functions are for %s, with --schema %q: print them again so, or drop them there and retire "+
			"the node", old.Functions.Dialect, old.Functions.Schema)
	case again:
		ns.each(func(r Region) []Region {
			if r.functionsOf(node) {
				was := *r.Functions
				was.Label, was.Lead, was.Printed = cmp.Or(f.Label, was.Label), max(was.Lead, f.Lead), now.UnixMilli()
				r.Functions = &was
			}
			return []Region{r}
		})
		return nil
	case had:
		return refuse("functions in a database have this node since %s (%s): print them again for the same database "+
			"only, or take another node", showMilli(old.Functions.Printed), old.Functions.database())
	case node < 0 || node >= nodeCount(l):
		return fault.Invalidf("lease: node %d of namespace %q: the layout %s has the nodes 0 to %d", node, ns.Name,
			ns.Layout, nodeCount(l)-1)
	case node >= ns.Nodes.From && node < ns.Nodes.Until:
		return refuse("programs can lease the nodes %d to %d: take another one", ns.Nodes.From, ns.Nodes.Until-1)
	case l.Cipher != snowfence.Plain:
		return refuse("the layout %s is encrypted, and its secret must not be in a database", ns.Layout)
	case start > maxTick(l):
		return refuse("%w: its layout has no tick left", snowfence.ErrLifetime)
	}
	if err := ns.OfLeases(node, 1); err != nil {
		return fault.Mark(err, fault.ErrRefused)
	}
	f.Printed = now.UnixMilli()
	ns.each(func(r Region) []Region {
		if r.Owner != OwnerLeases || r.Ended || node < r.Nodes.From || node >= r.Nodes.Until {
			return []Region{r}
		}
		below, above, before, mine := r, r, r.ended(start), r
		below.Nodes.Until, above.Nodes.From = node, node+1
		before.Nodes = snowfence.NodeRange{From: node, Until: node + 1}
		mine.Nodes, mine.From, mine.Owner, mine.Functions = before.Nodes, max(start, r.From), ownerFunctions, &f
		return []Region{below, above, before, mine}
	})
	if err := ns.fits(); err != nil {
		return refuse("%w", err)
	}
	return nil
}

// RetireFunctions records that functions in a database were dropped, and
// returns their region with its end. After that, a layout, a lease or other
// functions may use the node. The database's clock has to be within 30
// seconds of the operator's. A wrong clock is a lease.ErrSkew.
func (op Operator) RetireFunctions(ctx context.Context, namespace string, node int64) (Region, error) {
	ns, a, err := readNamespace(ctx, op.st, namespace)
	if err != nil {
		return Region{}, err
	}
	now, err := a.Clock(world.From(ctx), world.From(ctx).Now, min(ns.MaxSkew, sqlSkew))
	if err != nil {
		return Region{}, err
	}
	q, err := ns.retiredSQL(node, now)
	if err != nil {
		return Region{}, err
	}
	present := q.Layout.Equal(ns.Layout)
	if present {
		// The record comes first: a program that leases the node again
		// finds it raised.
		if err := raiseRetired(ctx, op.st, namespace, q); err != nil {
			return Region{}, err
		}
	}
	ns, err = editNamespace(ctx, op.st, namespace, func(ns *Namespace, _ answer.Answer) (bool, error) {
		now, had := ns.functionsAt(node)
		if ns.State != Active || !had || now.Functions.Printed != q.Functions.Printed ||
			q.Layout.Equal(ns.Layout) != present {
			return false, changedMeanwhile(namespace, node)
		}
		ns.each(func(r Region) []Region {
			if !r.functionsOf(node) {
				return []Region{r}
			}
			back := r
			back.Owner, back.Functions, back.From = OwnerLeases, nil, q.Until
			if !r.Layout.Equal(ns.Layout) {
				return []Region{q}
			}
			return []Region{q, back}
		})
		return true, nil
	})
	if err == nil && present {
		_, err = op.Veto(ctx, namespace, node, "")
	}
	return q, err
}

func changedMeanwhile(namespace string, node int64) error {
	return fault.Refusedf("lease: node %d of namespace %q was changed at the same time: try again", node, namespace)
}

// raiseRetired raises the floor of a node above the IDs that its functions
// made.
func raiseRetired(ctx context.Context, st store.Store, namespace string, q Region) error {
	node := q.Nodes.From
	if _, err := Namespaces(st).Veto(ctx, namespace, node, sqlVeto+"are being retired"); err != nil {
		return err // it also makes the record, if there is none
	}
	_, err := edit(ctx, st, namespace, node, func(ns Namespace, r store.Record) (store.Record, error) {
		if !q.Layout.Equal(ns.Layout) {
			return r, changedMeanwhile(namespace, node)
		}
		if r.Generation < ns.Since { // ticks of another layout
			r.Generation, r.Until, r.From = ns.Generation, ns.Floor, ns.Floor
		}
		r.Until = max(r.Until, q.Until)
		return r, nil
	})
	return err
}

// retiredSQL returns the region of a node with functions, if these end now.
func (ns Namespace) retiredSQL(node int64, now time.Time) (Region, error) {
	q, had := ns.functionsAt(node)
	switch {
	case ns.State != Active:
		return Region{}, ns.notActive()
	case !had:
		return Region{}, fault.Refusedf("lease: node %d of namespace %q: no functions in a database have this node",
			node, ns.Name)
	}
	return q.ended(max(q.From, q.Layout.TickOf(now.Add(q.Functions.Lead+sqlSkew))) + 1), nil
}
