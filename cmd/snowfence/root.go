package main

import (
	"context"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/ids"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/namespaces"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/plans"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/sequences"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/servers"
	"github.com/spf13/cobra"
)

// execute runs the whole program, except for its signals. It returns the
// exit code.
func execute(ctx context.Context, e *command.Env, args []string) int {
	root := newRoot(e)
	e.Args = command.MoveIDsLast(root, args)
	root.SetArgs(e.Args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return e.Exit(cmd, err)
}

func newRoot(e *command.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "snowfence",
		Short: "Unique 64-bit IDs: make them, take them apart, plan them",
		Long: `Snowfence makes 64-bit IDs that are unique within one namespace of one store, over
crashes and clock steps, takes IDs of any Snowflake-like system apart, and plans layouts.

Most flags can be set in the environment: SNOWFENCE_STORE for --store, and so on.
Data goes to standard output, messages to standard error.
Exit codes: 0 ok, 1 failed, 2 usage or bad input, 3 findings (a refused change),
130 interrupted.`,
		Example: `  snowfence new -n 5
  snowfence decode 2104672976770170879
  snowfence plan --layout sonyflake`,
		Version:           command.ReadVersion().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return command.ByEnv(e, cmd.Flags()) },
	}
	command.WrapHelp(root)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.Usage(err) })
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"ids", "IDs:", ids.Commands(e)},
		{"numbers", "Numbers:", sequences.Commands(e)},
		{"stores", "Stores:", namespaces.Commands(e)},
		{"servers", "Servers:", servers.Commands(e)},
		{"plans", "Plans and checks:", plans.Commands(e)},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(command.VersionCommand(e), namespaces.StoresTopic())
	return root
}
