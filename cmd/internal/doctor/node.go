package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// lately is how long a holder stays a finding after it has gone.
const lately = time.Hour

// nodes looks at the nodes of a namespace and at their holders.
func nodes(ctx context.Context, c *Case, ns scope.Namespace, l snowfence.Layout, r *report) error {
	records, err := scope.Namespaces(c.Store.Leases).Leases(ctx, ns.Name)
	if err != nil {
		return err
	}
	now := c.Now()
	free := ns.Nodes.Until - ns.Nodes.From
	total, anyHeld := free, false
	var ended store.Record // the last grant that was not given back
	for _, rec := range records {
		if view.Inside(rec, ns) {
			continue
		}
		about := fmt.Sprintf("%s/%d", ns.Name, rec.Node)
		leasable := rec.Node >= ns.Nodes.From && rec.Node < ns.Nodes.Until
		held := rec.Generation >= ns.Since && rec.Held(l.TickOf(now))
		ahead := leasable && rec.Generation >= ns.Since &&
			l.TimeOf(rec.Until).After(now.Add(ns.MaxTTL+ns.MaxSkew))
		if ahead || leasable && (held || rec.Veto != "") {
			free -= ns.Unit
		}
		if ahead {
			r.found(NodeAhead, about, "let its programs take another node, or wait until then",
				"it can be used from %s on, because a clock was ahead", stamp(l.TimeOf(rec.Until)))
		}
		if rec.Veto != "" && !hasFunctions(ns, rec.Node) {
			lift := fmt.Sprintf("when the reason is gone: snowfence lease veto %d --lift --namespace %s%s", rec.Node,
				ns.Name, c.Flags)
			r.found(NodeVetoed, about, lift, "the node is vetoed: %s", rec.Veto)
		}
		if held {
			anyHeld = true
			c.judgeHolder(rec, l, about, r)
		} else if rec.Holder != "" && rec.Generation >= ns.Since && rec.Until > ended.Until {
			ended = rec
		}
	}
	if at := l.TimeOf(ended.Until); !anyHeld && ended.Holder != "" && now.Sub(at) < lately {
		r.found(RenewalsFail, ns.Name, "look whether its programs run, and into their logs", "no node "+
			"is held, and the last holder, %q, did not give it back: it was killed, or its renewals failed; its lease "+
			"ended at %s", ended.Label, stamp(at))
	}
	widen := "lease more nodes: snowfence namespace change " + ns.Name + " --leasable RANGE --unused TIME" + c.Flags +
		": " + show.Unused
	if total == 1<<l.Bits(snowfence.FieldNode) {
		widen = "give servers a smaller --block, or change to a layout with more node bits: " +
			"https://snowfence.github.io/snowfence/operate/operations#another-layout"
	}
	cure := map[bool]string{true: "stop a holder, or ", false: "end a veto, or "}[anyHeld] + widen
	switch {
	case free == 0:
		r.found(NodesLeft, ns.Name, cure, "all %d nodes are taken: the next program gets none", total)
	case free*10 < total:
		r.found(NodesLeft, ns.Name, cure, "%d of %d nodes are free", free, total)
	default:
		r.good(NodesLeft, ns.Name, "%d of %d nodes are free", free, total)
	}
	return nil
}

// hasFunctions reports whether functions in a database make the IDs of a
// node. Their veto is meant, and stays until they are dropped.
func hasFunctions(ns scope.Namespace, node int64) bool {
	return slices.ContainsFunc(ns.Regions, func(r scope.Region) bool {
		return r.Functions != nil && !r.Ended && r.Nodes.From&^(ns.Unit-1) == node
	})
}

// judgeHolder judges the time of a holder's last write. A holder renews
// when a third of its grant has passed.
func (c *Case) judgeHolder(rec store.Record, l snowfence.Layout, about string, r *report) {
	now, at, until := c.Now(), time.UnixMilli(rec.At), l.TimeOf(rec.Until)
	switch span := until.Sub(at); {
	case at.Sub(now) > offBy:
		r.found(HolderClock, about, "set the clocks of both machines right: see "+
			"https://snowfence.github.io/snowfence/operate/operations#clocks",
			"the clock of the holder %q is %v ahead of this machine's", rec.Label, at.Sub(now).Round(time.Millisecond))
	case span > 0 && now.Sub(at) > span/3*2:
		r.found(HolderLate, about, "look whether it runs and reaches the store; it may also be idle, or a ticket",
			"the holder %q wrote last at %s and should have renewed since: its grant ends at %s", rec.Label, stamp(at),
			stamp(until))
	}
}
