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
		Long: `Delete ends a namespace: all holders lose their leases, and their programs end. Its name and
the time up to which IDs were granted stay in the store, so that a namespace created again
under the name, with the same layout, makes no ID twice.`,
		Example: "  snowfence namespace delete orders --confirm",
	}
	f.registerStore(cmd.Flags())
	cmd.Flags().BoolVar(&confirm, "confirm", false, "yes, it is meant; not read from the environment")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.RunE = p.runs(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.namespace = args[0]
		st, _, err := p.openNamespace(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		if !confirm || !p.given(cmd, "confirm") {
			return usagef("all programs that make IDs in namespace %q of %s will end: add --confirm if that is meant", args[0], st.Name)
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
		Long: `Confirm says that a store was moved with all its data and while nobody used it: a file was
copied to another disk, say. Without it the next lease takes the store for one that was set
back, and makes IDs start later, above everything that can have been granted meanwhile.

Do not confirm a store that was restored from a backup: that would make IDs twice.`,
		Example: "  snowfence namespace confirm orders",
	}
	f.registerStore(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.RunE = p.runs(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
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
