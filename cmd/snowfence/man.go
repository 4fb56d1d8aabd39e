package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the man pages of all commands. It is hidden: packagers and make gen use it.
func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write man pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: p.runs(func(cmd *cobra.Command, args []string, _ *bufio.Writer) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("man pages: %w", err)
			}
			// No date, so that the pages change only when the commands do.
			return doc.GenManTree(root, &doc.GenManHeader{Title: "SNOWFENCE", Section: "1", Source: "snowfence", Manual: "Snowfence"}, args[0])
		}),
	}
}
