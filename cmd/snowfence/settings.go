package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate go run . settings ../../docs/operate/settings.md

// settingsCommand writes the reference of the server's settings into a document. It is
// hidden, as man is.
func (p *program) settingsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "settings FILE", Short: "Write the reference of the server's settings into a document", Hidden: true,
		Args: cobra.ExactArgs(1),
		RunE: p.runs(func(_ *cobra.Command, args []string, _ *bufio.Writer) error {
			before, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			after, err := withSettings(before, p.serveCommand().Flags())
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if bytes.Equal(before, after) {
				return nil
			}
			return os.WriteFile(args[0], after, 0o644)
		}),
	}
}

// Where the reference stands in a document.
const (
	settingsBegin = "<!-- settings: written by go generate -->\n"
	settingsEnd   = "<!-- end of settings -->\n"
)

// withSettings returns a document with the reference of the flags between its marks.
func withSettings(doc []byte, fs *pflag.FlagSet) ([]byte, error) {
	head, rest, ok := bytes.Cut(doc, []byte(settingsBegin))
	_, tail, ok2 := bytes.Cut(rest, []byte(settingsEnd))
	if !ok || !ok2 {
		return nil, errors.New("it has no place for the settings")
	}
	var b strings.Builder
	b.WriteString("| flag and line of the file | variable | default | |\n|---|---|---|---|\n")
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		_, usage := pflag.UnquoteUsage(f)
		value := f.DefValue
		if value == "" || value == "[]" {
			value = "–"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", f.Name, envName(f.Name), value, strings.ReplaceAll(usage, "|", `\|`))
	})
	return []byte(string(head) + settingsBegin + b.String() + settingsEnd + string(tail)), nil
}
