package namespaces

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"

	"github.com/spf13/cobra"
)

// nodeEdit changes the record of a node, and returns it as it is then.
type nodeEdit func(op scope.Operator, ctx context.Context, namespace string, node int64) (store.Record, error)

// nextIDs says where the next holder of a node begins.
func nextIDs(l *pb.LeaseInfo) string {
	return "its next IDs begin at " + l.UntilTime.AsTime().Format(time.RFC3339Nano)
}

func leaseRelease(e *command.Env) *cobra.Command {
	return leaseEdit(e, &cobra.Command{
		Use: "release NODE", Short: "Clear the holder of a node",
		Long: `Release frees a node at once, so that another process can take it. Use it if the holder is
gone. It is safe if the holder still runs, too: the next holder starts above everything the old
one was granted. The old one loses its lease at its next renewal, and takes another node.`,
		Example: "  snowfence lease release 5",
	}, new(command.StoreFlags), scope.Operator.Release, func(r store.Record, l *pb.LeaseInfo) (string, error) {
		switch {
		case r.Nonce == "":
			return "", fmt.Errorf("node %d of namespace %q was never leased", r.Node, r.Namespace)
		case r.Veto != "":
			return "has no holder, and stays vetoed: " + r.Veto, nil
		}
		return "is free; " + nextIDs(l), nil
	})
}

// leaseEdit adds the flags and the work to a subcommand that changes the
// record of one node. Its message is for people, about the new record; a
// record without a nonce was never written.
func leaseEdit(
	e *command.Env, cmd *cobra.Command, f *command.StoreFlags, edit nodeEdit, message func(store.Record,
		*pb.LeaseInfo) (string, error),
) *cobra.Command {
	var asJSON bool
	f.Register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		node, err := nodeArgument(args)
		if err != nil {
			return err
		}
		st, ns, err := f.OpenNamespace(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		r, err := edit(scope.Namespaces(st.Leases), cmd.Context(), f.Namespace, node)
		switch {
		case errors.Is(err, lease.ErrInvalid):
			return command.Usage(err)
		case err != nil:
			return err
		}
		l := view.Lease(r, ns, ns.Layout, e.Now())
		text, err := message(r, l)
		if err != nil {
			return err
		}
		if asJSON {
			return command.WriteJSON(out, l)
		}
		what := fmt.Sprintf("node %d", l.Node)
		if ns.Unit > 1 {
			what = fmt.Sprintf("the unit of nodes %s", nodesText(l.Node, l.LastNode))
		}
		_, err = fmt.Fprintf(out, "%s of namespace %q %s\n", what, f.Namespace, command.Escaped(text, ""))
		return err
	})
	return cmd
}

// nodeArgument reads the number of a node; -1 without one.
func nodeArgument(args []string) (int64, error) {
	if len(args) == 0 {
		return -1, nil
	}
	node, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || node < 0 {
		return 0, command.Usagef("%q is not a node number", args[0])
	}
	return node, nil
}

func leaseVeto(e *command.Env) *cobra.Command {
	var f command.StoreFlags
	var reason string
	var lift bool
	cmd := &cobra.Command{
		Use: "veto NODE", Short: "Keep a node from being leased",
		Long: `Veto keeps a node from being leased until the veto is lifted. Its holder loses it at its
next renewal and takes another one. Others see the reason.`,
		Example: `  snowfence lease veto 5 --reason "its number was given to the old cluster"
  snowfence lease veto 5 --lift`,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, as a `text` for people who ask for the node")
	cmd.Flags().BoolVar(&lift, "lift", false, "allow the node to be leased again")
	veto := func(op scope.Operator, ctx context.Context, namespace string, node int64) (store.Record, error) {
		if lift {
			reason = ""
		}
		r, err := op.Veto(ctx, namespace, node, reason)
		if errors.Is(err, lease.ErrRefused) {
			return r, command.Usagef("%w:\n  %s", err, f.Command("snowfence sql --retire --node %d --namespace %s",
				node, namespace))
		}
		return r, err
	}
	cmd = leaseEdit(e, cmd, &f, veto, func(r store.Record, l *pb.LeaseInfo) (string, error) {
		switch {
		case r.Nonce == "":
			return "", fmt.Errorf("node %d of namespace %q was never vetoed", r.Node, r.Namespace)
		case r.Veto == "":
			return "can be leased again; " + nextIDs(l), nil
		}
		return "is vetoed: " + r.Veto + "; " + nextIDs(l), nil
	})
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !lift && reason == "" {
			return command.Usagef("a veto needs --reason TEXT, so that others see why; --lift ends one")
		}
		return work(cmd, args)
	}
	return cmd
}
