package server

import (
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Coding is how the IDs of a namespace are written and read. It does not
// change after it was set.
type Coding struct {
	Name   string // of the namespace
	scheme atomic.Pointer[snowfence.Scheme]
	layout snowfence.Layout // of scheme
	spec   string           // of layout
}

// Scheme returns the scheme of the namespace.
func (sp *Coding) Scheme() *snowfence.Scheme { return sp.scheme.Load() }

// Layout returns the layout of the namespace, and its spec.
func (sp *Coding) Layout() (snowfence.Layout, string) { return sp.layout, sp.spec }

// CheckTag refuses a tag that IDs of the namespace cannot have; nil is
// none.
func (sp *Coding) CheckTag(tag *int64) error {
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
func (sp *Coding) setTag(ids []snowfence.ID, tag *int64) error {
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

// Decode takes an ID apart.
func (sp *Coding) Decode(id snowfence.ID) (snowfence.Parts, error) { return sp.Scheme().Decode(id) }

// Fields returns the parts of an ID but for its time, by the names that the
// layout gives them.
func (sp *Coding) Fields(p snowfence.Parts) (fields []*pb.FieldValue) {
	for _, f := range show.Fields(sp.Scheme(), p) {
		fields = append(fields, &pb.FieldValue{Name: f.Name, Value: f.Value})
	}
	return fields
}

// maxRanges bounds an answer with ranges: as many as scatter values can be.
const maxRanges = 1 << 12

// Ranges returns the half-open ranges of IDs of a span of time: one, or one
// for each value of the fields above the time. several reports whether the
// layout has such fields; within fixes some of them.
func (sp *Coding) Ranges(from, to time.Time, within map[string]int64) (list []*pb.IDRange, several bool, err error) {
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

// RangesRoom is the largest size of an answer of Ranges, in bytes.
func (sp *Coding) RangesRoom() int64 {
	ranges := int64(1)
	for _, f := range sp.layout.Fields {
		if f.Name == snowfence.FieldTime {
			break
		}
		ranges = min(ranges<<min(f.Bits, 12), maxRanges)
	}
	return 160 * ranges
}

// RunsRoom is the largest size of n IDs as runs, in bytes: a run is the
// sequence of a tick or a part of it.
func (sp *Coding) RunsRoom(n int64) int64 {
	l := sp.Scheme().Layout()
	return 160 * (2*n/(l.Last-l.First+1) + 2)
}
