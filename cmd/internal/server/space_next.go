package server

import (
	"cmp"
	"context"

	"github.com/snowfence/snowfence"
)

// Next makes an ID.
func (sp *Space) Next(ctx context.Context) (snowfence.ID, error) {
	g, err := sp.generator(ctx)
	if err != nil {
		return 0, err
	}
	id, err := g.TryNext()
	if err != nil {
		sp.Waits.Add(1)
		if id, err = g.Next(ctx); err != nil {
			return 0, sp.endedError(err)
		}
	}
	sp.Made.Add(1)
	return id, nil
}

// generator is Generator for callers, which may lack the right to read
// labels.
func (sp *Space) generator(ctx context.Context) (*snowfence.Generator, error) {
	g, err := sp.Own.Generator(ctx)
	return g, withoutHolders(err)
}

// Fill writes new IDs to dst. On an error the first n are good, and the
// caller decides whether to hand them out: they are used up.
func (sp *Space) Fill(ctx context.Context, dst []snowfence.ID) (n int, err error) {
	if len(dst) == 1 {
		if dst[0], err = sp.Next(ctx); err != nil {
			return 0, err
		}
		return 1, nil
	}
	g, err := sp.generator(ctx)
	if err != nil {
		return 0, err
	}
	n, err = g.Fill(ctx, dst)
	sp.Made.Add(int64(n))
	return n, sp.endedError(err)
}

// Runs makes n IDs as runs, with a tag that was checked.
func (sp *Space) Runs(ctx context.Context, n int64, tag *int64) ([]snowfence.Run, error) {
	if sp.Scheme().Encrypted() {
		return nil, Errorf(Invalid, "namespace %q is encrypted: its IDs have no runs", sp.Name)
	}
	g, err := sp.generator(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := g.Runs(ctx, nil, n)
	for i, r := range runs {
		sp.Made.Add(r.Len())
		ends := []snowfence.ID{r.First, r.Last}
		err = cmp.Or(err, sp.setTag(ends, tag))
		runs[i].First, runs[i].Last = ends[0], ends[1]
	}
	return runs, sp.endedError(err)
}

// endedError replaces the error of a generator that was closed since its
// namespace ended.
func (sp *Space) endedError(err error) error {
	if err != nil && sp.stale.Load() {
		return sp.changedError()
	}
	return err
}
