package server

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
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
	g, err := sp.Generator(ctx)
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

// CheckTag refuses a tag that IDs of the namespace cannot have; nil is
// none.
func (sp *Space) CheckTag(tag *int64) error {
	l, _ := sp.Layout()
	switch bits := l.Bits(snowfence.FieldTag); {
	case tag == nil:
		return nil
	case bits == 0:
		return Errorf(Invalid, "IDs of namespace %q have no tag: leave tag out, or take a namespace whose layout has "+
			"one, such as time=41,tag=10,node=6,seq=6", sp.Name)
	case *tag < 0 || *tag>>bits != 0:
		return Errorf(Invalid, "tag %d: IDs of namespace %q have tags from 0 to %d", *tag, sp.Name, uint64(1)<<bits-1)
	}
	return nil
}

// setTag gives new IDs a tag that was checked.
func (sp *Space) setTag(ids []snowfence.ID, tag *int64) error {
	if tag == nil {
		return nil
	}
	s := sp.Scheme()
	plain := !s.Encrypted()
	var bits snowfence.ID // of the tag, where the IDs are plain and have none yet
	for i, id := range ids {
		if plain && i > 0 {
			ids[i] |= bits
			continue
		}
		with, err := s.Tag(id, *tag)
		if err != nil {
			return err
		}
		ids[i], bits = with, with&^id
	}
	return nil
}

// endedError replaces the error of a generator that was closed since its
// namespace ended.
func (sp *Space) endedError(err error) error {
	if err != nil && sp.stale.Load() {
		return sp.changedError()
	}
	return err
}

// maxRanges bounds an answer with ranges: as many as scatter values can be.
const maxRanges = 1 << 12

// Ranges returns the half-open ranges of IDs of a span of time: one, or one
// for each value of the fields above the time. several reports whether the
// layout has such fields; within fixes some of them.
func (sp *Space) Ranges(
	from, to time.Time, within map[string]int64,
) (list []*pb.IDRange, several bool, err error) {
	s := sp.Scheme()
	several = !s.Encrypted() && sp.layout.Fields[0].Name != snowfence.FieldTime
	if !several && len(within) == 0 {
		lo, hi, err := s.Range(from, to)
		if err != nil {
			return nil, false, kindError{Invalid, err}
		}
		return []*pb.IDRange{{Low: int64(lo), High: int64(hi)}}, false, nil
	}
	all, err := s.Ranges(from, to, within)
	if err != nil {
		return nil, several, kindError{Invalid, err}
	}
	for lo, hi := range all {
		if len(list) == maxRanges {
			return nil, several, Errorf(Invalid, "these are more than %d ranges of IDs: give within the number of a "+
				"field above the time, as in tag=7", maxRanges)
		}
		list = append(list, &pb.IDRange{Low: int64(lo), High: int64(hi)})
	}
	return list, several, nil
}

// RangesRoom is what the answer of Ranges takes at most, in bytes.
func (sp *Space) RangesRoom() int64 {
	ranges := int64(1)
	for _, f := range sp.layout.Fields {
		if f.Name == snowfence.FieldTime {
			break
		}
		ranges = min(ranges<<min(f.Bits, 12), maxRanges)
	}
	return 160 * ranges
}

// ReadWithin reads numbers of fields, as in tag=7,node=3.
func ReadWithin(text string) (map[string]int64, error) {
	within := map[string]int64{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if _, twice := within[name]; err != nil || twice {
			return nil, Errorf(Invalid, "within %s: write fields and their numbers, as in tag=7,node=3", Clip(text))
		}
		within[name] = n
	}
	return within, nil
}

// Decode takes an ID apart.
func (sp *Space) Decode(id snowfence.ID) (snowfence.Parts, error) { return sp.Scheme().Decode(id) }

// Stale reports whether the namespace was closed or changed: ask the
// service for it again.
func (sp *Space) Stale() bool { return sp.stale.Load() }

// RunsRoom is what n IDs take as runs, in bytes: a run is the sequence of a
// tick or a part of it.
func (sp *Space) RunsRoom(n int64) int64 {
	l := sp.Scheme().Layout()
	return 160 * (2*n/(l.Last-l.First+1) + 2)
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
