package scope

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// MaxBackfillNode is the last node of a backfill: more would not fit beside
// the hours in the keys of its counts.
const MaxBackfillNode = 1<<38 - 1

// AllowBackfill lets backfills make IDs in a namespace: with the reserved
// number 0 if last is 0, or with 0 to 4 if last is 4. You can choose this
// only once.
//
// The operator promises that no other program has made or will make an ID
// with these numbers: none by hand with 0, none by an original snow-drift
// with 1 to 4. AllowBackfill fails if two layouts of the namespace, past
// and present, could make the same ID with these numbers. In a store that
// was ever rolled back, an earlier choice may have been lost: then call
// [Operator.BackfillNodes] next.
func (op Operator) AllowBackfill(ctx context.Context, namespace string, last int64) (Namespace, error) {
	refuse := func(format string, args ...any) (Namespace, error) {
		return Namespace{}, fault.Refusedf("lease: namespace %q: "+format, append([]any{namespace}, args...)...)
	}
	if last != 0 && last != 4 {
		return Namespace{}, fault.Invalidf("lease: namespace %q: the last number for the past is %d: choose 0, or 4 "+
			"(the numbers 0 to 4)", namespace, last)
	}
	return editNamespace(ctx, op.st, namespace, func(ns *Namespace, a answer.Answer) (bool, error) {
		id, w := a.Identity, world.From(ctx)
		same, err := ns.Identify(id)
		switch {
		case ns.State != Active:
			err = ns.notActive()
		case id == "":
			_, err = refuse("its store has no identity, by which a rollback is noticed: move it to another store")
		case ns.Backfill == last+1:
			return false, nil
		case ns.Backfill != 0:
			_, err = refuse("the last number for the past is %d, and that cannot be changed", ns.Backfill-1)
		case last > 0 && ns.Others:
			_, err = refuse("others made IDs with the sequence numbers 1 to 4: choose 0")
		}
		if err != nil {
			return false, err
		}
		ns.Backfill = last + 1
		if err := ns.reserve(); err != nil {
			return false, err
		}
		if !same {
			ns.rolledBack(w.Now())
		} else {
			ns.Identity = id
		}
		ns.BackfillNodes, ns.ledger = snowfence.NodeRange{}, ledger{Identity: id, Epoch: w.Text()}
		if ns.RolledBack != 0 {
			ns.ledger.Identity = ""
		}
		return true, nil
	})
}

// NoteOthers records that a namespace came from snow-drift, or has IDs made
// by hand with reserved numbers. From then on the proof of each change of
// layout includes these numbers, from the start of the new layout on, and a
// backfill may use only the number 0.
func (op Operator) NoteOthers(ctx context.Context, namespace string) (Namespace, error) {
	return editNamespace(ctx, op.st, namespace, func(ns *Namespace, _ answer.Answer) (bool, error) {
		switch {
		case ns.Others:
			return false, nil
		case ns.State != Active:
			return false, ns.notActive()
		case ns.Backfill > 1:
			return false, fault.Refusedf("lease: namespace %q: its IDs for the past have the numbers 0 to %d, and "+
				"numbers of snow-drift could be the same: use another namespace", ns.Name, ns.Backfill-1)
		}
		ns.Others = true
		for _, l := range ns.layouts() {
			l.Owner, l.First, l.Last, l.From = ownerOthers, ns.Backfill, l.Layout.First-1, 0
			if err := ns.add(l, false); err != nil {
				return false, fault.Refusedf("lease: namespace %q: %w", ns.Name, err)
			}
		}
		return true, nil
	})
}

// BackfillNodes lets backfills go on in a store that was rolled back, with
// these nodes alone. With them the operator states that no ID for the past
// ever had one of these nodes, so none of their counts can be lost. The
// earlier nodes are closed for good, so each call names higher ones.
//
// It does not affect leases, so it is safe after a backup was restored.
func (op Operator) BackfillNodes(ctx context.Context, namespace string, nodes snowfence.NodeRange) (Namespace, error) {
	if nodes.From < 0 || nodes.From >= nodes.Until || nodes.Until > MaxBackfillNode+1 {
		return Namespace{}, fault.Invalidf("lease: namespace %q: IDs for the past have the nodes 0 to %d, not %d to %d",
			namespace, int64(MaxBackfillNode), nodes.From, nodes.Until-1)
	}
	return editNamespace(ctx, op.st, namespace, func(ns *Namespace, a answer.Answer) (bool, error) {
		id := a.Identity
		switch {
		case ns.State != Active:
			return false, ns.notActive()
		case ns.Backfill == 0:
			return false, ns.notAllowed()
		case ns.ledger.Identity == id && ns.BackfillNodes == nodes:
			return false, nil
		case nodes.From < ns.BackfillNodes.Until:
			return false, fault.Refusedf("lease: namespace %q: nodes below %d may have IDs for the past already: name "+
				"higher ones", namespace, ns.BackfillNodes.Until)
		}
		same, err := ns.Identify(id)
		if err != nil {
			return false, err
		}
		if same {
			ns.Identity = id
		}
		ns.ledger.Identity, ns.ledger.Epoch, ns.BackfillNodes = id, world.From(ctx).Text(), nodes
		return true, nil
	})
}

