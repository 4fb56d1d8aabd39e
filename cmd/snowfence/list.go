package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
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
func writeTable[T proto.Message](
	p *program, out *bufio.Writer, list []T, asJSON bool, none string, header []string, row func(T) []string,
) error {
	rows := [][]string{header}
	for _, one := range list {
		if !asJSON {
			if cells := row(one); cells != nil {
				rows = append(rows, cells)
			}
		} else if err := writeMessage(out, one); err != nil {
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

// writeMessage writes one line of JSON, as a server answers.
func writeMessage(out *bufio.Writer, m proto.Message) error {
	line, err := view.JSON(m)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return err
}

// appendTable appends rows with their columns aligned.
func appendTable(b []byte, rows [][]string) []byte {
	var widths []int
	for _, r := range rows {
		for i, cell := range r {
			cell = escaped(cell, "")
			r[i] = cell
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, r := range rows {
		for i, cell := range r {
			if i == len(r)-1 {
				b = append(b, cell...)
				continue
			}
			b = fmt.Appendf(b, "%-*s  ", widths[i], cell)
		}
		b = append(b, '\n')
	}
	return b
}
