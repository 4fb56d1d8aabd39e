package namespaces

import (
	"bufio"
	"context"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"

	"github.com/spf13/cobra"
)

func namespaceDelete(e *command.Env) *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use: "delete NAME --confirm", Short: "End a namespace",
		Long: `Delete ends a namespace: all holders lose their leases, and their programs end. The store
keeps its name and the time up to which IDs were granted. So you can create it again with the
same layout, and no ID repeats.`,
		Example: "  snowfence namespace delete orders --confirm",
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "delete it; this flag cannot be set in the environment")
	command.NotByEnv(cmd, "confirm")
	return namespaceEdit(e, cmd, func(ctx context.Context, st *open.Store, name string) (scope.Namespace, error) {
		if !confirm {
			return scope.Namespace{}, command.Usagef("all programs that make IDs in namespace %q of %s will end: "+
				"add --confirm if that is meant", name, st.Name)
		}
		return scope.Namespaces(st.Leases).Delete(ctx, name)
	})
}

// namespaceEdit adds the flags and the work to a subcommand that changes a
// namespace.
func namespaceEdit(
	e *command.Env, cmd *cobra.Command, edit func(ctx context.Context, st *open.Store,
		name string) (scope.Namespace, error),
) *cobra.Command {
	var f command.StoreFlags
	var asJSON bool
	f.RegisterStore(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.Namespace = args[0]
		st, _, err := f.OpenNamespace(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		ns, err := edit(cmd.Context(), st, args[0])
		if err != nil {
			return err
		}
		return writeNamespace(out, ns, asJSON)
	})
	return cmd
}

func namespaceConfirm(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "confirm NAME", Short: "Accept a store that was moved with all its data",
		Long: `Confirm tells the store that you moved it with all its data, while no program used it: for
example, you copied its file to another disk. Without that, the next lease assumes that the
store was rolled back. IDs then start later, above everything that may have been granted
since the backup.

Never confirm a store that was restored from a backup: IDs would repeat. IDs for the past
go on with other nodes: see --backfill-nodes of namespace change.`,
		Example: "  snowfence namespace confirm orders",
	}
	return namespaceEdit(e, cmd, func(ctx context.Context, st *open.Store, name string) (scope.Namespace, error) {
		return scope.Namespaces(st.Leases).Confirm(ctx, name)
	})
}

const unusedHelp = "a `time` after every ID that was made with the numbers given by hand, as in " +
	"2026-08-02T12:00:00Z, or how long from now"
