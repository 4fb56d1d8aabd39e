package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// EnvName is the name of the environment variable of a flag.
func EnvName(flag string) string {
	return "SNOWFENCE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// ByEnv gives flags that are not on the command line their values from the
// environment. An empty variable counts as unset. The end of a line that a
// file left in one is not of the value.
func ByEnv(e *Env, fs *pflag.FlagSet) error {
	var err error
	fs.VisitAll(func(f *pflag.Flag) {
		value := strings.TrimRight(e.Getenv(EnvName(f.Name)), "\r\n")
		_, byHand := f.Annotations[notByEnv]
		if err != nil || f.Changed || value == "" || byHand || f.Name == "help" || f.Name == "version" {
			return
		}
		if setErr := fs.Set(f.Name, value); setErr != nil {
			err = fmt.Errorf("environment variable %s: %w", EnvName(f.Name), setErr)
			return
		}
		_ = fs.SetAnnotation(f.Name, ofEnv, nil) // it fails only for a flag that is not there
	})
	return err
}

// Annotations of flags.
const (
	ofEnv    = "of-env"     // the environment gave the value
	notByEnv = "not-by-env" // the environment must not give it
)

// NotByEnv keeps the environment from setting flags that are meant for one
// occasion.
func NotByEnv(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		_ = cmd.Flags().SetAnnotation(name, notByEnv, nil) // it fails only for a flag that is not there
	}
}

// Given reports whether a flag is on the command line itself.
func Given(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && f.Changed && !ofEnvironment(f)
}

// ofEnvironment reports whether the environment gave a flag its value; nil
// is none.
func ofEnvironment(f *pflag.Flag) bool {
	if f == nil {
		return false
	}
	_, ok := f.Annotations[ofEnv]
	return ok
}

// FirstGiven returns the first of some flags that is on the command line
// itself; "" if none is.
func FirstGiven(cmd *cobra.Command, flags ...string) string {
	i := slices.IndexFunc(flags, func(flag string) bool { return Given(cmd, flag) })
	if i < 0 {
		return ""
	}
	return flags[i]
}

// CompleteLayouts lets the shell complete the names of layouts behind
// flags.
func CompleteLayouts(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		// It fails only for a flag that the command does not have.
		_ = cmd.RegisterFlagCompletionFunc(name, PresetCompletion)
	}
}

// PresetCompletion lets the shell complete the name of a layout.
func PresetCompletion(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	for _, preset := range snowfence.Presets() {
		list = append(list, cobra.CompletionWithDesc(preset.Name, preset.About))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// CompleteWords lets the shell complete the values of a flag.
func CompleteWords(cmd *cobra.Command, flag string, words ...cobra.Completion) {
	// It fails only for a flag that the command does not have.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// TakesIDs is the annotation of commands with IDs as arguments, which may
// begin with a minus sign.
const TakesIDs = "takes-ids"

// MoveIDsLast makes "decode -5 --json" mean what it says. The commands it
// is for have long flags only (and -h), so whatever else begins with a
// single dash is an ID. IDs go behind "--", in their order.
func MoveIDsLast(root *cobra.Command, args []string) []string {
	if len(args) == 0 {
		return args
	}
	cmd, _, err := root.Find(args[:1])
	if err != nil || cmd.Annotations[TakesIDs] == "" {
		return args
	}
	flags, ids := args[:1:1], []string{"--"}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			ids = append(ids, args[i+1:]...)
			i = len(args)
		case arg == "-h":
			flags = append(flags, arg)
		case strings.HasPrefix(arg, "--"):
			flags = append(flags, arg)
			if f := cmd.Flags().Lookup(arg[2:]); f != nil && f.NoOptDefVal == "" && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		default:
			ids = append(ids, arg)
		}
	}
	return append(flags, ids...)
}

// Group makes a command that only holds others.
func Group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Usagef("unknown command %q for %q", args[0], cmd.CommandPath())
		}
		return cmd.Help()
	}
	cmd.AddCommand(subcommands...)
	return cmd
}
