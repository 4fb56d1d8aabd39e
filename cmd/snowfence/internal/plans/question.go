package plans

import (
	"slices"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/spf13/cobra"
)

// questions are the questions of plan, by the flag that asks them. Each has
// the flags that belong to it.
var questions = [...]question{
	{"layout", "looking at a layout", "--layout L", false, nil},
	{"rate", "finding a layout", "--rate, the IDs a second of all nodes together", false, []string{
		"nodes", "servers", "datacenters", "scatter", "tag", "years", "js-safe", "epoch",
	}},
	{"change", "checking a change", "--change A B", true, []string{"at", "floor", "reserved"}},
	{"beside", "two layouts at the same time", "--beside A B", true, []string{"nodes", "slice", "until"}},
	{"sequence", "looking at a sequence", "--sequence NAME", false, []string{"store"}},
	{"pattern", "a dated sequence that is not made yet", "--pattern P", false, nil},
	{"max", "a sequence that is not made yet", "--max M", false, nil},
}

type question struct {
	flag, about, ask string
	args             bool // its second layout is an argument
	more             []string
}

// withRate are the questions that take --rate. Alone, --rate is a question
// itself.
var withRate = []string{"sequence", "pattern", "max"}

// questionOf returns which question a command line asks. What stands on the
// command line beats the environment.
func questionOf(cmd *cobra.Command, args []string) (string, error) {
	asked := question{}
	for _, q := range questions {
		switch {
		case !command.Given(cmd, q.flag):
		case asked.flag == "rate" && slices.Contains(withRate, q.flag):
			asked = q
		case asked.flag != "":
			return "", command.Usagef("--%s and --%s are two questions: ask one of them", asked.flag, q.flag)
		default:
			asked = q
		}
	}
	for _, q := range questions[1:] {
		if asked.flag == "" && cmd.Flags().Changed(q.flag) && q.args == (len(args) > 0) &&
			!slices.Contains(withRate, q.flag) {
			asked = q // by the environment
		}
	}
	if len(args) > 0 && !asked.args {
		return "", command.Usagef("%q: give a layout with --layout, or a change with --change A B", args[0])
	}
	for _, q := range questions {
		for _, name := range q.more {
			if !slices.Contains(asked.more, name) && command.Given(cmd, name) {
				return "", command.Usagef("--%s is for %s: add %s", name, q.about, q.ask)
			}
		}
	}
	if slices.Contains(withRate, asked.flag) && !cmd.Flags().Changed("rate") {
		return "", command.Usagef("--%s needs the speed at which numbers are taken: add --rate, as in --rate "+
			"500/day", asked.flag)
	}
	return asked.flag, nil
}
