package namespaces

import (
	"context"
	"errors"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"

	"github.com/spf13/cobra"
)

// reservedFlags name the makers of IDs with sequence numbers below the
// layout's first.
type reservedFlags struct {
	backfill   string
	nobodyElse bool
	nodes      string
	others     bool
}

func (f *reservedFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.backfill, "backfill", "", "let \"snowfence new --at\" make IDs for the past, with these reserved "+
		"sequence `numbers`: 0, or 0-4 for five times as many; chosen once")
	fs.BoolVar(&f.nobodyElse, "nobody-else", false, "with --backfill: your word that nobody else makes or made IDs "+
		"with these numbers, by hand (0) or with an original snow-drift (1 to 4)")
	fs.StringVar(&f.nodes, "backfill-nodes", "", "after the store was rolled back: your word that no ID for the past "+
		"has a node of this `range`, as in 512-519; the nodes before make no more")
	fs.BoolVar(&f.others, "others", false, "snow-drift made the first IDs, or people make some by hand: changes of "+
		"layout are proven with the reserved numbers too")
	command.NotByEnv(cmd, "backfill", "nobody-else", "backfill-nodes", "others")
}

// check refuses flags that are wrong in every namespace.
func (f *reservedFlags) check() error {
	switch {
	case f.backfill != "" && f.backfill != "0" && f.backfill != "0-4":
		return command.Usagef("--backfill %q: choose 0, or 0-4", f.backfill)
	case f.backfill == "" && f.nobodyElse:
		return command.Usagef("--nobody-else is about the numbers of --backfill: add --backfill 0")
	case f.backfill == "0-4" && f.others:
		return command.Usagef("--backfill 0-4 and --others use the same numbers 1 to 4: take --backfill 0")
	}
	return nil
}

// named reports whether there is anything to do.
func (f *reservedFlags) named() bool { return f.backfill != "" || f.others || f.nodes != "" }

// allowed returns the last number of --backfill. It is an error if somebody
// else may have such numbers. has is how many the namespace keeps already.
func (f *reservedFlags) allowed(l snowfence.Layout, has int64) (last int64, err error) {
	last = map[string]int64{"0-4": 4}[f.backfill]
	switch {
	case l.First > 0 && l.First <= last:
		err = command.Usagef("--backfill 0-4: the layout makes sequence numbers from %d on itself: take --backfill 0",
			l.First)
	case f.backfill != "" && !f.nobodyElse && has != last+1:
		err = command.Usagef("another program may make IDs with the sequence numbers %s, by hand or with snow-drift: "+
			"say that nobody does or did, if that is so: --nobody-else", f.backfill)
	}
	return last, err
}

// apply carries the flags out in an existing namespace.
func (f *reservedFlags) apply(ctx context.Context, st *open.Store, ns scope.Namespace) (scope.Namespace, error) {
	last, err := f.allowed(ns.Layout, ns.Backfill)
	if err == nil && f.others {
		ns, err = scope.Namespaces(st.Leases).NoteOthers(ctx, ns.Name)
	}
	if err == nil && f.backfill != "" {
		ns, err = scope.Namespaces(st.Leases).AllowBackfill(ctx, ns.Name, last)
	}
	if err == nil && f.nodes != "" {
		var nodes snowfence.NodeRange
		if nodes, err = command.ParseRange("backfill-nodes", f.nodes); err != nil {
			return ns, err
		}
		ns, err = scope.Namespaces(st.Leases).BackfillNodes(ctx, ns.Name, nodes)
	}
	if errors.Is(err, lease.ErrRefused) || errors.Is(err, lease.ErrInvalid) {
		return ns, command.Usage(err)
	}
	return ns, err
}

// reservedRows show the makers of IDs with reserved numbers, if there are
// any.
func reservedRows(n *pb.Namespace) (rows show.Rows) {
	if n.BackfillNumbers > 0 {
		numbers := "0"
		if n.BackfillNumbers > 1 {
			numbers = command.NodeRange(0, n.BackfillNumbers-1)
		}
		text := "IDs for the past have the sequence numbers " + numbers
		switch {
		case n.BackfillStopped:
			text += "; the store was rolled back: name other nodes with --backfill-nodes"
		case n.BackfillLastNode != nil:
			text += ", of the nodes " + command.NodeRange(n.GetBackfillFirstNode(), *n.BackfillLastNode)
		}
		rows.Add("reserved", "%s", text)
	}
	if n.Others {
		rows.Add("reserved", "others made IDs with sequence numbers below the first")
	}
	return rows
}
