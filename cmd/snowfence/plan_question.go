package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// questions are those that plan answers, by the flag that asks them, with the flags that
// say more about them.
var questions = [...]struct {
	flag, about, ask string
	more             []string
}{
	{"layout", "looking at a layout", "--layout L", nil},
	{"rate", "finding a layout", "--rate, the IDs a second of all nodes together", []string{
		"nodes", "years", "js-safe", "epoch",
	}},
	{"change", "checking a change", "--change A B", []string{"at", "floor"}},
	{"sequence", "looking at a sequence", "--sequence NAME", []string{"store"}},
	{"pattern", "a dated sequence that is not made yet", "--pattern P", nil},
	{"max", "a sequence that is not made yet", "--max M", []string{"start", "step"}},
}

// withRate are questions that --rate belongs to, which is a question by itself.
var withRate = []string{"sequence", "pattern", "max"}

// question returns which question a command line asks. What stands on the command line
// beats the environment.
func (p *program) question(cmd *cobra.Command, args []string) (string, error) {
	asked := ""
	for _, q := range questions {
		switch {
		case !p.onCommandLine(cmd, q.flag):
		case asked == "rate" && slices.Contains(withRate, q.flag):
			asked = q.flag
		case asked != "":
			return "", usagef("--%s and --%s are two questions: ask one of them", asked, q.flag)
		default:
			asked = q.flag
		}
	}
	for _, q := range questions[1:3] {
		if asked == "" && cmd.Flags().Changed(q.flag) && (q.flag == "change") == (len(args) > 0) {
			asked = q.flag // by the environment
		}
	}
	if len(args) > 0 && asked != "change" {
		return "", usagef("%q: a layout to look at goes behind --layout, a change is --change A B", args[0])
	}
	for _, q := range questions {
		for _, name := range q.more {
			if q.flag != asked && p.onCommandLine(cmd, name) {
				return "", usagef("--%s is for %s: add %s", name, q.about, q.ask)
			}
		}
	}
	if slices.Contains(withRate, asked) && !cmd.Flags().Changed("rate") {
		return "", usagef("--%s: how fast numbers are taken: add --rate, as in --rate 500/day", asked)
	}
	return asked, nil
}
