package sequences

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

// changeFlags are the parts of a definition that can change.
type changeFlags struct {
	max, minRange, maxRange int64
	afterFailover           string
}

func (f *changeFlags) register(cmd *cobra.Command, otherwise func(string) string) {
	fs := cmd.Flags()
	fs.Int64Var(&f.max, "max", 0, "the last `number` that may be given out"+otherwise("2^53-1"))
	fs.Int64Var(&f.minRange, "min-range", 0, "how many `numbers` a program takes at once, at least"+
		otherwise("1000"))
	fs.Int64Var(&f.maxRange, "max-range", 0, "how many `numbers` a program takes at once, at most"+
		otherwise("1000000"))
	fs.StringVar(&f.afterFailover, "after-failover", "", "what to do when the store may have lost numbers: stop "+
		"until you confirm, trust the store, or skip `N` numbers"+otherwise("stop"))
	command.CompleteWords(cmd, "after-failover", "stop", "trust")
}

// changes returns the changes of the flags.
func (f *changeFlags) changes(cmd *cobra.Command) (c sequence.Changes, err error) {
	given := cmd.Flags().Changed
	switch {
	case given("min-range") && f.minRange < 1:
		return c, command.Usagef("--min-range %d: use a number from 1 up", f.minRange)
	case given("max-range") && f.maxRange < 1:
		return c, command.Usagef("--max-range %d: use a number from 1 up", f.maxRange)
	}
	c.MinRange, c.MaxRange = f.minRange, f.maxRange
	if given("max") {
		c.Max = &f.max
	}
	if given("after-failover") {
		n, err := view.ParseAfterFailover(f.afterFailover)
		if err != nil {
			return c, command.Usagef("--after-failover: %w", err)
		}
		c.AfterFailover = &n
	}
	return c, nil
}

// typed returns the flags as they are typed.
func (f *changeFlags) typed(cmd *cobra.Command) (text string) {
	for _, name := range changeable {
		if cmd.Flags().Changed(name) {
			text += fmt.Sprintf(" --%s %s", name, cmd.Flags().Lookup(name).Value)
		}
	}
	return text
}

var changeable = []string{"max", "min-range", "max-range", "after-failover"}

func sequenceCreate(e *command.Env) *cobra.Command {
	var mode, pattern, zone string
	var start, step int64
	var f changeFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a sequence",
		Long: `Create makes a sequence. If it exists with the same definition, nothing changes, so you can
repeat it. A deleted sequence comes back with the same definition, and goes on where it was.

The modes (a dated sequence is dense by default, others are fast):
  fast    unique; numbers rise within a program; a stop or a crash leaves a gap
  dense   as fast; a program gives back what it holds when it stops, so gaps are rare
  strict  a call that begins after another ended gets a higher number, over all programs;
          each call waits for a write to the store

With --pattern the sequence is dated: its numbers begin again each year, month or day, and have
texts. A pattern has {year} or {yy}, {month} and {day} as far as needed, exactly one {n}, and
text between them. {n:6} has six digits, and ends with 999999; {n:6+} then gets longer. There are
also {quarter}, {week} (with the year of ISO 8601), {fy:4} and {fyend:4} for a year that begins in
April, {fyy:4} and {fyyend:4} with two digits, and {luhn} for a check digit at the end.
{month:shown}, {day:shown} and {quarter:shown} show the day of the number and begin no period.

Mode, start, step, pattern and zone never change. "snowfence sequence change" changes the rest.`,
		Example: `  snowfence sequence create orders
  snowfence sequence create tickets --mode strict --start 1000 --max 999999
  snowfence sequence create invoices --mode strict --pattern 'RE-{year}-{n:6}' --zone Europe/Berlin`,
	}
	fs := cmd.Flags()
	fs.StringVar(&mode, "mode", "", "`mode`: fast, dense or strict (default: fast; dense with --pattern)")
	fs.Int64Var(&start, "start", 1, "the first `number`")
	fs.Int64Var(&step, "step", 1, "from each `number` to the next; below 0 they count down")
	fs.StringVar(&pattern, "pattern", "", "make it dated: the `text` of a number, as in RE-{year}-{n:6}")
	fs.StringVar(&zone, "zone", "", "with --pattern: the time `zone` whose date counts, as in Europe/Berlin "+
		"(default: UTC)")
	command.CompleteWords(cmd, "mode", string(sequence.Fast), string(sequence.Dense), string(sequence.Strict))
	f.register(cmd, func(usual string) string { return " (default: " + usual + ")" })
	return onSequence(e, cmd, func(name string) (sequenceWork, error) {
		if step == 0 {
			return nil, command.Usagef("--step 0: use a number other than 0")
		}
		c, err := f.changes(cmd)
		if err != nil {
			return nil, err
		}
		d := sequence.Definition{
			Mode: sequence.Mode(mode), Start: &start, Step: step, Max: c.Max,
			Pattern: pattern, Zone: zone, MinRange: c.MinRange, MaxRange: c.MaxRange,
		}
		if c.AfterFailover != nil {
			d.AfterFailover = *c.AfterFailover
		}
		// A definition that is invalid is refused before a store is made
		// for it.
		if err := sequence.Create(cmd.Context(), store.NewMemory(), name, d); err != nil {
			return nil, command.Usage(err)
		}
		return func(ctx context.Context, st store.Store) error {
			err := sequence.Create(ctx, st, name, d)
			if err == nil && c.AfterFailover != nil {
				err = wantFailover(ctx, st, name, d.AfterFailover)
			}
			if !errors.Is(err, lease.ErrExists) {
				return err
			}
			commands := []string{"show " + name}
			if typed := f.typed(cmd); typed != "" {
				commands = append(commands, "change "+name+typed)
			}
			return advise(e, command.Usage(err), commands...)
		}, nil
	})
}

// wantFailover refuses another action after a failover than the one named.
// Create cannot: to it, stop is what is not named.
func wantFailover(ctx context.Context, st store.Store, name string, want int64) error {
	info, err := sequence.Show(ctx, st, name)
	if have := info.Definition.AfterFailover; err == nil && have != want {
		return fmt.Errorf("sequence %q has --after-failover %s, not %s (%w)", name, view.AfterFailover(have),
			view.AfterFailover(want), lease.ErrExists)
	}
	return err
}
