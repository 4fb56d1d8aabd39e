package command

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/spf13/cobra"
)

// WrapHelp makes help and usage of all commands as wide as other texts. A
// template of cobra's would make the linker keep every exported method of
// the program.
func WrapHelp(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		var text strings.Builder
		cmd.SetOut(&text)
		defer cmd.SetOut(out)
		if err := usage(cmd); err != nil {
			return err
		}
		local, inherited := cmd.LocalFlags(), cmd.InheritedFlags()
		examples := strings.Split(cmd.Example, "\n")
		for i, line := range examples {
			examples[i] = show.WrapCommand(line)
		}
		wraps := []string{
			local.FlagUsages(), local.FlagUsagesWrapped(show.Columns),
			inherited.FlagUsages(), inherited.FlagUsagesWrapped(show.Columns),
			cmd.Example, strings.Join(examples, "\n"),
		}
		for _, c := range cmd.Commands() {
			at := c.NamePadding() + 3
			wraps = append(wraps, " "+c.Short+"\n", " "+show.Wrap(c.Short, at, at)+"\n")
		}
		_, err := strings.NewReplacer(wraps...).WriteString(out, text.String())
		return err
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		text := cmd.Long
		if text == "" {
			text = cmd.Short
		}
		out := cmd.OutOrStdout()
		fmt.Fprintln(out, wrapText(strings.TrimSpace(text))+"\n")
		if cmd.Runnable() || cmd.HasSubCommands() {
			cmd.SetOut(out)
			_ = cmd.Usage() // a reader of help sees that it failed
		}
	})
}

// wrapText joins and wraps paragraphs, and the rows of tables below their
// second column.
func wrapText(text string) string {
	var out []string
	at := -1 // the column of lines that go on with the last one
	for line := range strings.SplitSeq(text, "\n") {
		start := len(line) - len(strings.TrimLeft(line, " "))
		if line != "" && start == at {
			out[len(out)-1] += " " + line[start:]
			continue
		}
		out = append(out, line)
		if at = secondColumn(line); line == "" || at == start && start > 0 && start < 8 {
			at = -1 // the next row
		}
	}
	for i, line := range out {
		out[i] = show.Wrap(line, 0, secondColumn(line))
	}
	return strings.Join(out, "\n")
}

// secondColumn returns where the second column of a row begins, or the text
// of other lines.
func secondColumn(line string) int {
	text := strings.TrimLeft(line, " ")
	start := len(line) - len(text)
	first, rest, two := strings.Cut(text, "  ")
	if start == 0 || !two {
		return start
	}
	return start + utf8.RuneCountInString(first) + 2 + len(rest) - len(strings.TrimLeft(rest, " "))
}
