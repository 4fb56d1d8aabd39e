package ids

import (
	"bufio"
	"math"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/spf13/cobra"
)

// timeRange is the answer of range: the lowest and the highest ID of a
// time.
type timeRange struct {
	Lowest  snowfence.ID `json:"lowest"`
	Highest snowfence.ID `json:"highest"`
}

// mostRanges is how many ranges are listed: as many as scatter values can
// be.
const mostRanges = 1 << 12

func rangeCommand(e *command.Env) *cobra.Command {
	var layout string
	var within map[string]int64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "range FROM TO",
		Short: "Tell the lowest and highest ID of a time",
		Long: `Range tells the lowest and the highest ID that a layout has from the time FROM on and before TO,
for WHERE id BETWEEN lowest AND highest. It needs no store. A query by time then uses the primary
key. Where other fields stand above the time, it tells a range for each of their values, one a line.

Times outside the life of the layout are cut to that life. Encrypted IDs and masked texts are in no
order: for a mask, take the plain IDs in the table. The time in an ID is that of the clock of its
generator, and a row appears later than its ID was made: let a query for new rows end a minute ago.`,
		Example: `  snowfence range 2026-11-21 2026-11-22
  snowfence range --layout bwmarrin 2026-11-21T09:00:00Z "2026-11-21 11:00:00+01"
  snowfence range --layout tag=10,time=41,node=6,seq=6 --within tag=7 2026-11-21 2026-11-22`,
		Args: cobra.ExactArgs(2),
		RunE: e.Run(func(_ *cobra.Command, times []string, out *bufio.Writer) error {
			list, err := rangesOf(layout, within, times[0], times[1])
			if err != nil {
				return err
			}
			if asJSON {
				for _, r := range list {
					if err := command.WriteJSON(out, r); err != nil {
						return err
					}
				}
				return nil
			}
			rows := show.Rows{{"lowest", list[0].Lowest.String()}, {"highest", list[0].Highest.String()}}
			if len(list) > 1 {
				rows = show.Rows{{"lowest", "highest"}}
				for _, r := range list {
					rows.Add(r.Lowest.String(), "%d", int64(r.Highest))
				}
			}
			_, err = out.Write(rows.Append(nil))
			return err
		}),
	}
	cmd.Flags().StringVar(&layout, "layout", "", "`name` or spec of the layout (snowfence plan --help lists "+
		"them; default: the default layout)")
	cmd.Flags().StringToInt64Var(&within, "within", nil, "only the ranges with these `values` of fields above the "+
		"time, as in tag=7")
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object for each range, with the IDs as strings")
	command.CompleteLayouts(cmd, "layout")
	return cmd
}

// rangesOf returns the IDs that a layout has from a time on and before
// another one.
func rangesOf(layout string, within map[string]int64, from, to string) (list []timeRange, err error) {
	l, err := command.ParseLayout(layout)
	if err != nil {
		return nil, err
	}
	a, err := show.ParseTime(from)
	if err != nil {
		return nil, command.Usagef("FROM: %w", err)
	}
	b, err := show.ParseTime(to)
	if err != nil {
		return nil, command.Usagef("TO: %w", err)
	}
	if l.Cipher != snowfence.Plain {
		return nil, command.Usagef("--layout %s: encrypted IDs are in no order, so no range of them is a span of "+
			"time: ask for rows by a column with their time", layout)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		return nil, err
	}
	ranges, err := s.Ranges(a, b, within)
	if err != nil {
		return nil, command.Usage(err)
	}
	for low, end := range ranges {
		if len(list) == mostRanges {
			return nil, command.Usagef("these are more than %d ranges: give --within FIELD=VALUE for a field above "+
				"the time", mostRanges)
		}
		if end != math.MaxInt64 { // the end of all IDs: 2^63 is none
			end--
		}
		list = append(list, timeRange{low, end})
	}
	if len(list) == 0 {
		return nil, command.Usagef("no ID has a time from %s on and before %s: the times of this layout are %v apart, "+
			"from %s until %s", from, to, l.Tick, show.Instant(l.TimeOf(0)), show.Instant(l.EndOfLife()))
	}
	return list, nil
}
