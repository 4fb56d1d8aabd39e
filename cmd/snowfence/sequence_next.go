package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

// nextFlags are the flags of sequence next.
type nextFlags struct {
	store storeFlags
	count int64
	json  bool
}

func (p *program) sequenceNext() *cobra.Command {
	var f nextFlags
	cmd := &cobra.Command{
		Use: "next NAME", Short: "Take numbers of a sequence",
		Long: `Next takes numbers and prints one a line. It takes exactly as many as you ask for, and never
a range: two runs print 1 and 2.`,
		Example: `  snowfence sequence next orders
  snowfence sequence next orders -n 1000000 > numbers.txt`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.store.registerStore(cmd.Flags())
	cmd.Flags().Int64VarP(&f.count, "count", "n", 1, "how many `numbers`")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a line")
	cmd.RunE = p.runE(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		if f.count < 1 {
			return usagef("-n %d: how many numbers to take, from 1 up", f.count)
		}
		if err := checkSequenceName(cmd.Context(), args[0]); err != nil {
			return err
		}
		st, err := p.openStore(cmd.Context(), &f.store)
		if err != nil {
			return err
		}
		defer st.Close()
		if err := p.takeNumbers(cmd.Context(), st.Leases, args[0], &f, out); err != nil {
			return p.sequenceError(args[0], err)
		}
		return nil
	})
	return cmd
}

// takeNumbers prints numbers, with a bar where one can be seen.
func (p *program) takeNumbers(
	ctx context.Context, st lease.Store, name string, f *nextFlags, out *bufio.Writer,
) (err error) {
	wait := newPatience(ctx, p, name)
	defer wait.stop()
	s, err := sequence.Open(ctx, st, name, &sequence.Options{Exact: true, Logger: slog.New(wait)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	made := tally{total: f.count}
	if f.count > 1_000_000 && isTerminal(p.stderr) && !isTerminal(p.stdout) {
		defer startProgress(p.stderr, made.line).end()
	}
	numbers, text := make([]int64, min(f.count, mostTaken)), []byte(nil)
	for left := f.count; left > 0 && ctx.Err() == nil; left = f.count - made.done.Load() {
		var n int
		err := wait.during(func(ctx context.Context) (err error) {
			n, err = s.Fill(ctx, numbers[:min(left, mostTaken)])
			return err
		})
		text = appendNumbers(text[:0], numbers[:n], f.json)
		if _, err := out.Write(text); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		made.done.Add(int64(n))
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mostTaken is how many numbers one write to the store takes. Ctrl-C waits until they are printed.
const mostTaken = 1 << 16

// appendNumbers appends a line for each number.
func appendNumbers(b []byte, numbers []int64, asJSON bool) []byte {
	for _, n := range numbers {
		if asJSON {
			b = append(b, `{"number":"`...)
		}
		b = snowfence.Decimal.Append(b, snowfence.ID(n))
		if asJSON {
			b = append(b, `"}`...)
		}
		b = append(b, '\n')
	}
	return b
}
