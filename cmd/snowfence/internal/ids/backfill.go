package ids

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
)

// backfillBatch is the number of lines that are read together. IDs of one
// hour cost one write.
const backfillBatch = 10_000

// newBackfill prints IDs for a time gone by, or for each time of standard
// input.
func newBackfill(ctx context.Context, e *command.Env, f *newFlags, format *formatter) (err error) {
	next, err := timesOf(e, f)
	if err != nil {
		return err
	}
	st, ns, err := f.store.OpenNamespace(ctx, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s := f.scheme
	if s == nil {
		if s, err = command.SchemeOf(ns.Layout, f.keys); err != nil {
			return err
		}
	}
	if f.format == "" && s.Layout().Cipher != snowfence.Plain && !f.json {
		format.encodings[0] = snowfence.Base32Hex
	}
	setTag, err := f.tagger(s)
	if err != nil {
		return err
	}
	node := ns.Nodes.From // it has no holder, but other stores may use other nodes
	if f.node.node != "" {
		if node, _, err = command.ParseNode(ctx, s, f.node.node); err != nil {
			return err
		}
	}
	b, err := backfill.Open(ctx, st.Leases, f.store.Namespace, s, node)
	if err != nil {
		return explainBackfill(f, err)
	}
	var text []byte
	for {
		times, err := next()
		if err != nil || len(times) == 0 {
			return err
		}
		ids, err := b.NewAt(ctx, times...)
		if err != nil {
			return explainBackfill(f, err)
		}
		if err := setTag(ids); err != nil {
			return err
		}
		text = format.append(text[:0], ids)
		if _, err := e.Stdout.Write(text); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
}

// timesOf returns a function that reads the next times; none means the end.
func timesOf(e *command.Env, f *newFlags) (func() ([]time.Time, error), error) {
	if f.at != "-" {
		at, err := command.ParseTime("at", f.at)
		left := f.count
		return func() ([]time.Time, error) {
			n := min(left, backfillBatch)
			left -= n
			return slices.Repeat([]time.Time{at}, int(n)), nil
		}, err
	}
	lines, number := bufio.NewScanner(e.Stdin), 0
	return func() (times []time.Time, err error) {
		for len(times) < backfillBatch && lines.Scan() {
			number++
			at, err := command.ParseTime(fmt.Sprintf("at -: line %d of standard input", number), lines.Text())
			if err != nil {
				return nil, err
			}
			times = append(times, at)
		}
		if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return times, nil
	}, nil
}

// explainBackfill gives an error the commands that help.
func explainBackfill(f *newFlags, err error) error {
	switch {
	case errors.Is(err, backfill.ErrRolledBack):
		return fmt.Errorf("%w:\n  %s", err, f.store.Command("snowfence namespace change %s --backfill-nodes RANGE",
			f.store.Namespace))
	case (errors.Is(err, lease.ErrRefused) || errors.Is(err, lease.ErrInvalid)) && !errors.Is(err, backfill.ErrFull):
		return command.Usage(err)
	}
	return err
}
