package server

import (
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// generator is Generator for callers, which may lack the right to read
// labels.
func (sp *Space) generator(ctx context.Context) (*snowfence.Generator, error) {
	g, err := sp.Generator(ctx)
	return g, withoutHolders(err)
}

// Next returns a new ID.
func (sp *Space) Next(ctx context.Context) (snowfence.ID, error) {
	g, err := sp.generator(ctx)
	if err != nil {
		return 0, err
	}
	id, err := g.TryNext()
	if err == nil {
		return id, nil
	}
	sp.Waits.Add(1)
	if id, err = g.Next(ctx); err != nil {
		return 0, sp.endedError(err)
	}
	return id, nil
}

// Fill writes new IDs to dst. On an error the first n are good, and the
// caller decides whether to hand them out: they are used up.
func (sp *Space) Fill(ctx context.Context, dst []snowfence.ID) (n int, err error) {
	g, err := sp.generator(ctx)
	if err != nil {
		return 0, err
	}
	n, err = g.Fill(ctx, dst)
	return n, sp.endedError(err)
}

// Runs returns n new IDs as runs. On an error the runs are good all the
// same.
func (sp *Space) Runs(ctx context.Context, n int64) ([]snowfence.Run, error) {
	if sp.Scheme().Encrypted() {
		return nil, Errorf(Invalid, "namespace %q is encrypted: its IDs have no runs", sp.Name)
	}
	g, err := sp.generator(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := g.Runs(ctx, nil, n)
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

// CheckCount refuses counts that no answer can have.
func CheckCount(n int64) error {
	if n < 1 || n > MaxBatch {
		return Errorf(Invalid, "%d IDs: ask for 1 to %d at a time", n, MaxBatch)
	}
	return nil
}

// Range returns the half-open range of IDs of a span of time.
func (sp *Space) Range(from, to time.Time) (lo, hi snowfence.ID, err error) {
	if l := sp.Scheme().Layout(); l.Cipher == snowfence.Plain && l.Fields[0].Name != snowfence.FieldTime {
		return 0, 0, Errorf(Invalid, "%s stands above the time, so a span of time has several ranges of IDs: "+
			"snowfence range --layout %s lists them", l.Fields[0].Name, l)
	}
	lo, hi, err = sp.Scheme().Range(from, to)
	if err != nil {
		err = kindError{Invalid, err}
	}
	return lo, hi, err
}

// Decode takes an ID apart.
func (sp *Space) Decode(id snowfence.ID) (snowfence.Parts, error) { return sp.Scheme().Decode(id) }

// Stale reports whether the namespace was closed or changed: ask the
// service for it again.
func (sp *Space) Stale() bool { return sp.stale.Load() }

// Batch makes n IDs and calls use with all of them, once. The slice is not
// to be kept. Where use sends many, [Service.Reserve] comes first.
func (sp *Space) Batch(ctx context.Context, n int, use func([]snowfence.ID)) error {
	if err := CheckCount(int64(n)); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil { // a client that asks and leaves, again and again, costs nothing here
		return err
	}
	ids, done := sp.service.idBuffer(n)
	defer done()
	if got, err := sp.Fill(ctx, ids); err != nil {
		return fmt.Errorf("after %d of %d IDs: %w", got, n, err)
	}
	use(ids)
	return nil
}

// smallBatch is up to how many IDs have no buffer that is used again.
const smallBatch = 1000

// RunsRoom is what n IDs take as runs, in bytes: a run is the sequence of a
// tick or a part of it.
func (sp *Space) RunsRoom(n int64) int64 {
	l := sp.Scheme().Layout()
	return 160 * (2*n/(l.Last-l.First+1) + 2)
}

// idBuffer returns a slice for n IDs. Large ones are used again: a client
// that asks for millions and leaves would otherwise fill the memory faster
// than it is collected.
func (s *Service) idBuffer(n int) (ids []snowfence.ID, done func()) {
	if n <= smallBatch {
		return make([]snowfence.ID, n), func() {}
	}
	p, _ := s.buffers.Get().(*[]snowfence.ID)
	if p == nil || cap(*p) < n {
		ids := make([]snowfence.ID, 1<<bits.Len(uint(n-1)))
		p = &ids
	}
	return (*p)[:n], func() { s.buffers.Put(p) }
}

// Fields returns the parts of an ID but for its time, by the names that the
// layout gives them.
func (sp *Space) Fields(p snowfence.Parts) (fields []*pb.FieldValue) {
	for _, f := range show.Fields(sp.Scheme(), p) {
		fields = append(fields, &pb.FieldValue{Name: f.Name, Value: f.Value})
	}
	return fields
}

// ParseTime reads a time of a request: as [show.ReadTime], or as
// milliseconds since 1970.
func ParseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(ms).UTC(), nil
	}
	t, err := show.ReadTime(s)
	if i := strings.LastIndexByte(s, ' '); err != nil && i > len(time.DateOnly) {
		t, err = show.ReadTime(s[:i] + "+" + s[i+1:]) // a + in a query is a space
	}
	if err != nil {
		return t, Errorf(Invalid, "time %q: write it as 2026-01-02T15:04:05Z, or as milliseconds since 1970", Clip(s))
	}
	return t, nil
}

// Lead returns how far the next ID is ahead of the clock, and false when no
// ID can be made.
func (sp *Space) Lead(now time.Time) (time.Duration, bool) {
	g := sp.gen.Load()
	if h, ok := sp.Health(now); g == nil || !ok || h.Left == 0 {
		return 0, false
	}
	return g.Ahead(), true
}
