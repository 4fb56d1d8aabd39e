package sequences

import (
	"bufio"
	"context"
	"errors"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

func sequenceChange(e *command.Env) *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: "change NAME", Short: "Change the end, the ranges or the failover of a sequence",
		Long: `Change changes a sequence while programs use it. What you do not name on the
command line stays as it is. --max may not be below what was given out.

Mode, start, step, pattern and zone never change: for others create another sequence, which
starts above this one.`,
		Example: `  snowfence sequence change orders --max 999999999
  snowfence sequence change orders --after-failover 100000`,
	}
	f.register(cmd, func(string) string { return "" })
	command.NotByEnv(cmd, "max", "min-range", "max-range", "after-failover")
	return onSequence(e, cmd, func(name string) (sequenceWork, error) {
		c, err := f.changes(cmd)
		if err != nil {
			return nil, err
		}
		if c == (sequence.Changes{}) {
			return nil, command.Usagef("name what is to change in sequence %q: add --max, --min-range, --max-range or "+
				"--after-failover", name)
		}
		return func(ctx context.Context, st store.Store) error { return sequence.Update(ctx, st, name, c) }, nil
	})
}

func sequenceDelete(e *command.Env) *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use: "delete NAME --confirm", Short: "End a sequence",
		Long: `Delete ends a sequence: programs that use it get no more numbers. The store keeps the name
and how far the numbers went. If you create it again with the same definition, it goes on
there, and no number comes twice.`,
		Example: "  snowfence sequence delete orders --confirm",
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "delete it; this flag cannot be set in the environment")
	command.NotByEnv(cmd, "confirm")
	return onSequence(e, cmd, func(name string) (sequenceWork, error) {
		if !confirm {
			return nil, command.Usagef("all programs that use sequence %q will get no more numbers: add --confirm "+
				"if that is meant", name)
		}
		return func(ctx context.Context, st store.Store) error { return sequence.Delete(ctx, st, name) }, nil
	})
}

func sequenceConfirm(e *command.Env) *cobra.Command {
	var f command.StoreFlags
	var all, asJSON bool
	var floor, used, programs int64
	cmd := &cobra.Command{
		Use: "confirm NAME|--all", Short: "Let a sequence go on after its store was rolled back or failed over",
		Long: `After a restored backup or a failover a store may not know the last numbers that it gave
out, and a sequence stops. Confirm lets it go on above all of them. Say where that is:

  --floor N  no number at or above N was given to anybody, or is held by a running program.
             Look for N ten seconds after the loss: calls under way may still get numbers
  --used N   N is the highest number that any caller got, also in a block or through a server,
             or that the error of a running program names; if your tables went back, too, find
             a floor. As many more are skipped as --programs can hold: twice the largest range
             for each program that took numbers that the store lost, also if it stopped.
             If the store lost a larger --max-range, set that first

Of a dated sequence, confirm closes earlier periods for good. The present one and the next
begin there.

Confirm never lowers what was given out. You can repeat it.`,
		Example: `  snowfence sequence confirm orders --floor 250000
  snowfence sequence confirm --all --used 248113 --programs 20`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	fs := cmd.Flags()
	f.RegisterStore(fs)
	fs.BoolVar(&all, "all", false, "confirm all sequences of the store; this flag cannot be set in the environment")
	fs.Int64Var(&floor, "floor", 0, "the first `number` that no program has")
	fs.Int64Var(&used, "used", 0, "the highest `number` that any caller got, or that an error names")
	fs.Int64Var(&programs, "programs", 100, "with --used: how many `programs` took numbers that the store lost")
	fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
	command.NotByEnv(cmd, "all", "floor", "used", "programs")
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		if all == (len(args) == 1) {
			return command.Usagef("name the sequence that you looked at, or add --all")
		}
		c := sequence.Confirmation{}
		if fs.Changed("floor") {
			c.Floor = &floor
		}
		if fs.Changed("used") {
			c.Used, c.Programs = &used, programs
		}
		switch {
		case (c.Floor == nil) == (c.Used == nil):
			return command.Usagef("name the number at which the sequence goes on: add --floor, or --used and " +
				"--programs")
		case c.Floor != nil && command.Given(cmd, "programs"):
			return command.Usagef("--programs is for --used: leave it out")
		case programs < 1:
			return command.Usagef("--programs %d: use a number from 1 up", programs)
		case all:
			st, err := f.Open(cmd.Context(), e)
			if err != nil {
				return err
			}
			defer st.Close()
			return confirmAll(cmd.Context(), e, st.Leases, c, asJSON, out)
		}
		st, err := openFor(cmd.Context(), e, args[0], f.Open)
		if err != nil {
			return err
		}
		defer st.Close()
		info, err := confirmSequence(cmd.Context(), e, st.Leases, args[0], c)
		if err != nil {
			return err
		}
		return writeSequence(out, info, asJSON)
	})
	return cmd
}

func confirmSequence(ctx context.Context, e *command.Env, st store.Store, name string, c sequence.Confirmation,
) (sequence.Info, error) {
	if err := sequence.Confirm(ctx, st, name, c); err != nil {
		return sequence.Info{}, sequenceError(e, name, err)
	}
	return sequence.Show(ctx, st, name)
}

// confirmAll confirms all sequences that were not deleted, also after an
// error.
func confirmAll(
	ctx context.Context, e *command.Env, st store.Store, c sequence.Confirmation, asJSON bool, out *bufio.Writer,
) error {
	list, err := sequence.List(ctx, st)
	if err != nil {
		return err
	}
	var done []sequence.Info
	var failed error
	for _, i := range list {
		if i.Deleted {
			continue
		}
		i, err := confirmSequence(ctx, e, st, i.Name, c)
		if failed = errors.Join(failed, err); err == nil {
			done = append(done, i)
		}
	}
	if len(done) > 0 {
		if writeErr := writeSequences(e, out, done, asJSON, ""); writeErr != nil {
			return writeErr
		}
	}
	return failed
}
