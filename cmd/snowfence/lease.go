package main

import (
	"bufio"
	"fmt"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

// leaseJSON is a lease as lease list prints it. Times are those of the layout's ticks.
type leaseJSON struct {
	Namespace string    `json:"namespace"`
	Node      int64     `json:"node"`
	Held      bool      `json:"held"`
	Label     string    `json:"label"`
	Until     time.Time `json:"until"` // IDs of the node are granted up to here; its next holder starts here
	UntilTick int64     `json:"until_tick"`
	Written   time.Time `json:"written"` // by the holder's clock
	Veto      string    `json:"veto,omitempty"`
}

func (p *program) leaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lease",
		Short: "Look at the leases of a namespace, or clear one",
		Long: `A lease is the right of one process to make IDs with a node number up to a time. It is
renewed while the process runs, given back at its end, and runs out after a crash.`,
	}
	return group(cmd, p.leaseList(), p.leaseRelease())
}

func (p *program) leaseList() *cobra.Command {
	var f storeFlags
	var asJSON, all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the nodes that are held", Args: cobra.NoArgs,
		Example: "  snowfence lease list\n  snowfence lease list --all --json",
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "nodes that were held once, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = p.runs(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		st, err := p.openStore(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		layout, err := namespaceLayout(lease.ShowNamespace(cmd.Context(), st.Leases, f.namespace))
		if err != nil {
			return err
		}
		records, err := lease.ListLeases(cmd.Context(), st.Leases, f.namespace)
		if err != nil {
			return err
		}
		now := p.now()
		rows := [][]string{{"NODE", "STATE", "UNTIL", "HOLDER"}}
		for _, r := range records {
			l := leaseOut(r, layout, now)
			switch {
			case !all && !l.Held:
			case asJSON:
				if err := writeJSON(out, l); err != nil {
					return err
				}
			default:
				rows = append(rows, []string{strconv.FormatInt(l.Node, 10), l.state(now), l.Until.Format(time.RFC3339), l.Label})
			}
		}
		if asJSON {
			return nil
		}
		if len(rows) == 1 {
			p.message("no node of namespace %q is held", f.namespace)
			return nil
		}
		_, err = out.Write(appendTable(nil, rows))
		return err
	})
	return cmd
}

func namespaceLayout(ns lease.Namespace, err error) (snowfence.Layout, error) {
	if err != nil {
		return snowfence.Layout{}, err
	}
	return snowfence.ParseLayout(ns.Layout)
}

func leaseOut(r lease.Record, l snowfence.Layout, now time.Time) leaseJSON {
	return leaseJSON{
		Namespace: r.Namespace, Node: r.Node, Held: r.Held(l.TickOf(now)), Label: r.Label,
		Until: l.TimeOf(r.Until), UntilTick: r.Until, Written: time.UnixMilli(r.At).UTC(), Veto: r.Veto,
	}
}

func (l leaseJSON) state(now time.Time) string {
	switch {
	case l.Veto != "":
		return "vetoed: " + l.Veto
	case l.Held:
		return "held, " + ago(l.Until, now)
	}
	return "free"
}

func (p *program) leaseRelease() *cobra.Command {
	var f storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "release NODE", Short: "Clear the holder of a node", Args: cobra.ExactArgs(1),
		Long: `Release makes a node free for another process at once. It is for holders that are known
to be gone; it is safe also when they are not: the next holder starts above everything the
old one was granted, and the old one loses its lease at its next renewal and takes another.`,
		Example: "  snowfence lease release 5",
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.RunE = p.runs(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		node, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || node < 0 {
			return usagef("%q is not a node number", args[0])
		}
		st, err := p.openStore(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		layout, err := namespaceLayout(lease.ShowNamespace(cmd.Context(), st.Leases, f.namespace))
		if err != nil {
			return err
		}
		r, err := lease.ReleaseNode(cmd.Context(), st.Leases, f.namespace, node)
		if err != nil {
			return err
		}
		l := leaseOut(r, layout, p.now())
		if asJSON {
			return writeJSON(out, l)
		}
		_, err = fmt.Fprintf(out, "node %d of namespace %q is free; its next IDs begin at %s\n", l.Node, l.Namespace, l.Until.Format(time.RFC3339Nano))
		return err
	})
	return cmd
}
