package namespaces

import (
	"bufio"
	"errors"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"

	"github.com/spf13/cobra"
)

func namespaceChange(e *command.Env) *cobra.Command {
	var f namespaceFlags
	var unused string
	cmd := &cobra.Command{
		Use: "change NAME", Short: "Give a namespace another layout, if no ID can come twice", Args: cobra.ExactArgs(1),
		Long: `Change gives a namespace another layout, other nodes that can be leased, or other limits of
leases. What you do not name on the command line stays as it is.

With another layout, all holders lose their leases: programs of the old layout end, programs of
the new one start above all that was granted. It proves first, as "snowfence plan --change"
does, that no ID of the new layout can equal one of any layout that the namespace has had. If
one can, it shows that ID, changes nothing, and ends with 3. If it is interrupted, run it
again: until then no program gets a lease in the namespace.

Beside functions in a database it can be that the new layout has room for the leasable nodes
alone. Then the change is refused until you state with --unused that no program uses the other
numbers by hand. "namespace show" lists the nodes that nobody may use then.

A larger --max-ttl or --max-skew counts at once. A smaller one counts when the grants of before
have ended. A backup from before a raise has the smaller ones: after you restored it, wait for
the larger ttl plus twice the skew.

With another --unit, all leases end, as with another layout: start their programs again.

With fewer nodes, holders of the others lose their leases. Use a freed number by hand only after
the longest ttl plus twice the skew. New nodes are numbers that you gave to programs by hand. Stop
these programs first, and say with --unused up to when they made IDs: 0s is now. Leases that are
held go on, and new ones make only IDs of a later time. So set --unused later than every ID made by
hand, if a clock was ahead.

With --backfill, the namespace makes IDs for times gone by ("snowfence new --at"), from sequence
numbers below the layout's first. That stays so for good, so give no other change with it. Later
changes are proven with these numbers.`,
		Example: `  snowfence namespace change orders --layout time=42,node=10,seq=12,epoch=2025-01-01
  snowfence namespace change users --leasable 0-511
  snowfence namespace change orders --leasable 0-1023 --unused 0s
  snowfence namespace change orders --backfill 0 --nobody-else`,
	}
	f.register(cmd, "", "as before", "as before", "as before")
	cmd.Flags().StringVar(&unused, "unused", "", unusedHelp+" (default: they are in use)")
	command.NotByEnv(cmd, "layout", "leasable", "unit", "max-ttl", "max-skew", "unused")
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.store.Namespace = args[0]
		if err := f.reserved.check(); err != nil {
			return err
		}
		named := f.layout != "" || f.leasable != "" || f.limits() != ""
		if !named && !f.reserved.named() {
			return command.Usagef("name what is to change in namespace %q: add --layout, --leasable, --unit, "+
				"--max-ttl, --max-skew, or --backfill", args[0])
		}
		if named && (f.reserved.backfill != "" || f.reserved.nodes != "") {
			return command.Usagef("--backfill and --backfill-nodes stay for good: give them alone, and change the " +
				"rest with another command")
		}
		st, ns, err := f.store.OpenNamespace(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		before, err := f.reserved.apply(cmd.Context(), st, ns) // it counts for the proof
		if err != nil {
			return err
		}
		if !named {
			return writeNamespace(out, before, f.json)
		}
		to, change, err := f.change(e)
		if err != nil {
			return err
		}
		if unused != "" {
			if change.Unused, err = command.ParseMoment(e, "unused", unused); err != nil {
				return err
			}
		}
		changed, err := scope.Namespaces(st.Leases).Change(cmd.Context(), args[0], to, change)
		if err != nil {
			return f.explainRefused(e, ns, to, change, err, out)
		}
		if to == nil || changed.Layout.Equal(ns.Layout) {
			return writeNamespace(out, changed, f.json)
		}
		if ahead := to.Layout().TimeOf(changed.Floor).Sub(e.Now()); ahead > time.Second {
			e.Message("the first ID of the new layout can be made in %s, because a node was leased up to there",
				show.Approximately(ahead.Seconds()))
		}
		return writeNamespace(out, changed, f.json)
	})
	return cmd
}

// change returns the change that the flags ask for.
func (f *namespaceFlags) change(e *command.Env) (to *snowfence.Scheme, o *scope.NamespaceOptions, err error) {
	o = f.options()
	if f.layout != "" {
		to, o.Nodes, err = f.scheme(e)
	} else if f.leasable != "" {
		o.Nodes, err = command.ParseRange("leasable", f.leasable)
	}
	return to, o, err
}

// explainRefused shows the ID that made the store refuse a change, or says
// the reason in the words of the command line.
func (f *namespaceFlags) explainRefused(e *command.Env, ns scope.Namespace, to *snowfence.Scheme,
	change *scope.NamespaceOptions, err error, out *bufio.Writer,
) error {
	var collision *scope.CollisionError
	more := to == nil && (change.Nodes.From < ns.Nodes.From || change.Nodes.Until > ns.Nodes.Until)
	switch {
	case errors.As(err, &collision) && (collision.Earlier.Functions == nil || collision.Earlier.Ended):
	case errors.Is(err, lease.ErrRefused) && more:
		return command.Usagef("%w:\n  %s", err, f.widen(ns, change.Nodes))
	case errors.Is(err, lease.ErrRefused), errors.Is(err, lease.ErrInvalid):
		return command.Usage(err)
	default:
		return err
	}
	proof, err := show.NewRefusal(collision.Earlier.Region, collision.Later.Region, collision.Collision)
	if err != nil {
		return err
	}
	e.Message("namespace %q keeps its layout", ns.Name)
	if f.json {
		err = command.WriteJSON(out, proof)
	} else {
		_, err = out.Write(proof.Append(nil, e.Now()))
	}
	if err != nil {
		return err
	}
	return command.ErrFindings
}
