package main

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/conform"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/spf13/cobra"
)

func (p *program) conformCommand() *cobra.Command {
	var only []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "conform COMMAND [ARG...]", Short: "Judge a client that makes IDs with leases of a server",
		Args: cobra.MinimumNArgs(1),
		Long: `Conform is for authors of clients, in any language. It is a referee between a client and a
server that it starts itself: it loses, delays, damages and repeats answers, takes nodes away,
stops the server, kills and stops the client, and compares each ID with the grants that it gave.
The rules come from docs/reference/specification.md.

COMMAND starts a small program around the client. Its environment has SNOWFENCE_SERVER (a URL),
SNOWFENCE_NAMESPACE and SNOWFENCE_TTL (such as 3s). It answers each line "next" of its standard
input by a line with an ID in decimal, or with "error" and why there is none now, within seconds.
It makes the ID after it has read the line. At "close", or at the end of the input, it gives its
node back, writes "closed" and ends with code 0.

A rule is "red" if the client broke it. It is "not seen" if the client did not come to the point
where it matters, for example because the machine was too busy. The exit code is 0 if all rules
are green, 3 if one is red, and else 1. A run takes half a minute.`,
		Example: `  snowfence conform python3 adapter.py
  snowfence conform --rule taken --rule gone --json ./adapter --verbose`,
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false) // flags after COMMAND are its own
	fs.StringSliceVar(&only, "rule", nil, "play only these `rules`, with commas between them")
	fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = p.runE(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		for _, name := range only {
			if !slices.Contains(conform.Names(), name) {
				return usagef("--rule %s: there is no such rule: use %s", name, strings.Join(conform.Names(), ", "))
			}
		}
		if _, err := exec.LookPath(args[0]); err != nil {
			return usagef("the adapter: %w", err)
		}
		runs := tally{total: int64(len(conform.Names()))}
		if len(only) > 0 {
			runs.total = int64(len(only))
		}
		bar := p.showProgress(&runs)
		defer bar.end()
		rows, err := conform.Run(cmd.Context(), args, only, func() { runs.done.Add(1) })
		if err != nil {
			return err
		}
		bar.end()
		return p.writeConform(out, rows, asJSON)
	})
	return cmd
}

// writeConform writes the verdicts, and below the table what was found.
func (p *program) writeConform(out *bufio.Writer, rows []conform.Row, asJSON bool) error {
	header := []string{"RULE", "SEEN", "VERDICT", "THE CLIENT"}
	err := writeTable(p, out, rows, asJSON, "", header, func(r conform.Row) []string {
		seen := show.Plural(r.IDs, "ID") + ", " + show.Plural(r.Grants, "grant")
		return []string{r.Name, seen, string(r.Verdict), r.Rule}
	})
	if err != nil {
		return err
	}
	counts := map[conform.Verdict]int64{}
	for _, r := range rows {
		counts[r.Verdict]++
		if asJSON {
			continue
		}
		for _, text := range r.Found {
			fmt.Fprintf(out, "%s: %s (specification: %s)\n", r.Name, escaped(text, ""), r.Section)
		}
		if r.Missed != "" {
			fmt.Fprintf(out, "%s: this did not happen: %s\n", r.Name, escaped(r.Missed, ""))
		}
	}
	p.message("%d green, %d red, %d not seen", counts[conform.Green], counts[conform.Red], counts[conform.NotSeen])
	switch {
	case counts[conform.Red] > 0:
		return errFindings
	case counts[conform.NotSeen] > 0:
		return errors.New("not all rules were seen: try again on a machine that is less busy")
	}
	return nil
}
