package main

import (
	"bufio"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

func (p *program) namespaceWiden() *cobra.Command {
	var f storeFlags
	var leasable, unused string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "widen NAME --leasable RANGE", Short: "Make more nodes leasable", Args: cobra.ExactArgs(1),
		Long: `Widen makes more nodes leasable: those whose numbers you gave to programs by hand until now.
Stop these programs first. Leases that are held go on. New leases make only IDs of a time
after --unused. So set --unused later than every ID made by hand, if a clock was ahead.`,
		Example: "  snowfence namespace widen orders --leasable 0-63",
	}
	f.registerStore(cmd.Flags())
	cmd.Flags().StringVar(&leasable, "leasable", "", "the `range` of nodes that can be leased then, as in 0-63")
	cmd.Flags().StringVar(&unused, "unused", "", "a `time` after every ID that was made with the numbers given "+
		"by hand, as in 2026-08-02T12:00:00Z (default: now)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.RunE = p.runE(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		f.namespace = args[0]
		if leasable == "" {
			return usagef("which nodes can be leased then: add --leasable 0-63")
		}
		nodes, err := parseRange(leasable)
		if err != nil {
			return err
		}
		var at time.Time
		if unused != "" {
			if at, err = time.Parse(time.RFC3339, unused); err != nil {
				return usagef("--unused: %q is not a time such as 2026-08-02T12:00:00Z", unused)
			}
		}
		st, _, err := p.openNamespace(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		ns, err := lease.WidenNamespace(cmd.Context(), st.Leases, args[0], nodes, at)
		if err != nil {
			return err
		}
		return writeNamespace(out, ns, asJSON)
	})
	return cmd
}
