package main

import (
	"bufio"
	"context"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

func (p *program) namespaceChange() *cobra.Command {
	var f namespaceFlags
	cmd := &cobra.Command{
		Use: "change NAME", Short: "Give a namespace another layout, if no ID can come twice", Args: cobra.ExactArgs(1),
		Long: `Change gives a namespace another layout, or other nodes that can be leased. All holders lose
their leases: programs of the old layout end, those of the new one start above all that was
granted. It proves first, as "snowfence plan --change" does, that no ID of the new layout
can equal one of the old. If one can, it shows that ID, changes nothing, and ends with 3.

If it is interrupted, nothing is granted in the namespace until it was run again.`,
		Example: `  snowfence namespace change orders --layout time=42,node=10,seq=12,epoch=2025-01-01
  snowfence namespace change users --layout twitter --leasable 0-511`,
	}
	f.register(cmd, "", "as before")
	cmd.RunE = p.runs(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.store.namespace = args[0]
		if f.layout == "" {
			return usagef("add --layout, the new layout of namespace %q", args[0])
		}
		to, o, err := f.scheme(p)
		if err != nil {
			return err
		}
		st, ns, err := p.openNamespace(cmd.Context(), &f.store)
		if err != nil {
			return err
		}
		defer st.Close()
		if f.leasable == "" {
			if o, err = keptNodes(ns, to); err != nil {
				return err
			}
		}
		if err := p.proveChange(cmd.Context(), st, ns, to, f.json, out); err != nil {
			return err
		}
		changed, err := lease.ChangeLayout(cmd.Context(), st.Leases, args[0], to, &o, false)
		if err != nil {
			return err
		}
		if ahead := to.Layout().TimeOf(changed.Floor).Sub(p.now()); ahead > time.Second {
			p.message("the first ID of the new layout can be made in %s, since a node was leased up to there", howLong(ahead.Seconds()))
		}
		return writeNamespace(out, changed, f.json)
	})
	return cmd
}

// keptNodes returns the nodes that can be leased, as they were: numbers that are given by hand stay out of it.
func keptNodes(ns openedNamespace, to *snowfence.Scheme) (lease.NamespaceOptions, error) {
	all := uint64(ns.Last)+1 == ns.layout.Capacity().Nodes && ns.First == 0
	switch {
	case all:
		return lease.NamespaceOptions{}, nil
	case ns.Last >= to.Nodes():
		return lease.NamespaceOptions{}, usagef("nodes %s of namespace %q can be leased, and the new layout has nodes 0 to %d: add --leasable",
			nodeRange(ns.First, ns.Last), ns.Name, to.Nodes()-1)
	}
	return lease.NamespaceOptions{First: ns.First, Last: ns.Last}, nil
}

// proveChange shows an ID that both layouts can make, if there is one, before anybody loses a lease. lease.ChangeLayout proves it again, when
// nothing is granted any more.
func (p *program) proveChange(ctx context.Context, st *open.Store, ns openedNamespace, scheme *snowfence.Scheme, asJSON bool, out *bufio.Writer) error {
	to := scheme.Layout()
	switch {
	case ns.layout.Equal(to) && ns.Fingerprint == scheme.Fingerprint():
		return nil // only the nodes change
	case ns.layout.Equal(to):
		return usagef("namespace %q has this layout with another key: an ID under one key can equal one under another: use another namespace", ns.Name)
	}
	records, err := lease.ListLeases(ctx, st.Leases, ns.Name)
	if err != nil {
		return err
	}
	floor := ns.Floor
	for _, r := range records {
		if r.Generation >= ns.Since {
			floor = max(floor, r.Until, r.SkipUntil)
		}
	}
	at := ns.layout.TimeOf(floor)
	c := snowfence.Change{From: ns.layout, To: to, At: at, Floor: at}
	v, err := c.Check()
	if err != nil {
		return usageError{err}
	}
	if v.Collision == nil {
		return nil
	}
	oldView, err := newView(layoutName(ns.layout))
	if err != nil {
		return err
	}
	newView, err := newView(layoutName(to))
	if err != nil {
		return err
	}
	p.message("namespace %q keeps its layout", ns.Name)
	if asJSON {
		err = writeJSON(out, newChangeResult(oldView, newView, c, v))
	} else {
		_, err = out.Write(appendVerdict(nil, oldView, newView, c, v, p.now()))
	}
	if err != nil {
		return err
	}
	return errFindings
}
