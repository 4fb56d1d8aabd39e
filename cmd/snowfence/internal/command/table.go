package command

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

// ListCommand gives a command that lists something of a store its flags and
// its work.
func ListCommand(
	e *Env, cmd *cobra.Command, list func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error,
) *cobra.Command {
	var f StoreFlags
	var asJSON bool
	f.RegisterStore(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = e.Run(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		st, err := f.Look(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		return list(cmd.Context(), st, asJSON, out)
	})
	return cmd
}

// WriteTable writes a line of JSON for each of a list, or a table. Of an
// empty list people read why it has none. A nil row is left out.
func WriteTable[T any](
	e *Env, out *bufio.Writer, list []T, asJSON bool, none string, header []string, row func(T) []string,
) error {
	rows := [][]string{header}
	for _, one := range list {
		if !asJSON {
			if cells := row(one); cells != nil {
				rows = append(rows, cells)
			}
		} else if err := WriteJSON(out, one); err != nil {
			return err
		}
	}
	switch {
	case asJSON:
		return nil
	case len(list) == 0:
		e.Message("%s", none)
		return nil
	}
	_, err := out.Write(AppendTable(nil, rows))
	return err
}

// NoneIn says that a store has no namespace or sequence. If the store was
// moved, it names the new store and does not advise to create anything: IDs
// of both stores could be equal.
func NoneIn(ctx context.Context, e *Env, st *open.Store, kind string) string {
	heads, _, _ := st.Leases.Heads(ctx) // the list was read: this only says more
	for _, r := range heads {
		if m, err := move.Of(r); err == nil && m.To != "" {
			return fmt.Sprintf("no %s is in %s any more: its data was moved to %s", kind, st.Name, m.To)
		}
	}
	return fmt.Sprintf("no %s is in %s: \"snowfence %[1]s create NAME%[3]s\" makes one", kind, st.Name, e.StoreArgs)
}

// WriteJSON writes one line of JSON: a message as a server answers.
func WriteJSON(out *bufio.Writer, v any) error {
	line, err := view.JSON(v)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return err
}

// AppendTable appends rows with their columns aligned.
func AppendTable(b []byte, rows [][]string) []byte {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		for i, cell := range r {
			r[i] = Escaped(cell, "")
		}
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	_ = w.Flush() // a buffer takes everything
	return append(b, text.Bytes()...)
}
