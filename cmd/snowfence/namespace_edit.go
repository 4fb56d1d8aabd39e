package main

import (
	"bufio"

	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

func (p *program) namespaceDelete() *cobra.Command {
	var f storeFlags
	var confirm, asJSON bool
	cmd := &cobra.Command{
		Use: "delete NAME --confirm", Short: "End a namespace", Args: cobra.ExactArgs(1),
		Long: `Delete ends a namespace: all holders lose their leases, and their programs end. The store
keeps its name and the time up to which IDs were granted. So you can create it again with the
same layout, and no ID repeats.`,
		Example: "  snowfence namespace delete orders --confirm",
	}
	f.registerStore(cmd.Flags())
	cmd.Flags().BoolVar(&confirm, "confirm", false, "yes, it is meant; not read from the environment")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.RunE = p.runE(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.namespace = args[0]
		st, _, err := p.openNamespace(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		if !confirm || !p.onCommandLine(cmd, "confirm") {
			return usagef("all programs that make IDs in namespace %q of %s will end: add --confirm if that is "+
				"meant", args[0], st.Name)
		}
		ns, err := lease.DeleteNamespace(cmd.Context(), st.Leases, args[0])
		if err != nil {
			return err
		}
		return writeNamespace(out, ns, asJSON)
	})
	return cmd
}

func (p *program) namespaceConfirm() *cobra.Command {
	var f storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "confirm NAME", Short: "Accept a store that was moved on purpose", Args: cobra.ExactArgs(1),
		Long: `Confirm tells the store that you moved it with all its data, while no program used it: for
example, you copied its file to another disk. Without that, the next lease assumes that the
store was rolled back. IDs then start later, above everything that may have been granted
since the backup.

Never confirm a store that was restored from a backup: IDs would repeat.`,
		Example: "  snowfence namespace confirm orders",
	}
	f.registerStore(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.RunE = p.runE(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.namespace = args[0]
		st, _, err := p.openNamespace(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		ns, err := lease.ConfirmStore(cmd.Context(), st.Leases, args[0])
		if err != nil {
			return err
		}
		return writeNamespace(out, ns, asJSON)
	})
	return cmd
}
