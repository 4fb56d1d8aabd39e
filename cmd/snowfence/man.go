package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

//go:generate go run . man ../../docs/man

// manCommand writes the man pages of all commands. It is hidden: packagers and make gen use it.
func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write man pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: p.runE(func(cmd *cobra.Command, args []string, _ *bufio.Writer) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("man pages: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return writePages(root, args[0])
		}),
	}
}

// writePages writes the page of a command and those below it, without a date, so that
// pages change only when the commands do.
func writePages(cmd *cobra.Command, dir string) error {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			if err := writePages(sub, dir); err != nil {
				return err
			}
		}
	}
	var page bytes.Buffer
	header := doc.GenManHeader{Section: "1", Source: "Snowfence", Manual: "Snowfence", Date: &time.Time{}}
	if err := doc.GenMan(cmd, &header, &page); err != nil {
		return fmt.Errorf("man page of %s: %w", cmd.CommandPath(), err)
	}
	text := strings.Replace(page.String(), time.Time{}.Format(`"Jan 2006"`), `""`, 1)
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}
