package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

// namespaceFlags describe a namespace that is made or changed.
type namespaceFlags struct {
	store    storeFlags
	secret   secretFlag
	layout   string
	leasable string
	unit     int64
	maxTTL   time.Duration
	maxSkew  time.Duration
	reserved reservedFlags
	json     bool
}

// register adds the flags, with the defaults of the layout and, in words, of nodes, unit and
// limits.
func (f *namespaceFlags) register(cmd *cobra.Command, layout, nodes, unit, limits string) {
	f.store.registerStore(cmd.Flags())
	f.secret.register(cmd.Flags())
	cmd.Flags().StringVar(&f.layout, "layout", layout, "`name` or spec of the layout")
	completeLayouts(cmd, "layout")
	cmd.Flags().StringVar(&f.leasable, "leasable", "", "the `range` of nodes that can be leased, as in 512-1023 "+
		"(default: "+nodes+")")
	cmd.Flags().Int64Var(&f.unit, "unit", 0, "how many `nodes` one record stands for, a power of two "+
		"(default: "+unit+")")
	cmd.Flags().DurationVar(&f.maxTTL, "max-ttl", 0, "the longest `ttl` of a lease (default: "+limits+")")
	cmd.Flags().DurationVar(&f.maxSkew, "max-skew", 0, "how `far` a clock may be off (default: "+limits+")")
	f.reserved.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object")
}

// limits returns the flags of the unit and the limits, as a command has them.
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

// options returns the unit and the limits of the flags.
func (f *namespaceFlags) options() *lease.NamespaceOptions {
	return &lease.NamespaceOptions{Unit: f.unit, MaxTTL: f.maxTTL, MaxSkew: f.maxSkew}
}

// scheme returns the scheme of the flags, and the nodes that can be leased.
func (f *namespaceFlags) scheme(p *program) (s *snowfence.Scheme, nodes snowfence.NodeRange, err error) {
	if err := checkName(f.store.namespace); err != nil {
		return nil, nodes, err
	}
	l, err := parseLayout(f.layout)
	if err != nil {
		return nil, nodes, err
	}
	s, err = p.scheme(l, &f.secret)
	if err != nil || f.leasable == "" {
		return s, nodes, err
	}
	if nodes, err = parseRange("leasable", f.leasable); err == nil && nodes.Until > s.Nodes() {
		err = usagef("--leasable %s: the layout has nodes 0 to %d", f.leasable, s.Nodes()-1)
	}
	return s, nodes, err
}

func (p *program) namespaceCreate() *cobra.Command {
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
	f.register(cmd, "snowfence", "all", "1", lease.DefaultTTL.String())
	cmd.RunE = p.runE(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.store.namespace = args[0]
		if err := f.reserved.check(); err != nil {
			return err
		}
		s, nodes, err := f.scheme(p)
		if err != nil {
			return err
		}
		o := f.options()
		o.Nodes = nodes
		st, err := p.openStore(cmd.Context(), &f.store)
		if err != nil {
			return err
		}
		defer st.Close()
		ns, err := lease.Namespaces(st.Leases).Create(cmd.Context(), args[0], s, o)
		if err != nil {
			return f.explainExists(cmd.Context(), p, st, s.Layout(), nodes, err)
		}
		if ns, err = f.reserved.apply(cmd.Context(), st, ns); err != nil {
			return err
		}
		p.explainStore(cmd.Context(), st, args[0], false)
		return writeNamespace(out, ns, f.json)
	})
	return cmd
}

// explainExists says in the words of the command line why a namespace that is there already is
// not the one asked for, and what to do.
func (f *namespaceFlags) explainExists(
	ctx context.Context, p *program, st *open.Store, want snowfence.Layout, nodes snowfence.NodeRange, err error,
) error {
	if errors.Is(err, lease.ErrInvalid) {
		return usageError{err}
	}
	ns, showErr := lease.Namespaces(st.Leases).Show(ctx, f.store.namespace)
	if showErr != nil {
		return err // it is not the namespace that is in the way
	}
	have := ns.Layout
	switch {
	case errors.Is(err, lease.ErrMismatch) && !have.Equal(want):
		name := show.LayoutName(want)
		more := p.secretArgs(&f.secret)
		if f.leasable != "" { // the other nodes may be in use by hand
			more += " --leasable " + f.leasable
		}
		return usagef("namespace %q has the layout %s, not %s: make another namespace, whose IDs can equal "+
			"the IDs of this one, or change this one:\n  %s\n  %s",
			ns.Name, show.LayoutName(have), name,
			f.store.command("snowfence namespace create %s --layout %s", otherName(ns.Name, name), name+more),
			f.store.command("snowfence namespace change %s --layout %s", ns.Name, name+more))
	case errors.Is(err, lease.ErrMismatch):
		return usagef("namespace %q has this layout with other secrets: give its own with --secret-file, or make "+
			"another namespace", ns.Name)
	case errors.Is(err, lease.ErrExists) && (nodes == snowfence.NodeRange{} ||
		nodes == ns.Nodes):
		return usagef("namespace %q has a unit of %d, a longest ttl of %v and a largest skew of %v: leave --unit, "+
			"--max-ttl and --max-skew out, or change them:\n  %s", ns.Name, ns.Unit, ns.MaxTTL, ns.MaxSkew,
			f.store.command("snowfence namespace change %s%s", ns.Name, f.limits()))
	case errors.Is(err, lease.ErrExists):
		wanted := nodeRange(nodes.From, nodes.Until-1)
		command := f.store.command("snowfence namespace change %s --leasable %s", ns.Name, wanted)
		if nodes.From < ns.Nodes.From || nodes.Until > ns.Nodes.Until {
			command = f.widen(ns, nodes)
		}
		return usagef("namespace %q has the leasable nodes %s, not %s: leave --leasable out, or change them:\n  %s",
			ns.Name,
			nodeRange(ns.Nodes.From, ns.Nodes.Until-1), wanted, command)
	}
	return err
}

// widen returns the command that leases these nodes too, besides those that can be
// leased: it takes none away.
func (f *namespaceFlags) widen(ns lease.Namespace, more snowfence.NodeRange) string {
	nodes := nodeRange(min(ns.Nodes.From, more.From), max(ns.Nodes.Until, more.Until)-1)
	return f.store.command("snowfence namespace widen %s --leasable %s", ns.Name, nodes)
}

// command returns a command on the same store. Its URL shows no password: message says
// what to do about that.
func (f *storeFlags) command(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if f.store != "" && !f.implied {
		text += " --store " + quoted(open.Redact(f.store))
	}
	return text
}

// quoted returns a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// otherName returns the name of a namespace for a layout, other than the one that is taken.
func otherName(taken, layout string) string {
	if strings.Contains(layout, "=") || layout == taken {
		return taken + "-2"
	}
	return layout
}

// parseRange reads the nodes of a flag: a range, or one node.
func parseRange(flag, text string) (r snowfence.NodeRange, err error) {
	first, last, err := parseNumbers(text)
	if err != nil {
		return r, usagef("--%s: %q is not a range such as 512-1023, nor one node", flag, text)
	}
	return snowfence.NodeRange{From: first, Until: last + 1}, nil
}
