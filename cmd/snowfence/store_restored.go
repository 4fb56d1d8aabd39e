package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

func (p *program) storeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Say that the data of a store was restored",
		Long:  `The commands of this group are about a whole store: all its namespaces and sequences.`,
	}
	return group(cmd, p.storeRestored())
}

func (p *program) storeRestored() *cobra.Command {
	var f storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "restored", Short: "Say that older data was put under a store", Args: cobra.NoArgs,
		Long: `Run this after you put older data under a store, and before programs start. It does not matter
how: a backup, a dump, a copied folder, file or table, a snapshot, a flashback, a stale replica,
an UPDATE by hand.

The store gets another identity, and all leases of all namespaces end. New IDs are later than all
that leases can have made: they go on after the longest ttl plus twice the largest skew, 45 s by
default. IDs for the past stop until you name other nodes (snowfence namespace change NAME
--backfill-nodes A-B). Each sequence does what its --after-failover says: it stops until
"snowfence sequence confirm", skips numbers, or trusts the store. Functions in a database do not
hear of it: print them again (snowfence sql --again).

You may run it again: IDs then wait longer, and nothing else changes.`,
		Example: "  snowfence store restored\n  snowfence store restored --store postgres://snowfence@db.example/ids",
	}
	f.registerStore(cmd.Flags())
	f.manage(cmd.Flags(), "store restored")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each namespace and sequence")
	cmd.RunE = p.runE(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		st, err := p.openStore(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		if err := anotherIdentity(cmd.Context(), st.Leases); err != nil {
			return err
		}
		namespaces, err := restoreNamespaces(cmd.Context(), st, asJSON, out)
		if err != nil {
			return err
		}
		sequences, err := f.restoreSequences(cmd.Context(), st, asJSON, out)
		if err == nil && namespaces+sequences == 0 {
			err = usagef("no namespace and no sequence is in %s: "+
				"name the store whose data you replaced (--store)", st.Name)
		}
		return err
	})
	return cmd
}

// anotherIdentity comes first: if what follows is interrupted, leases and sequences see the loss.
func anotherIdentity(ctx context.Context, st store.Store) error {
	id, err := st.Identity(ctx, "")
	if err == nil && id != "" {
		err = st.Suspect(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("giving the store another identity: %w\nnothing else was changed: run the command again", err)
	}
	return nil
}

// restoreNamespaces returns how many namespaces there are.
func restoreNamespaces(
	ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer,
) (n int, err error) {
	op := lease.Namespaces(st.Leases)
	all, err := op.List(ctx)
	if err != nil {
		return 0, err
	}
	for _, ns := range all {
		if ns, err = op.Restored(ctx, ns.Name); err != nil {
			return 0, fmt.Errorf("%w\nthe namespaces and sequences after it are as they were: "+
				"run the command again", err)
		}
		l := ns.Layout
		if asJSON {
			m, err := view.Namespace(ns)
			if err == nil {
				err = writeJSON(out, m)
			}
			if err != nil {
				return 0, err
			}
			continue
		}
		fmt.Fprintf(out, "namespace %s: IDs go on at %s\n", ns.Name, l.TimeOf(ns.Floor).UTC().Format(time.RFC3339))
	}
	return len(all), nil
}

// restoreSequences returns how many sequences there are, deleted ones too.
func (f *storeFlags) restoreSequences(
	ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer,
) (n int, err error) {
	all, err := sequence.List(ctx, st.Leases)
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.Deleted {
			continue
		}
		if s, err = sequence.Restored(ctx, st.Leases, s.Name); err != nil {
			return 0, fmt.Errorf("%w\nthe sequences after it are as they were: run the command again", err)
		}
		if asJSON {
			if err := writeJSON(out, view.Sequence(s)); err != nil {
				return 0, err
			}
			continue
		}
		what := fmt.Sprintf("skips %d numbers", s.Definition.AfterFailover)
		switch s.Definition.AfterFailover {
		case sequence.Stop:
			confirm := f.command("snowfence sequence confirm %s --used N --programs P", s.Name)
			what = "stops until you confirm it:\n  " + confirm
		case sequence.Trust:
			what = "trusts the store"
		}
		fmt.Fprintf(out, "sequence %s: %s\n", s.Name, what)
	}
	return len(all), nil
}
