package plans

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

// besideResult is what plan --beside prints as JSON.
type besideResult struct {
	Safe      bool             `json:"safe"`
	A         besideSide       `json:"a"`
	B         besideSide       `json:"b"`
	Until     *time.Time       `json:"until"` // null: no bound
	Collision *besideCollision `json:"collision,omitempty"`
}

type besideSide struct {
	Layout    string `json:"layout"`
	FirstNode int64  `json:"first_node"`
	LastNode  int64  `json:"last_node"`
	FirstSeq  int64  `json:"first_sequence"`
	LastSeq   int64  `json:"last_sequence"`
}

// besideCollision is one ID in both readings, each an object as decode
// prints it.
type besideCollision struct {
	ID snowfence.ID `json:"id"`
	A  show.Decoded `json:"a"`
	B  show.Decoded `json:"b"`
}

// planBeside proves that two layouts that are in use at the same time have
// no ID in common, or shows one.
func planBeside(e *command.Env, f *planFlags, args []string, out *bufio.Writer) error {
	b, views, err := plannedBeside(f, args)
	if err != nil {
		return err
	}
	x, err := snowfence.Meet(b.regions[0], b.regions[1])
	if err != nil {
		return command.Usage(err)
	}
	if f.json {
		err = command.WriteJSON(out, newBesideResult(b, views, x))
	} else {
		_, err = out.Write(appendBeside(nil, b, views, x, e.Now()))
	}
	if err == nil && x != nil {
		err = command.ErrFindings
	}
	return err
}

// neighbors are two layouts that are in use at the same time, in one set of
// IDs. Neither stamps a tick that starts at until or later; zero means that
// both go on to the end of their time bits.
type neighbors struct {
	regions [2]snowfence.Region
	until   time.Time
}

func plannedBeside(f *planFlags, args []string) (b neighbors, views [2]*show.View, err error) {
	if len(args) != 1 {
		return b, views, command.Usagef("--beside takes two layouts: --beside A B")
	}
	for i, spec := range []string{f.beside, args[0]} {
		if views[i], err = show.NewView(spec); err != nil {
			return b, views, command.Usagef("--beside, layout %c: %w", 'A'+rune(i), err)
		}
		if b.regions[i], err = snowfence.RegionOf(views[i].Layout, snowfence.NodeRange{}); err != nil {
			return b, views, command.Usagef("--beside, layout %c: %w", 'A'+rune(i), err)
		}
	}
	if f.nodes != "" {
		ranges, err := parseRanges("nodes", f.nodes)
		if err != nil {
			return b, views, err
		}
		for i, r := range ranges {
			b.regions[i].Nodes = snowfence.NodeRange{From: r[0], Until: r[1] + 1}
		}
	}
	if f.slice != "" {
		ranges, err := parseRanges("slice", f.slice)
		if err != nil {
			return b, views, err
		}
		for i, r := range ranges {
			n := &b.regions[i]
			switch n.First, n.Last = r[0], r[1]; {
			case n.Last == 0 && n.Layout.Last > 0:
				return b, views, command.Usagef("--slice %s: a slice cannot be the number 0 alone: "+
					"take 0-1, or begin above 0", f.slice)
			case n.First < n.Layout.First || n.Last > n.Layout.Last:
				return b, views, command.Usagef("--slice %s: layout %c has the sequence numbers %d to %d", f.slice,
					'A'+rune(i), n.Layout.First, n.Layout.Last)
			}
		}
	}
	if f.until != "" {
		b.until, err = command.ParseTime("until", f.until)
		for i := range b.regions {
			n := &b.regions[i]
			n.Until = min(n.Until, n.Layout.TickOf(b.until.Add(-1))+1)
		}
	}
	return b, views, err
}

// parseRanges reads two ranges of numbers, as in 0-29,30-63.
func parseRanges(flag, text string) (ranges [2][2]int64, err error) {
	list := strings.Split(text, ",")
	if len(list) != 2 {
		return ranges, command.Usagef("--%s %s: give two ranges, of A and of B: --%s 0-29,30-63", flag, text, flag)
	}
	for i, r := range list {
		if ranges[i][0], ranges[i][1], err = command.ParseNumbers(r); err != nil {
			return ranges, command.Usagef("--%s: %w", flag, err)
		}
	}
	return ranges, nil
}

func newBesideResult(b neighbors, views [2]*show.View, x *snowfence.Collision) besideResult {
	r := besideResult{
		Safe: x == nil, A: newBesideSide(views[0], b.regions[0]), B: newBesideSide(views[1], b.regions[1]),
	}
	if !b.until.IsZero() {
		r.Until = &b.until
	}
	if x != nil {
		r.Collision = &besideCollision{x.ID, views[0].Decoded(x.ID, x.From), views[1].Decoded(x.ID, x.To)}
	}
	return r
}

func newBesideSide(v *show.View, n snowfence.Region) besideSide {
	s := besideSide{
		Layout: v.Name, FirstNode: n.Nodes.From, LastNode: n.Nodes.Until - 1, FirstSeq: n.First, LastSeq: n.Last,
	}
	if n.Nodes == (snowfence.NodeRange{}) {
		s.LastNode = v.Scheme.Nodes() - 1
	}
	return s
}

func (s besideSide) String() string {
	return fmt.Sprintf("%s, nodes %d to %d, sequence numbers %d to %d", s.Layout, s.FirstNode, s.LastNode,
		s.FirstSeq, s.LastSeq)
}

func appendBeside(b []byte, beside neighbors, views [2]*show.View, x *snowfence.Collision,
	now time.Time,
) []byte {
	when := "at any time"
	if !beside.until.IsZero() {
		when = "before " + beside.until.Format(time.RFC3339Nano)
	}
	if x != nil {
		b = fmt.Appendf(b, "REFUSED: both layouts can make the ID %d\n\nas an ID of A:\n", int64(x.ID))
		b = views[0].AppendPicture(b, x.ID, x.From, now)
		b = append(b, "\nas an ID of B:\n"...)
		b = views[1].AppendPicture(b, x.ID, x.To, now)
		if beside.until.IsZero() && !x.From.Time.Equal(x.To.Time) {
			b = append(b, "\nTwo times have this number. Where both layouts end sooner, add --until TIME.\n"...)
		}
		return b
	}
	b = fmt.Appendf(b, "%s\n\n", show.Wrap("SAFE: no ID of A equals one of B, each made "+when, 0, 2))
	return show.Rows{
		{"A", newBesideSide(views[0], beside.regions[0]).String()},
		{"B", newBesideSide(views[1], beside.regions[1]).String()},
		{"proof", "all 64 bits, all these times, nodes and sequence numbers of both were compared"},
	}.Append(b)
}
