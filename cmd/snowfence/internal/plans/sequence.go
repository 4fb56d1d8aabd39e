package plans

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/sequences"

	"github.com/snowfence/snowfence/cmd/internal/plan"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

// planSequenceFlags name a sequence: one of a store, or one that is not
// made yet.
type planSequenceFlags struct {
	store         command.StoreFlags
	name, pattern string
	last          int64
	max           *int64 // last, if it is named
}

func (f *planSequenceFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.name, "sequence", "", "see when a sequence ends: its `name`")
	fs.Int64Var(&f.last, "max", 0, "see when a sequence ends: the last `number` of one that is not made yet")
	fs.StringVar(&f.pattern, "pattern", "", "see when a sequence ends: the `text` of a dated one, as in "+
		"RE-{year}-{n:4}")
	f.store.RegisterStore(fs)
}

// rate is a number in a second. Its text may name a minute, hour, day or
// year instead.
type rate struct {
	perSecond float64
	text      string
}

func (r *rate) Set(text string) (err error) {
	if r.perSecond, err = plan.ParseRate(text); err != nil {
		return err
	}
	if !strings.Contains(text, "/") {
		text += "/s"
	}
	r.text = text
	return nil
}

func (r *rate) String() string { return r.text }

func (r *rate) Type() string { return "rate" }

// planSequence says when the numbers of a sequence run out. That a period
// has too few is a finding.
func planSequence(ctx context.Context, e *command.Env, f *planFlags, out *bufio.Writer) error {
	info, whole, err := plannedSequence(ctx, e, &f.sequence)
	if err != nil {
		return err
	}
	count := info.Left
	if info.Period != 0 {
		count = whole
	}
	n, err := plan.OfNumbers(count, info.Definition.PeriodUnit(), f.rate.perSecond, e.Now())
	if err != nil {
		return command.Usage(fmt.Errorf("--rate: %w", err))
	}
	if f.json {
		err = command.WriteJSON(out, struct {
			Sequence string `json:"sequence,omitempty"`
			Pattern  string `json:"pattern,omitempty"`
			plan.Numbers
		}{f.sequence.name, info.Definition.Pattern, n})
	} else {
		_, err = out.Write(runOutRows(e, info, n, f.rate.text).Append(nil))
	}
	if err == nil && !n.Enough {
		return command.ErrFindings
	}
	return err
}

func runOutRows(e *command.Env, info sequence.Info, n plan.Numbers, rate string) show.Rows {
	rows := show.Rows{{"numbers", sequences.Numbers(view.Sequence(info))}}
	if n.Period == "" {
		ends := "after the year 9998"
		if n.RunsOut != nil {
			ends = show.Instant(*n.RunsOut) + " (" + show.Ago(*n.RunsOut, e.Now()) + ")"
		}
		return append(rows, [][2]string{{"left", show.Thousands(n.Count)}, {"rate", rate}, {"run out", ends}}...)
	}
	ends := fmt.Sprintf("never: %.3g%% of the longest %s is used", 100*n.Needed/float64(n.Count), n.Period)
	if !n.Enough {
		ends = fmt.Sprintf("%s after the start of a %s, which needs up to %s: use more digits, or {n:6+}",
			show.Approximately(n.Lasts), n.Period, show.Thousands(int64(min(n.Needed, math.MaxInt64/2))))
	}
	return append(rows, [][2]string{
		{"pattern", info.Definition.Pattern},
		{"rate", rate},
		{"run out", ends},
	}...)
}

// plannedSequence returns the sequence that the flags name, or one as they
// describe it, and how many numbers it has from start to max.
func plannedSequence(ctx context.Context, e *command.Env, f *planSequenceFlags) (
	info sequence.Info, whole int64, err error,
) {
	d := sequence.Definition{Pattern: f.pattern, Max: f.max}
	if f.name != "" {
		if info, err = sequences.Show(ctx, e, &f.store, f.name); err != nil {
			return info, 0, err
		}
		d = info.Definition
	}
	const planned = "planned"
	fresh := store.NewMemory()
	if err := sequence.Create(ctx, fresh, planned, d); err != nil {
		return info, 0, command.Usagef("%s", strings.TrimPrefix(err.Error(), `sequence "`+planned+`": `))
	}
	all, err := sequence.Show(ctx, fresh, planned)
	if f.name == "" {
		info = all
	}
	return info, all.Left, err
}
