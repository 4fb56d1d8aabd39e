package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// SQLNode is a node whose IDs functions in a database make ("snowfence sql"). It has no lease, so
// nothing ends its layout: until it is retired, the functions make IDs of this layout.
type SQLNode struct {
	Node    int64         `json:"node"`
	Dialect string        `json:"dialect"`         // of the database
	Label   string        `json:"label,omitempty"` // for people: which database
	Lead    time.Duration `json:"lead"`            // how far its IDs run ahead of the database's clock
	Layout  string        `json:"layout"`          // spec; RecordSQL sets it, and what follows
	Start   int64         `json:"start"`           // first tick
	Printed int64         `json:"printed"`         // when the functions were made, in Unix milliseconds
	Retired int64         `json:"retired"`         // first tick after the last; 0 while the functions are there
}

// database names the database, for people.
func (q SQLNode) database() string {
	if q.Label == "" {
		return q.Dialect
	}
	return q.Dialect + ", " + q.Label
}

const (
	// maxSQL is how many of them a namespace remembers, those that were retired too.
	maxSQL = 32

	// sqlSkew is how far a database's clock may be off that of whoever retires its functions.
	sqlSkew = 30 * time.Second

	// maxSQLLead is more than any layout's lead needs, and keeps times apart from overflows.
	maxSQLLead = 100 * 365 * 24 * time.Hour
)

// RecordSQL gives a node to functions in a database, and returns the tick above which their IDs
// have to begin. The node must lie outside those that can be leased, and a second record of it is
// refused: again is the operator's word that the functions are for the same database.
//
// From then on nobody leases the node. A change that could make an ID of it is refused, and so is
// the end of the namespace, until [RetireSQL].
func RecordSQL(
	ctx context.Context, st Store, namespace string, n SQLNode, again bool,
) (recorded SQLNode, after int64, err error) {
	switch {
	case len(n.Label) > longestLabel || !plain(n.Label) || len(n.Dialect) > longestLabel || !plain(n.Dialect):
		return n, 0, invalidf("lease: namespace %q: the label %.200q is no text of at most %d bytes", namespace,
			n.Label, longestLabel)
	case n.Lead < 0 || n.Lead > maxSQLLead:
		return n, 0, invalidf("lease: namespace %q: a lead of %v: it is between 0 and %v", namespace, n.Lead,
			time.Duration(maxSQLLead))
	}
	now := world.From(ctx).Now()
	if !again {
		if err := vacant(ctx, st, namespace, n.Node, now); err != nil {
			return n, 0, err
		}
	}
	ns, err := editNamespace(ctx, st, namespace, func(ns *Namespace) (bool, error) {
		return true, ns.recordSQL(n, again, now)
	})
	if err != nil {
		return n, 0, err
	}
	recorded = *ns.sqlNode(n.Node)
	l, err := snowfence.ParseLayout(recorded.Layout)
	if err != nil {
		return n, 0, fmt.Errorf("lease: namespace %q: %w", namespace, err)
	}
	after = max(l.TickOf(now)+1, recorded.Start)
	if again { // the database may be a new one, in place of one that is gone
		after = max(after, l.TickOf(now.Add(recorded.Lead+sqlSkew))+1)
	}
	if recorded.Layout != ns.Layout {
		return recorded, after, nil
	}
	// Whoever took the node before it was recorded is in its record now, and evicted.
	r, err := VetoNode(ctx, st, namespace, n.Node, "functions in a database make its IDs: "+recorded.database())
	if err != nil {
		return n, 0, err
	}
	return recorded, max(after, floor(ns, r), r.SkipUntil), nil
}

// vacant refuses a node that a lease holds.
func vacant(ctx context.Context, st Store, namespace string, node int64, now time.Time) error {
	ns, err := readNamespace(ctx, st, namespace)
	if err != nil {
		return err
	}
	l, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return fmt.Errorf("lease: namespace %q: %w", namespace, err)
	}
	rs, err := st.Get(ctx, []Key{{Namespace: namespace, Node: node}})
	if err != nil {
		return fmt.Errorf("lease: reading node %d of namespace %q: %w", node, namespace, err)
	}
	if r := rs[0]; r.Held(l.TickOf(now)) && r.Generation >= ns.Since {
		err := fmt.Errorf("lease: node %d of namespace %q is held by %q: stop that process, or take another node",
			node, namespace, r.Label)
		return marked{err, ErrRefused}
	}
	return nil
}

