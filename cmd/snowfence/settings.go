package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate go run . settings ../../docs/operate/settings.md

// bindSettings makes flags of the settings, with their defaults.
func bindSettings(fs *pflag.FlagSet, c *serve.Config) {
	quotes := strings.NewReplacer("<", "`", ">", "`")
	for tag, field := range c.Settings() {
		name, help := tag.Get("name"), quotes.Replace(tag.Get("help"))
		if name == "" {
			continue
		}
		switch p := field.(type) {
		case *string:
			fs.StringVar(p, name, "", help)
		case *bool:
			fs.BoolVar(p, name, false, help)
		case *int:
			fs.IntVar(p, name, 0, help)
		case *int64:
			fs.Int64Var(p, name, 0, help)
		case *time.Duration:
			fs.DurationVar(p, name, 0, help)
		case *[]string:
			fs.StringSliceVar(p, name, nil, help)
		case *map[string]string:
			fs.StringToStringVar(p, name, nil, help)
		case *map[string]int64:
			fs.StringToInt64Var(p, name, nil, help)
		}
		f := fs.Lookup(name)
		f.NoOptDefVal = cmp.Or(tag.Get("bare"), f.NoOptDefVal)
		if text := tag.Get("default"); text != "" {
			_ = f.Value.Set(text) // a test looks at all of them
			f.DefValue = f.Value.String()
		}
	}
}

// settingsCommand writes the reference of the server's settings into a document. It is
// hidden, as man is.
func (p *program) settingsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "settings FILE", Short: "Write the reference of the server's settings into a document", Hidden: true,
		Args: cobra.ExactArgs(1),
		RunE: p.runE(func(_ *cobra.Command, args []string, _ *bufio.Writer) error {
			before, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			after, err := withSettings(before)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
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

// withSettings returns a document with the reference of the settings between its marks.
func withSettings(doc []byte) ([]byte, error) {
	head, rest, ok := bytes.Cut(doc, []byte(settingsBegin))
	_, tail, ok2 := bytes.Cut(rest, []byte(settingsEnd))
	if !ok || !ok2 {
		return nil, errors.New("it has no place for the settings")
	}
	var flags, lines strings.Builder
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	c := new(serve.Config)
	bindSettings(fs, c)
	fs.VisitAll(func(f *pflag.Flag) {
		_, help := pflag.UnquoteUsage(f)
		value := f.DefValue
		if value == "" || value == "[]" {
			value = "–"
		}
		fmt.Fprintf(&flags, "| `%s` | `%s` | %s | %s |\n", f.Name, envName(f.Name), value, help)
	})
	for tag := range c.Settings() {
		if tag.Get("name") == "" {
			fmt.Fprintf(&lines, "| `%s` | %s |\n", tag.Get("file"), tag.Get("help"))
		}
	}
	return fmt.Appendf(nil, "%s%s| flag and line of the file | variable | default | |\n|---|---|---|---|\n%s\n"+
		"These lines can stand in the file only:\n\n| line | |\n|---|---|\n%s%s%s",
		head, settingsBegin, flags.String(), lines.String(), settingsEnd, tail), nil
}
