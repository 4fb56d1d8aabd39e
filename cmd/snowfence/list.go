package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/internal/move"
	"github.com/spf13/cobra"
)

// listCommand gives a command that lists something of a store its flags and its work.
func (p *program) listCommand(
	cmd *cobra.Command, list func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error,
) *cobra.Command {
	var f storeFlags
	var asJSON bool
	f.registerStore(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = p.runE(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		st, err := p.lookStore(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		return list(cmd.Context(), st, asJSON, out)
	})
	return cmd
}

// writeTable writes a line of JSON for each of a list, or a table. Of an empty list people read why
// it has none. A nil row is left out.
func writeTable[T any](
	p *program, out *bufio.Writer, list []T, asJSON bool, none string, header []string, row func(T) []string,
) error {
	rows := [][]string{header}
	for _, one := range list {
		if !asJSON {
			if cells := row(one); cells != nil {
				rows = append(rows, cells)
			}
		} else if err := writeJSON(out, one); err != nil {
			return err
		}
	}
	switch {
	case asJSON:
		return nil
	case len(list) == 0:
		p.message("%s", none)
		return nil
	}
	_, err := out.Write(appendTable(nil, rows))
	return err
}

// noneIn says that a store has no namespace or sequence. Of one that was moved away, it does not
// advise to make another, whose IDs could equal those in the other store.
func (p *program) noneIn(ctx context.Context, st *open.Store, kind string) string {
	heads, _ := st.Leases.Heads(ctx) // the list was read: this only says more
	for _, r := range heads {
		if m, err := move.Of(r); err == nil && m.To != "" {
			return fmt.Sprintf("no %s is in %s any more: its data was moved to %s", kind, st.Name, m.To)
		}
	}
	return fmt.Sprintf("no %s is in %s: \"snowfence %[1]s create NAME%[3]s\" makes one", kind, st.Name, p.storeArgs)
}

// writeJSON writes one line of JSON: a message as a server answers.
func writeJSON(out *bufio.Writer, v any) error {
	line, err := view.JSON(v)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return err
}

// appendTable appends rows with their columns aligned.
func appendTable(b []byte, rows [][]string) []byte {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		for i, cell := range r {
			r[i] = escaped(cell, "")
		}
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	_ = w.Flush() // a buffer takes everything
	return append(b, text.Bytes()...)
}
