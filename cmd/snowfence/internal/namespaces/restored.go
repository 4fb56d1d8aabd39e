package namespaces

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"

	"github.com/spf13/cobra"
)

func storeCommand(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Move a store, or say that its data was restored",
		Long: `The commands of this group are about a whole store: all its namespaces and sequences.`,
	}
	return command.Group(cmd, storeRestored(e), storeMove(e))
}

func storeRestored(e *command.Env) *cobra.Command {
	var f command.StoreFlags
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

You may run it again before you go on: IDs then wait longer. Later, sequences stop or skip again,
and IDs for the past stop again.`,
		Example: "  snowfence store restored\n  snowfence store restored --store postgres://snowfence@db.example/ids",
	}
	f.RegisterStore(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each namespace and sequence")
	cmd.RunE = e.Run(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		st, err := f.Open(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		if err := anotherIdentity(cmd.Context(), st.Leases); err != nil {
			return err
		}
		w := &walk{st: st.Leases, json: asJSON, out: out}
		w.namespace = func(name string) (*pb.Namespace, string, error) {
			return restoreNamespace(cmd.Context(), st.Leases, name)
		}
		w.sequence = func(name string) (*pb.Sequence, string, error) {
			return restoreSequence(cmd.Context(), &f, st.Leases, name)
		}
		if err := w.all(cmd.Context()); err != nil {
			return fmt.Errorf("%w\nthe namespaces and sequences after it are as they were: run the command again", err)
		}
		if len(w.seen) == 0 {
			return command.Usagef("no namespace and no sequence is in %s: "+
				"name the store whose data you replaced (--store)", st.Name)
		}
		return nil
	})
	return cmd
}

// anotherIdentity changes the store's identity. It comes first: leases and
// sequences then see the loss if a later step is interrupted.
func anotherIdentity(ctx context.Context, st store.Store) error {
	id, err := store.Identity(ctx, st, "")
	if err == nil && id != "" {
		err = st.Suspect(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("giving the store another identity: %w\nnothing else was changed: run the command again", err)
	}
	return nil
}

func restoreNamespace(ctx context.Context, st store.Store, name string) (*pb.Namespace, string, error) {
	ns, err := scope.Namespaces(st).Restored(ctx, name)
	if err != nil {
		return nil, "", unlessGone(err)
	}
	m, err := view.Namespace(ns)
	return m, "IDs go on at " + ns.Layout.TimeOf(ns.Floor).UTC().Format(time.RFC3339), err
}

// unlessGone leaves out deleted sequences and moved names: no program can
// use these here.
func unlessGone(err error) error {
	if errors.Is(err, sequence.ErrNoSequence) || errors.Is(err, store.ErrMoved) {
		return nil
	}
	return err
}

func restoreSequence(
	ctx context.Context, f *command.StoreFlags, st store.Store, name string,
) (*pb.Sequence, string, error) {
	s, err := sequence.Restored(ctx, st, name)
	if err != nil {
		return nil, "", unlessGone(err)
	}
	text := fmt.Sprintf("skips %d numbers", s.Definition.AfterFailover)
	switch s.Definition.AfterFailover {
	case sequence.Stop:
		confirm := f.Command("snowfence sequence confirm %s --used N --programs P", name)
		text = "stops until you confirm it (N is the highest number that any caller got or a program's error " +
			"names, P is how many programs took numbers that the store lost, also stopped ones):\n  " + confirm
	case sequence.Trust:
		text = "trusts the store"
	}
	return view.Sequence(s), text, nil
}
