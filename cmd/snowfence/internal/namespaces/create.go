package namespaces

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"

	"github.com/spf13/cobra"
)

// namespaceFlags describe a namespace that is made or changed.
type namespaceFlags struct {
	store    command.StoreFlags
	secret   command.SecretFlag
	layout   string
	leasable string
	unit     int64
	maxTTL   time.Duration
	maxSkew  time.Duration
	reserved reservedFlags
	json     bool
}

// register adds the flags. layout is the default of its flag; nodes, unit
// and limits describe the other defaults.
func (f *namespaceFlags) register(cmd *cobra.Command, layout, nodes, unit, limits string) {
	f.store.RegisterStore(cmd.Flags())
	f.secret.Register(cmd.Flags())
	cmd.Flags().StringVar(&f.layout, "layout", layout, "`name` or spec of the layout")
	command.CompleteLayouts(cmd, "layout")
	cmd.Flags().StringVar(&f.leasable, "leasable", "", "the `range` of nodes that can be leased, as in 512-1023 "+
		"(default: "+nodes+")")
	cmd.Flags().Int64Var(&f.unit, "unit", 0, "how many `nodes` one record stands for, a power of two "+
		"(default: "+unit+")")
	cmd.Flags().DurationVar(&f.maxTTL, "max-ttl", 0, "the longest `ttl` of a lease (default: "+limits+")")
	cmd.Flags().DurationVar(&f.maxSkew, "max-skew", 0, "how `far` a clock may be off (default: "+limits+")")
	f.reserved.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object")
}

// options returns the unit and the limits of the flags.
func (f *namespaceFlags) options() *scope.NamespaceOptions {
	return &scope.NamespaceOptions{Unit: f.unit, MaxTTL: f.maxTTL, MaxSkew: f.maxSkew}
}

// scheme returns the scheme of the flags, and the nodes that can be leased.
func (f *namespaceFlags) scheme(e *command.Env) (s *snowfence.Scheme, nodes snowfence.NodeRange, err error) {
	if err := command.CheckName(f.store.Namespace); err != nil {
		return nil, nodes, err
	}
	l, err := command.ParseLayout(f.layout)
	if err != nil {
		return nil, nodes, err
	}
	s, err = f.secret.Scheme(e, l)
	if err != nil || f.leasable == "" {
		return s, nodes, err
	}
	if nodes, err = command.ParseRange("leasable", f.leasable); err == nil && nodes.Until > s.Nodes() {
		err = command.Usagef("--leasable %s: the layout has nodes 0 to %d", f.leasable, s.Nodes()-1)
	}
	return s, nodes, err
}

func namespaceCreate(e *command.Env) *cobra.Command {
	var f namespaceFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a namespace", Args: cobra.ExactArgs(1),
		Long: `Create makes a namespace for IDs of a layout. If the namespace exists with the same layout
and nodes, nothing changes.

With --leasable, only those nodes can be leased. You can give the numbers of the others to
programs by hand.

With --unit, a lease has that many nodes. A server leases them with one record of the store.

A lease makes IDs at most --max-ttl ahead of its clock, which may be off by --max-skew. After a
backup was restored, IDs go on after the first plus twice the second: 45 s by default.

To rotate the secrets of a layout with a key field, run create again with the files of all
secrets, the new one last. The namespace then adds the secret that it does not know yet.`,
		Example: `  snowfence namespace create orders --layout snowfence
  snowfence namespace create users --layout twitter --leasable 512-1023`,
	}
	f.register(cmd, "snowfence", "all", "1", scope.DefaultTTL.String())
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.store.Namespace = args[0]
		if err := f.reserved.check(); err != nil {
			return err
		}
		s, nodes, err := f.scheme(e)
		if err == nil {
			_, err = f.reserved.allowed(s.Layout(), 0)
		}
		if err != nil {
			return err
		}
		o := f.options()
		o.Nodes = nodes
		st, err := f.store.Open(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		ns, err := scope.Namespaces(st.Leases).Create(cmd.Context(), args[0], s, o)
		if err != nil {
			return f.explainExists(cmd.Context(), st, s.Layout(), nodes, err)
		}
		if ns, err = f.reserved.apply(cmd.Context(), st, ns); err != nil {
			return err
		}
		explainStore(cmd.Context(), e, st, args[0])
		return writeNamespace(out, ns, f.json)
	})
	return cmd
}

