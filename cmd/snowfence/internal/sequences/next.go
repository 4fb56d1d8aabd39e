package sequences

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

type nextFlags struct {
	store  command.StoreFlags
	count  int64
	period int64
	any    bool
	json   bool
}

func sequenceNext(e *command.Env) *cobra.Command {
	var f nextFlags
	cmd := &cobra.Command{
		Use: "next NAME", Short: "Take numbers of a sequence",
		Long: `Next takes numbers and prints one a line. It takes exactly as many as you ask for, and never
a range: two runs print 1 and 2.

A dated sequence prints the whole text, as in RE-2026-000001. It is of the present period: the
date that the zone of the sequence has now. --period takes from another one, at most one ahead.
Each period has a record that stays, so one that is more than a year away and has no number yet
needs --any-period.`,
		Example: `  snowfence sequence next orders
  snowfence sequence next invoices --period 2025
  snowfence sequence next orders -n 1000000 > numbers.txt`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.store.RegisterStore(cmd.Flags())
	cmd.Flags().Int64VarP(&f.count, "count", "n", 1, "how many `numbers`")
	cmd.Flags().Int64Var(&f.period, "period", 0, "of a dated sequence: the `period`, as in 2026, 202611 or 20261122 "+
		"(default: the present one)")
	cmd.Flags().BoolVar(&f.any, "any-period", false, "begin a period more than a year away, too")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a line")
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		if f.count < 1 {
			return command.Usagef("-n %d: give how many numbers to take, from 1 up", f.count)
		}
		st, err := openFor(cmd.Context(), e, args[0], f.store.Open)
		if err != nil {
			return err
		}
		defer st.Close()
		if err := takeNumbers(cmd.Context(), e, st.Leases, args[0], &f, out); err != nil {
			return sequenceError(e, args[0], err)
		}
		return nil
	})
	return cmd
}

// takeNumbers prints numbers, with a bar where one can be seen.
func takeNumbers(ctx context.Context, e *command.Env, st store.Store, name string, f *nextFlags, out *bufio.Writer,
) (err error) {
	wait := newNumberWait(ctx, e, name)
	defer wait.stop()
	take, end, err := openNumbers(ctx, st, name, f, &sequence.Options{
		Exact: true, AnyPeriod: f.any, Logger: slog.New(wait),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	var text []byte
	for left := f.count; left > 0 && ctx.Err() == nil; {
		var n int64
		err := wait.during(func(ctx context.Context) (err error) {
			text, n, err = take(ctx, text[:0], min(left, mostTaken))
			return err
		})
		if _, err := out.Write(text); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		left -= n
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mostTaken is how many numbers one write to the store takes. Ctrl-C waits
// until they are printed.
const mostTaken = 1 << 16

// takeLines takes up to most numbers, appends a line for each, and returns
// how many. It can have taken some when it fails.
type takeLines func(ctx context.Context, b []byte, most int64) ([]byte, int64, error)

// openNumbers opens a sequence, plain or dated. end closes it.
func openNumbers(
	ctx context.Context, st store.Store, name string, f *nextFlags, o *sequence.Options,
) (take takeLines, end func() error, err error) {
	plain, err := sequence.Open(ctx, st, name, o)
	if errors.Is(err, sequence.ErrDated) {
		dated, err := sequence.OpenDated(ctx, st, name, o)
		if err != nil {
			return nil, nil, err
		}
		return takeDated(dated, f), dated.Close, nil
	}
	if err == nil && f.period != 0 {
		err = command.Usagef("--period %d: sequence %q has no periods: leave --period out", f.period, name)
		return nil, nil, errors.Join(err, plain.Close())
	}
	if err != nil {
		return nil, nil, err
	}
	return takePlain(plain, f), plain.Close, nil
}

func takePlain(s *sequence.Sequence, f *nextFlags) takeLines {
	numbers := make([]int64, min(f.count, mostTaken))
	return func(ctx context.Context, b []byte, most int64) ([]byte, int64, error) {
		n, err := s.Fill(ctx, numbers[:most])
		left := s.Status().Left
		for _, number := range numbers[:n] {
			b = appendNumberLine(b, f, strconv.FormatInt(number, 10), number, 0, s.Definition(), left)
		}
		return b, int64(n), err
	}
}

// appendNumberLine appends a number as a text, or as the answer that a
// server gives for it.
func appendNumberLine(b []byte, f *nextFlags, text string, n, period int64, d sequence.Definition, left int64) []byte {
	if !f.json {
		return append(append(b, text...), '\n')
	}
	line, _ := view.JSON(&pb.SequenceNextResponse{ // texts and numbers always have one
		First: n, Last: n, Step: d.Step, Left: left, Period: period, Numbers: []string{text},
	})
	return append(append(b, line...), '\n')
}

func takeDated(s *sequence.Dated, f *nextFlags) takeLines {
	return func(ctx context.Context, b []byte, most int64) ([]byte, int64, error) {
		got, err := s.Reserve(ctx, f.period, most)
		if err != nil {
			return b, 0, err
		}
		left := s.Status().Left
		for i := range most {
			one := got.At(i)
			b = appendNumberLine(b, f, one.Text, one.N, one.Period, s.Definition(), left)
		}
		return b, most, nil
	}
}
