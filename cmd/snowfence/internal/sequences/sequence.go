// Package sequences has the commands of sequences.
package sequences

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{sequenceCommand(e)}
}

func sequenceCommand(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sequence", Short: "Durable numbers 1, 2, 3, …: make a sequence, take numbers, change or delete it",
		Long: `A sequence is a durable counter in a store. It gives out numbers that never come twice, over
any number of programs, restarts and crashes. "snowfence sequence next" takes exactly as many
as you ask for; a program that uses the library takes ranges, and makes millions a second.`,
		Example: `  snowfence sequence create orders
  snowfence sequence next orders`,
	}
	return command.Group(cmd, sequenceCreate(e), sequenceNext(e), sequenceList(e), sequenceShow(e), sequenceChange(e),
		sequenceConfirm(e), sequenceDelete(e), sequenceImport(e))
}

func sequenceList(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the sequences of a store", Args: cobra.NoArgs,
		Example: "  snowfence sequence list\n  snowfence sequence list --json --store sqlite:ids.db",
	}
	return command.ListCommand(e, cmd, func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error {
		list, err := sequence.List(ctx, st.Leases)
		if err != nil {
			return err
		}
		return writeSequences(e, out, list, asJSON, command.NoneIn(ctx, e, st, "sequence"))
	})
}

func writeSequences(e *command.Env, out *bufio.Writer, list []sequence.Info, asJSON bool, none string) error {
	all := make([]*pb.Sequence, len(list))
	for i, one := range list {
		all[i] = view.Sequence(one)
	}
	header := []string{"SEQUENCE", "MODE", "NEXT", "LEFT", "STATE"}
	return command.WriteTable(e, out, all, asJSON, none, header, func(s *pb.Sequence) []string {
		return []string{s.Name, s.Mode, cmp.Or(s.NextNumber, "none"), show.Thousands(s.Left), s.State}
	})
}

func sequenceShow(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a sequence",
		Long: `Show prints how a sequence is defined, and the first number that no program has. Numbers
below it were given out, or are in the range of a program that has not used them yet.`,
		Example: "  snowfence sequence show orders",
	}
	return onSequence(e, cmd, func(string) (sequenceWork, error) {
		return nil, nil
	})
}

// sequenceWork is the work of a subcommand on a sequence; nil is none.
type sequenceWork func(ctx context.Context, st store.Store) error

// onSequence gives a subcommand its flags and its work on one sequence,
// which it then shows. prepare looks at the command line before a store is
// opened.
func onSequence(e *command.Env, cmd *cobra.Command, prepare func(name string) (sequenceWork, error)) *cobra.Command {
	var f command.StoreFlags
	var asJSON bool
	f.RegisterStore(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		name := args[0]
		work, err := prepare(name)
		if err != nil {
			return err
		}
		opener := f.Open
		if work == nil {
			opener = f.Look
		}
		st, err := openFor(cmd.Context(), e, name, opener)
		if err != nil {
			return err
		}
		defer st.Close()
		if work != nil {
			if err := work(cmd.Context(), st.Leases); err != nil {
				return sequenceError(e, name, err)
			}
		}
		info, err := sequence.Show(cmd.Context(), st.Leases, name)
		if err != nil {
			return sequenceError(e, name, err)
		}
		return writeSequence(out, info, asJSON)
	})
	return cmd
}

func writeSequence(out *bufio.Writer, i sequence.Info, asJSON bool) error {
	s := view.Sequence(i)
	if asJSON {
		return command.WriteJSON(out, s)
	}
	rows := show.Rows{{"sequence", s.Name}, {"numbers", Numbers(s)}}
	if s.Pattern != "" {
		rows.Add("pattern", "%s", s.Pattern)
		rows.Add("zone", "%s", cmp.Or(s.Zone, "UTC"))
	}
	left := show.Thousands(s.Left)
	if s.Period != 0 {
		left += fmt.Sprintf(" in %d", s.Period)
	}
	rows = append(rows, [][2]string{
		{"mode", s.Mode},
		{"next", cmp.Or(s.NextNumber, "none")},
		{"left", left},
		{"ranges", show.Thousands(s.MinRange) + " to " + show.Thousands(s.MaxRange)},
		{"failover", failoverText(s)},
		{"state", s.State},
	}...)
	_, err := out.Write(rows.Append(nil))
	return err
}

// Numbers says which numbers a sequence has.
func Numbers(s *pb.Sequence) string {
	text := fmt.Sprintf("%d to %d", s.Start, s.Max)
	if s.Step != 1 {
		text += fmt.Sprintf(", step %d", s.Step)
	}
	if unit := (sequence.Definition{Pattern: s.Pattern}).PeriodUnit(); unit != "" {
		text += " each " + unit
	}
	return text
}

// failoverText says what happens after a failover.
func failoverText(s *pb.Sequence) string {
	switch s.AfterFailover {
	case "stop", "trust":
		return s.AfterFailover
	}
	return "skip " + s.AfterFailover + " numbers"
}

// Show returns a sequence of the store that the flags name.
func Show(ctx context.Context, e *command.Env, f *command.StoreFlags, name string) (sequence.Info, error) {
	st, err := openFor(ctx, e, name, f.Look)
	if err != nil {
		return sequence.Info{}, err
	}
	defer st.Close()
	info, err := sequence.Show(ctx, st.Leases, name)
	if err != nil {
		err = sequenceError(e, name, err)
	}
	return info, err
}

// openFor opens a store. It refuses a wrong name of a sequence before that:
// a mistake on the command line is no failure of the store.
func openFor(
	ctx context.Context, e *command.Env, name string, opener func(context.Context, *command.Env) (*open.Store, error),
) (*open.Store, error) {
	if _, err := sequence.Show(ctx, store.NewMemory(), name); errors.Is(err, lease.ErrInvalid) {
		return nil, command.Usage(err)
	}
	return opener(ctx, e)
}