// recordSQL adds a node, or renews its record.
func (ns *Namespace) recordSQL(n SQLNode, again bool, now time.Time) error {
	refuse := func(format string, args ...any) error {
		err := fmt.Errorf("lease: node %d of namespace %q: "+format, append([]any{n.Node, ns.Name}, args...)...)
		return marked{err, ErrRefused}
	}
	l, err := snowfence.ParseLayout(ns.Layout)
	old := ns.sqlNode(n.Node)
	switch {
	case err != nil:
		return fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	case ns.State != Active:
		return ns.notActive()
	case again && old == nil:
		return refuse("no functions in a database have it, so there are none to print again")
	case again && old.Dialect != n.Dialect:
		return refuse("its functions are for %s: print them again for that, or retire them", old.Dialect)
	case old != nil && !again:
		return refuse("functions in a database have it since %s (%s): print them again for the same database only, "+
			"or take another node", showMilli(old.Printed), old.database())
	case !again && (n.Node < 0 || n.Node >= nodeCount(l)):
		return invalidf("lease: node %d of namespace %q: the layout %s has the nodes 0 to %d", n.Node, ns.Name,
			ns.Layout, nodeCount(l)-1)
	}
	ns.SQL = slices.Clone(ns.SQL) // the one that was read may be remembered by others
	if again {
		old = ns.sqlNode(n.Node)
		old.Lead, old.Label, old.Printed = max(old.Lead, n.Lead), cmp.Or(n.Label, old.Label), now.UnixMilli()
		return nil
	}
	if n.Node >= ns.First && n.Node <= ns.Last {
		return refuse("it can be leased, as all from %d to %d can: take one that cannot", ns.First, ns.Last)
	}
	if l.Cipher != snowfence.Plain {
		return refuse("the layout %s is encrypted, and its secret must not be in a database", ns.Layout)
	}
	n.Layout, n.Start, n.Retired, n.Printed = ns.Layout, max(ns.Floor, l.TickOf(now)), 0, now.UnixMilli()
	if err := ns.meetsSQL(l, snowfence.NodeRange{From: n.Node, Until: n.Node + 1}, l.TimeOf(n.Start)); err != nil {
		return err
	}
	for i, q := range ns.SQL {
		if q.Node == n.Node && q.Layout == n.Layout {
			n.Start, n.Lead = min(q.Start, n.Start), max(q.Lead, n.Lead)
			ns.SQL[i] = n
			return nil
		}
	}
	ns.SQL = append(ns.SQL, n)
	if err := fits(ns.Past, ns.SQL); err != nil {
		return refuse("%w", err)
	}
	return nil
}

// RetireSQL records that functions in a database were dropped, and returns the namespace. Their IDs
// end before SQLNode.Retired. A layout, a lease or other functions may have the node after that.
func RetireSQL(ctx context.Context, st Store, namespace string, node int64) (SQLNode, error) {
	ns, err := readNamespace(ctx, st, namespace)
	if err != nil {
		return SQLNode{}, err
	}
	q, err := ns.retiredSQL(node, world.From(ctx).Now())
	if err != nil {
		return SQLNode{}, err
	}
	if q.Layout == ns.Layout {
		// The record comes first: whoever may lease the node again finds it raised.
		if err := raiseRetired(ctx, st, namespace, q); err != nil {
			return SQLNode{}, err
		}
	}
	ns, err = editNamespace(ctx, st, namespace, func(ns *Namespace) (bool, error) {
		now := ns.sqlNode(node)
		if ns.State != Active || now == nil || now.Printed != q.Printed {
			err := fmt.Errorf("lease: node %d of namespace %q was changed at the same time: try again", node, namespace)
			return false, marked{err, ErrRefused}
		}
		ns.SQL = slices.Clone(ns.SQL) // the one that was read may be remembered by others
		ns.sqlNode(node).Retired = q.Retired
		return true, nil
	})
	if err != nil || q.Layout != ns.Layout {
		return q, err
	}
	_, err = VetoNode(ctx, st, namespace, node, "")
	return q, err
}

// raiseRetired raises the floor of a node above the IDs that its functions made.
func raiseRetired(ctx context.Context, st Store, namespace string, q SQLNode) error {
	if _, err := VetoNode(ctx, st, namespace, q.Node, "its functions in a database are being retired"); err != nil {
		return err // it also makes the record, if there is none
	}
	_, err := edit(ctx, st, namespace, q.Node, func(ns Namespace, r Record) (Record, error) {
		if r.Generation < ns.Since { // ticks of another layout
			r.Generation, r.Until, r.From, r.PrevUntil = ns.Generation, ns.Floor, ns.Floor, ns.Floor
			r.SkipFrom, r.SkipUntil = 0, 0
		}
		r.Until = max(r.Until, q.Retired)
		return r, nil
	})
	return err
}

