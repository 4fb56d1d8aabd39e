// Package namespaces has the commands of a store's namespaces and leases.
package namespaces

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{namespaceCommand(e), leaseCommand(e), storeCommand(e), sqlCommand(e)}
}

func namespaceCommand(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "namespace", Short: "Look at the namespaces of a store, make, change or delete one",
		Long: `A namespace is the scope within which IDs are unique: a name in a store, with a layout
and the nodes that can be leased.`,
	}
	return command.Group(cmd, namespaceList(e), namespaceShow(e), namespaceCreate(e), namespaceChange(e),
		namespaceDelete(e), namespaceConfirm(e))
}

func namespaceList(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the namespaces of a store", Args: cobra.NoArgs,
		Example: "  snowfence namespace list\n  snowfence namespace list --json --store sqlite:ids.db",
	}
	return command.ListCommand(e, cmd, func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error {
		all, err := scope.Namespaces(st.Leases).List(ctx)
		if err != nil {
			return err
		}
		list := make([]*pb.Namespace, len(all))
		for i, ns := range all {
			if list[i], err = view.Namespace(ns); err != nil {
				return err
			}
		}
		none := command.NoneIn(ctx, e, st, "namespace")
		header := []string{"NAMESPACE", "NODES", "STATE", "LAYOUT"}
		return command.WriteTable(e, out, list, asJSON, none, header, func(n *pb.Namespace) []string {
			return []string{n.Name, command.NodeRange(n.FirstNode, n.LastNode), n.State, layoutText(n.Layout)}
		})
	})
}

func namespaceShow(e *command.Env) *cobra.Command {
	var f command.StoreFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show [NAME]", Short: "Show a namespace", Args: cobra.MaximumNArgs(1),
		Example: "  snowfence namespace show default",
	}
	f.Register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		if len(args) > 0 {
			if command.Given(cmd, "namespace") && f.Namespace != args[0] {
				return command.Usagef("%q and --namespace %s: show one of them", args[0], f.Namespace)
			}
			f.Namespace = args[0]
		}
		st, ns, err := f.LookNamespace(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		return writeNamespace(out, ns, asJSON)
	})
	return cmd
}

func writeNamespace(out *bufio.Writer, ns scope.Namespace, asJSON bool) error {
	n, err := view.Namespace(ns)
	if err != nil {
		return err
	}
	if asJSON {
		return command.WriteJSON(out, n)
	}
	rows := show.Rows{
		{"namespace", n.Name},
		{"layout", layoutText(n.Layout)},
		{"nodes", command.NodeRange(n.FirstNode, n.LastNode) + unitText(n.Unit)},
		{"state", fmt.Sprintf("%s, generation %d", n.State, n.Generation)},
		{"leases", fmt.Sprintf("a ttl of at most %v, clocks off by at most %v", ns.MaxTTL, ns.MaxSkew)},
	}
	rows = append(rows, reservedRows(n)...)
	for _, r := range n.Uncovered {
		rows.Add("uncovered", "nodes %s: give no program such a number", command.NodeRange(r.FirstNode, r.LastNode))
	}
	for _, f := range n.Functions {
		rows.Add("sql", "%s", functionsText(f))
	}
	for _, p := range n.History {
		from, until := p.From.AsTime().Format(time.RFC3339Nano), p.Until.AsTime().Format(time.RFC3339Nano)
		rows.Add("earlier", "%s, ticks from %s until %s", layoutText(p.Layout), from, until)
	}
	_, err = out.Write(rows.Append(nil))
	return err
}

// functionsText says which functions in a database make IDs.
func functionsText(f *pb.Functions) string {
	text := fmt.Sprintf("node %d, %s", f.Node, f.Dialect)
	if f.Label != "" {
		text += " (" + f.Label + ")"
	}
	if f.Retired != nil {
		return text + ", retired: its IDs lie before " + f.Retired.AsTime().Format(time.RFC3339Nano)
	}
	return text + ", printed " + f.Printed.AsTime().Format(time.RFC3339) + ", layout " + f.Layout
}

// layoutText is a stored layout for people: its name too, if it has one.
func layoutText(spec string) string {
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		return spec
	}
	if name := show.LayoutName(l); name != spec {
		return name + "  " + spec
	}
	return spec
}

// unitText says how many nodes a lease has, if it is not one.
func unitText(unit int64) string {
	if unit == 1 {
		return ""
	}
	return fmt.Sprintf(", leased in units of %d", unit)
}
