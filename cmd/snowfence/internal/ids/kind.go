package ids

import (
	"bufio"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/kinds"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newKind prints IDs of another kind, for which there is no store.
func newKind(e *command.Env, cmd *cobra.Command, f *newFlags, out *bufio.Writer) error {
	if err := onlyFlags(e, cmd, "kind", "count", "json"); err != nil {
		return err
	}
	if f.count < 1 {
		return command.Usagef("-n %d: how many IDs to make, from 1 up", f.count)
	}
	next, err := kinds.Maker(f.kind)
	if err != nil {
		return command.Usagef("--kind: %w", err)
	}
	for i := range f.count {
		if i%1024 == 0 {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
		}
		id, err := next()
		if err != nil {
			return err
		}
		if f.json {
			id = `{"id":"` + id + `"}`
		}
		if _, err := out.WriteString(id + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// onlyFlags is an error that names a flag of the command line beside those that
// --kind goes with.
func onlyFlags(e *command.Env, cmd *cobra.Command, allowed ...string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, name := range allowed {
			if f.Name == name {
				return
			}
		}
		if err == nil && command.Given(cmd, f.Name) {
			err = command.Usagef("--%s is for IDs of 64 bits, and --kind for IDs of another kind: leave one of "+
				"them out",
				f.Name)
		}
	})
	return err
}
