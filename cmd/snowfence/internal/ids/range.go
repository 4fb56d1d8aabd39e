package ids

import (
	"bufio"
	"math"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/spf13/cobra"
)

// timeRange is what range prints: IDs of a time, both included.
type timeRange struct {
	Lowest  snowfence.ID `json:"lowest"`
	Highest snowfence.ID `json:"highest"`
}

func rangeCommand(e *command.Env) *cobra.Command {
	var layout string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "range FROM TO",
		Short: "Tell the lowest and highest ID of a time",
		Long: `Range tells the lowest and the highest ID that a layout has from the time FROM on and before TO,
for WHERE id BETWEEN lowest AND highest. It needs no store. A query by time then uses the primary
key.

Times outside the life of the layout are cut to that life. Encrypted IDs and masked texts are in no
order: for a mask, take the plain IDs in the table. The time in an ID is that of the clock of its
generator, and a row appears later than its ID was made: let a query for new rows end a minute ago.`,
		Example: `  snowfence range 2026-11-21 2026-11-22
  snowfence range --layout bwmarrin 2026-11-21T09:00:00Z "2026-11-21 11:00:00+01"`,
		Args: cobra.ExactArgs(2),
		RunE: e.Run(func(_ *cobra.Command, times []string, out *bufio.Writer) error {
			r, err := rangeOf(layout, times[0], times[1])
			if err != nil {
				return err
			}
			if asJSON {
				return command.WriteJSON(out, r)
			}
			_, err = out.Write(show.Rows{{"lowest", r.Lowest.String()}, {"highest", r.Highest.String()}}.Append(nil))
			return err
		}),
	}
	cmd.Flags().StringVar(&layout, "layout", "", "`name` or spec of the layout (snowfence plan --help lists "+
		"them; default: the default layout)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object, with the IDs as strings")
	command.CompleteLayouts(cmd, "layout")
	return cmd
}

// rangeOf returns the IDs that a layout has from a time on and before another
// one.
func rangeOf(layout, from, to string) (r timeRange, err error) {
	l, err := command.ParseLayout(layout)
	if err != nil {
		return r, err
	}
	a, err := show.ParseTime(from)
	if err != nil {
		return r, command.Usagef("FROM: %w", err)
	}
	b, err := show.ParseTime(to)
	if err != nil {
		return r, command.Usagef("TO: %w", err)
	}
	if l.Cipher != snowfence.Plain {
		return r, command.Usagef("--layout %s: encrypted IDs are in no order, so that no range of them is a span "+
			"of time: "+
			"ask for rows by a column with their time", layout)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		return r, err
	}
	low, end, err := s.Range(a, b)
	switch {
	case err != nil:
		return r, command.Usage(err)
	case low == end:
		return r, command.Usagef("no ID has a time from %s on and before %s: the times of this layout are %v apart, "+
			"from %s until %s", from, to, l.Tick, show.Instant(l.TimeOf(0)), show.Instant(l.EndOfLife()))
	case end == math.MaxInt64: // the end of all IDs: 2^63 is none
		return timeRange{low, end}, nil
	}
	return timeRange{low, end - 1}, nil
}
