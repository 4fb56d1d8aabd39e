package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
)

// The help of each command fits a terminal, and its commands are those that
// were written.
func TestHelpFitsATerminal(t *testing.T) {
	n := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		n++
		var out bytes.Buffer
		cmd.SetOut(&out)
		noError(t, cmd.Help())
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(line) > show.Columns+1 && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: %s", cmd.CommandPath(), line)
			}
		}
		if !strings.Contains(strings.ReplaceAll(out.String(), " \\\n    ", " "), cmd.Example) {
			t.Errorf("%s has other examples", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot(command.New(nil, nil, nil, nil)))
	if n < 20 {
		t.Errorf("only %d commands", n)
	}
}
