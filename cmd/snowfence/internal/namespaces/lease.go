package namespaces

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"

	"github.com/spf13/cobra"
)

func leaseCommand(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "lease", Short: "Look at the leases of a namespace, clear one, or keep a node from being leased",
		Long: `A lease is the right of one process to make IDs with a node number up to a time. It is
renewed while the process runs, given back at its end, and runs out after a crash.`,
	}
	return command.Group(cmd, leaseList(e), leaseRelease(e), leaseVeto(e))
}

func leaseList(e *command.Env) *cobra.Command {
	var f command.StoreFlags
	var asJSON, all bool
	cmd := &cobra.Command{
		Use: "list [NODE]", Short: "List the nodes that are held, or one node", Args: cobra.MaximumNArgs(1),
		Example: "  snowfence lease list\n  snowfence lease list 7\n  snowfence lease list --all --json",
	}
	f.Register(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "also list nodes that were held earlier")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		node, err := nodeArgument(args)
		if err != nil {
			return err
		}
		st, ns, err := f.LookNamespace(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		records, err := scope.Namespaces(st.Leases).Leases(cmd.Context(), f.Namespace)
		if err != nil {
			return err
		}
		now := e.Now()
		var list []*pb.LeaseInfo
		for _, r := range records {
			l := view.Lease(r, ns, ns.Layout, now)
			asked := l.Node <= node && node <= l.LastNode
			if (node < 0 && (all || l.Held) || asked) && !view.Inside(r, ns) {
				list = append(list, l)
			}
		}
		none := fmt.Sprintf("no node of namespace %q is held", f.Namespace)
		if node >= 0 {
			none = fmt.Sprintf("node %d of namespace %q was never leased or vetoed", node, f.Namespace)
		}
		header := []string{"NODE", "STATE", "UNTIL", "HOLDER"}
		var before []string // the last row, which stands for the nodes from first to last
		var first, last int64
		return command.WriteTable(e, out, list, asJSON, none, header, func(l *pb.LeaseInfo) []string {
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
	return command.NodeRange(first, last)
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