func (ns Namespace) notAllowed() error {
	return fault.Refusedf("lease: namespace %q makes no IDs for the past: an operator has to allow it, and to choose "+
		"reserved numbers that nobody else uses (snowfence namespace change --backfill)", ns.Name)
}

// reserve gives backfills the reserved numbers of the present and of all
// earlier layouts. Numbers of other makers, if any, are above them.
func (ns *Namespace) reserve() error {
	last := ns.Backfill - 1
	ns.each(func(r Region) []Region {
		if r.Owner == ownerOthers {
			r.First = last + 1
		}
		return []Region{r}
	})
	some := false
	for i, l := range ns.layouts() {
		some = some || l.Layout.First > 0
		l.Owner, l.First, l.Last = ownerBackfill, 0, min(last, l.Layout.First-1)
		if i == 0 {
			l.From = 1 // times before belong to the first layout; tick 0 could give the ID 0
		}
		if err := ns.add(l, false); err != nil {
			return fault.Refusedf("lease: namespace %q makes no IDs for the past: with reserved numbers, two of its "+
				"layouts have IDs in common: %w", ns.Name, err)
		}
	}
	if !some {
		return fault.Refusedf("lease: namespace %q makes no IDs for the past: its layout %s uses all sequence "+
			"numbers: give it one with first=%d, which reserves 0 to %d", ns.Name, ns.Layout, last+1, last)
	}
	return nil
}

func showMilli(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// pastSkew is how far the clock of a backfill may be off from the store's.
const pastSkew = 30 * time.Second

// Fills is an error unless a node may make IDs for the past, in a store
// with an identity.
func (ns Namespace) Fills(s *snowfence.Scheme, node int64, id string) error {
	r := ns.BackfillNodes
	switch _, added, err := ns.rotated(s, false); {
	case err != nil:
		return err
	case added:
		return fmt.Errorf("lease: namespace %q: %w: it does not know the last secret: create the namespace "+
			"again with all secrets; nothing else changes", ns.Name, snowfence.ErrKey)
	case ns.Backfill == 0:
		return ns.notAllowed()
	case id == "":
		return fault.Refusedf("lease: namespace %q makes no IDs for the past: its store has no identity, by which a "+
			"rollback is noticed: move it to another store", ns.Name)
	case id != ns.ledger.Identity:
		return fmt.Errorf("lease: namespace %q makes no IDs for the past: %w, because it was rolled back or "+
			"replaced: name nodes without IDs for the past (snowfence namespace change --backfill-nodes)", ns.Name,
			fault.ErrRolledBack)
	case r != snowfence.NodeRange{} && (node < r.From || node >= r.Until):
		return fault.Refusedf("lease: namespace %q: node %d makes no more IDs for the past, because the store was "+
			"rolled back: use the nodes %d to %d", ns.Name, node, r.From, r.Until-1)
	}
	return nil
}

// BackfillRegions returns the regions of IDs for the past, oldest first. It
// is a lease.ErrRefused if there are none.
func (ns Namespace) BackfillRegions() (regions []Region, err error) {
	for _, r := range ns.Regions {
		if r.Owner == ownerBackfill {
			regions = append(regions, r)
		}
	}
	if regions == nil {
		return nil, ns.notAllowed()
	}
	return regions, nil
}

// Current reports whether a region has the present layout and secrets.
func (ns Namespace) Current(r Region) bool {
	return r.Key == ns.key(ns.Layout) && r.Layout.Equal(ns.Layout)
}

// Epoch is how right counts of IDs for the past begin. Hours with others
// are full.
func (ns Namespace) Epoch() string { return ns.ledger.Epoch }

// Revision rises with each write of the namespace.
func (ns Namespace) Revision() int64 { return ns.record.Revision }

// NoteUsed writes that a backfill may use ticks up to now, if it does not
// say so of the time top already. A change of layout puts its floor above
// them. The error is a [store.ErrLost] if another process wrote the
// namespace since it was read, and a lease.ErrSkew if the clock is wrong: a
// is the answer to that read.
func (ns Namespace) NoteUsed(
	ctx context.Context, st store.Store, a answer.Answer, top, now time.Time,
) (Namespace, error) {
	if top.UnixMilli() < ns.ledger.Until {
		return ns, nil
	}
	if _, err := a.Clock(world.From(ctx), world.From(ctx).Now, pastSkew); err != nil {
		return ns, err
	}
	ns.ledger.Until = now.UnixMilli() + 1
	return ns.write(ctx, st)
}

// NoteRollback notes that a store may have lost counts of IDs for the past.
func (op Operator) NoteRollback(ctx context.Context, namespace string) error {
	_, err := editNamespace(ctx, op.st, namespace, func(ns *Namespace, _ answer.Answer) (bool, error) {
		ns.rolledBack(world.From(ctx).Now())
		return true, nil
	})
	return err
}
