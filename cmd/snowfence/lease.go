package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/spf13/cobra"
)

func (p *program) leaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lease",
		Short: "Look at the leases of a namespace, clear one, or keep a node from being leased",
		Long: `A lease is the right of one process to make IDs with a node number up to a time. It is
renewed while the process runs, given back at its end, and runs out after a crash.`,
	}
	return group(cmd, p.leaseList(), p.leaseRelease(), p.leaseVeto())
}

func (p *program) leaseList() *cobra.Command {
	var f storeFlags
	var asJSON, all, verbose bool
	cmd := &cobra.Command{
		Use: "list [NODE]", Short: "List the nodes that are held, or one node", Args: cobra.MaximumNArgs(1),
		Example: "  snowfence lease list\n  snowfence lease list 7\n  snowfence lease list --all --json",
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "also list nodes that were held earlier")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "say how the store is set up, as far as its promise "+
		"depends on it")
	cmd.RunE = p.runE(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		node, err := nodeArgument(args)
		if err != nil {
			return err
		}
		st, ns, err := p.lookNamespace(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		if verbose {
			p.explainStore(cmd.Context(), st, f.namespace, true)
		}
		records, err := lease.Namespaces(st.Leases).Leases(cmd.Context(), f.namespace)
		if err != nil {
			return err
		}
		now := p.now()
		var list []*pb.LeaseInfo
		for _, r := range records {
			l := view.Lease(r, ns, ns.Layout, now)
			asked := l.Node <= node && node <= l.LastNode
			if (node < 0 && (all || l.Held) || asked) && !view.Inside(r, ns) {
				list = append(list, l)
			}
		}
		none := fmt.Sprintf("no node of namespace %q is held", f.namespace)
		if node >= 0 {
			none = fmt.Sprintf("node %d of namespace %q was never leased or vetoed", node, f.namespace)
		}
		header := []string{"NODE", "STATE", "UNTIL", "HOLDER"}
		var before []string // the last row, which stands for the nodes from first to last
		var first, last int64
		return writeTable(p, out, list, asJSON, none, header, func(l *pb.LeaseInfo) []string {
			until := l.UntilTime.AsTime().Format(time.RFC3339)
			cells := []string{nodesText(l.Node, l.LastNode), leaseState(l, now), until, l.Label}
			if before != nil && l.Node == last+1 && slices.Equal(cells[1:], before[1:]) {
				last = l.LastNode
				before[0] = nodesText(first, last)
				return nil
			}
			first, last, before = l.Node, l.LastNode, cells
			return cells
		})
	})
	return cmd
}

// nodesText is one node, or the first and the last of several.
func nodesText(first, last int64) string {
	if first == last {
		return strconv.FormatInt(first, 10)
	}
	return nodeRange(first, last)
}

// openNamespace opens the store of the flags and reads their namespace. The caller closes
// the store if there is no error.
func (p *program) openNamespace(ctx context.Context, f *storeFlags) (*open.Store, lease.Namespace, error) {
	return namespaceOf(ctx, f, p.openStore)
}

// lookNamespace is openNamespace for a command that only reads.
func (p *program) lookNamespace(ctx context.Context, f *storeFlags) (*open.Store, lease.Namespace, error) {
	return namespaceOf(ctx, f, p.lookStore)
}

func namespaceOf(ctx context.Context, f *storeFlags, opener opener) (*open.Store, lease.Namespace, error) {
	var ns lease.Namespace
	if err := checkName(f.namespace); err != nil {
		return nil, ns, err
	}
	st, err := opener(ctx, f)
	if err != nil {
		return nil, ns, err
	}
	if ns, err = lease.Namespaces(st.Leases).Show(ctx, f.namespace); err != nil {
		return nil, ns, errors.Join(err, st.Close())
	}
	return st, ns, nil
}

// leaseState says how a node is.
func leaseState(l *pb.LeaseInfo, now time.Time) string {
	switch {
	case l.Veto != "":
		return "vetoed: " + l.Veto
	case l.Held:
		return "held, ends " + show.Ago(l.UntilTime.AsTime(), now)
	}
	return "free"
}