// retiredSQL returns a node that functions have, as it is when they end now.
func (ns Namespace) retiredSQL(node int64, now time.Time) (SQLNode, error) {
	q := ns.sqlNode(node)
	switch {
	case ns.State != Active:
		return SQLNode{}, ns.notActive()
	case q == nil:
		err := fmt.Errorf("lease: node %d of namespace %q: no functions in a database have it", node, ns.Name)
		return SQLNode{}, marked{err, ErrRefused}
	}
	l, err := snowfence.ParseLayout(q.Layout)
	if err != nil {
		return SQLNode{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	out := *q
	out.Retired = max(q.Start, l.TickOf(now.Add(q.Lead+sqlSkew))) + 1
	return out, nil
}

// sqlNode returns the node while functions have it, or nil.
func (ns Namespace) sqlNode(node int64) *SQLNode {
	for i := range ns.SQL {
		if ns.SQL[i].Node == node && ns.SQL[i].Retired == 0 {
			return &ns.SQL[i]
		}
	}
	return nil
}

// meetsSQL returns an error if nodes of a layout can make an ID that functions in a database make,
// at any time. From a time on it also counts functions of another layout that are retired: the
// records of nodes keep only those of the present one apart. The zero time leaves them out.
func (ns Namespace) meetsSQL(l snowfence.Layout, nodes snowfence.NodeRange, from time.Time) error {
	for _, q := range ns.SQL {
		same := q.Layout == l.String()
		if q.Retired > 0 && (same || from.IsZero()) {
			continue
		}
		others := []snowfence.Layout{l}
		if ns.Reserved.used() && l.First > 0 && !same {
			low := l // numbers below the first, which any node may have
			low.First, low.Last = 0, max(l.First-1, 1)
			others = append(others, low)
		}
		for i, other := range others {
			among := nodes
			if i > 0 {
				among = snowfence.NodeRange{}
			}
			x, err := q.meets(other, among, from)
			if err == nil && x != nil {
				err = fmt.Errorf("ID %d can be made by both, by them and as tick %d of node %d of the layout %s",
					int64(x.ID), x.To.Tick, x.To.Node, l)
			}
			if err != nil {
				err = fmt.Errorf("lease: namespace %q: functions in a database make the IDs of node %d (%s): %w: "+
					"drop them and retire the node first", ns.Name, q.Node, q.database(), err)
				return marked{err, ErrRefused}
			}
		}
	}
	return nil
}

// meets returns an ID that both the functions and nodes of a layout can make. Functions that are
// retired meet only what these make from a time on.
func (q SQLNode) meets(
	other snowfence.Layout, nodes snowfence.NodeRange, from time.Time,
) (*snowfence.Collision, error) {
	l, err := snowfence.ParseLayout(q.Layout)
	if err != nil {
		return nil, err
	}
	own := snowfence.NodeRange{From: q.Node, Until: q.Node + 1}
	if q.Retired == 0 {
		a, err := snowfence.RegionOf(l, own)
		if err != nil {
			return nil, err
		}
		b, err := snowfence.RegionOf(other, nodes)
		if err != nil {
			return nil, err
		}
		return snowfence.Meet(a, b)
	}
	v, err := snowfence.Change{
		From: l, FromNodes: own, Since: l.TimeOf(q.Start), Floor: l.TimeOf(q.Retired),
		To: other, ToNodes: nodes, At: from,
	}.Check()
	return v.Collision, err
}

// keptForSQL returns why a lease may not have nodes. Those that can be leased are proven apart.
func (ns Namespace) keptForSQL(l snowfence.Layout, first, count int64) error {
	if len(ns.SQL) == 0 || first >= ns.First && first+count-1 <= ns.Last {
		return nil
	}
	err := ns.meetsSQL(l, snowfence.NodeRange{From: first, Until: first + count}, l.TimeOf(ns.Start))
	if errors.Is(err, ErrRefused) {
		return marked{err, ErrVetoed}
	}
	return err
}

// inUseBySQL refuses the end of a namespace whose functions go on.
func (ns Namespace) inUseBySQL() error {
	for _, q := range ns.SQL {
		if q.Retired == 0 {
			err := fmt.Errorf("lease: namespace %q: functions in a database make the IDs of node %d (%s): "+
				"drop them and retire the node first", ns.Name, q.Node, q.database())
			return marked{err, ErrRefused}
		}
	}
	return nil
}

// reservedMeetSQL is meetsSQL for a namespace in which reserved numbers come into use.
func (ns Namespace) reservedMeetSQL() error {
	l, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	ns.Reserved.Others = true
	return ns.meetsSQL(l, ns.leasable(), l.TimeOf(ns.Start))
}