// explainExists explains in the words of the command line how an existing
// namespace differs from the one asked for, and what to do.
func (f *namespaceFlags) explainExists(
	ctx context.Context, st *open.Store, want snowfence.Layout, nodes snowfence.NodeRange, err error,
) error {
	if errors.Is(err, lease.ErrInvalid) {
		return command.Usage(err)
	}
	ns, showErr := scope.Namespaces(st.Leases).Show(ctx, f.store.Namespace)
	if showErr != nil {
		return err // it is not the namespace that is in the way
	}
	have, first := ns.Layout, ""
	if ns.State == scope.Deleted {
		first = f.store.Command("snowfence namespace create %s --layout %s%s", ns.Name, show.LayoutName(have),
			f.secret.Args()) + "\n  "
	}
	switch {
	case errors.Is(err, lease.ErrMismatch) && !have.Equal(want):
		name := show.LayoutName(want)
		more := f.secret.Args()
		if f.leasable != "" { // the other nodes may be in use by hand
			more += " --leasable " + f.leasable
		}
		return command.Usagef("namespace %q has the layout %s, not %s: make another namespace, whose IDs can equal "+
			"the IDs of this one, or change this one:\n  %s\n  %s", ns.Name, show.LayoutName(have), name,
			f.store.Command("snowfence namespace create %s --layout %s", command.OtherName(ns.Name, name), name+more),
			first+f.store.Command("snowfence namespace change %s --layout %s", ns.Name, name+more))
	case errors.Is(err, lease.ErrMismatch):
		return command.Usagef("namespace %q has this layout with other secrets: give its own with --secret-file, or "+
			"make another namespace", ns.Name)
	case errors.Is(err, lease.ErrExists) && (first != "" || nodes == snowfence.NodeRange{} || nodes == ns.Nodes):
		return command.Usagef("namespace %q has a unit of %d, a longest ttl of %v and a largest skew of %v: leave "+
			"--unit, --max-ttl and --max-skew out, or change them:\n  %s", ns.Name, ns.Unit, ns.MaxTTL, ns.MaxSkew,
			first+f.store.Command("snowfence namespace change %s%s", ns.Name, f.limits()))
	case errors.Is(err, lease.ErrExists):
		wanted := command.NodeRange(nodes.From, nodes.Until-1)
		cure := f.store.Command("snowfence namespace change %s --leasable %s", ns.Name, wanted)
		if nodes.From < ns.Nodes.From || nodes.Until > ns.Nodes.Until {
			cure = f.widen(ns, nodes)
		}
		return command.Usagef("namespace %q has the leasable nodes %s, not %s: leave --leasable out, or change "+
			"them:\n  %s", ns.Name, command.NodeRange(ns.Nodes.From, ns.Nodes.Until-1), wanted, cure)
	}
	return err
}

// limits returns the flags of the unit and the limits, as text of a
// command.
func (f *namespaceFlags) limits() string {
	text := ""
	if f.unit != 0 {
		text += fmt.Sprintf(" --unit %d", f.unit)
	}
	if f.maxTTL != 0 {
		text += " --max-ttl " + f.maxTTL.String()
	}
	if f.maxSkew != 0 {
		text += " --max-skew " + f.maxSkew.String()
	}
	return text
}

// widen returns the command that makes these nodes leasable, too, and its
// condition. It takes none away.
func (f *namespaceFlags) widen(ns scope.Namespace, more snowfence.NodeRange) string {
	nodes := command.NodeRange(min(ns.Nodes.From, more.From), max(ns.Nodes.Until, more.Until)-1)
	change := f.store.Command("snowfence namespace change %s --leasable %s --unused TIME", ns.Name, nodes)
	return change + "\n" + show.Unused
}
