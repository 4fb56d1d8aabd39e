package simulate

import (
	"context"
	"math/bits"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// run is a number of IDs that follow each other, in a form in which they
// are neighbours whatever the layout.
type run struct {
	first, last int64
	tick        int64
	claim       *claim
}

// reader reads the IDs of a scheme as runs.
type reader struct {
	scheme    *snowfence.Scheme
	step      uint64 // between the raw IDs of neighbouring sequence numbers
	packed    bool   // raw IDs are repacked with the sequence lowest
	encrypted bool
	seqBits   int
	nodeBits  int
	timeBits  int
	rollBits  int
	scatter   int // its width
	timeEnd   int // bits below what stands above the time
	tag       int64
}

func newReader(s *snowfence.Scheme) *reader {
	l := s.Layout()
	r := &reader{
		scheme: s, encrypted: s.Encrypted(), seqBits: l.Bits(snowfence.FieldSequence),
		nodeBits: bits.Len64(uint64(s.Nodes() - 1)),
		timeBits: l.Bits(snowfence.FieldTime), rollBits: l.Bits(snowfence.FieldRollback),
	}
	below, at := 0, 0
	for _, f := range slices.Backward(l.Fields) {
		if f.Name == snowfence.FieldSequence {
			below = at
		}
		if at += f.Bits; f.Name == snowfence.FieldTime {
			r.timeEnd = at
		}
	}
	r.step, r.packed = 1<<below, below > 0 || r.encrypted
	r.scatter, r.tag = l.Bits(snowfence.FieldScatter), int64(1)<<l.Bits(snowfence.FieldTag)*3/4
	return r
}

// positionOf is the position of an ID's parts among all others of its
// layout.
func (r *reader) positionOf(id snowfence.ID, p snowfence.Parts) int64 {
	if !r.packed {
		return int64(id)
	}
	v := (uint64(p.Node)<<r.rollBits|uint64(p.Rollback))<<r.scatter | uint64(p.Scatter)
	return int64(v<<(r.timeBits+r.seqBits) | uint64(p.Tick)<<r.seqBits | uint64(p.Sequence))
}

// orderOf is what increases from call to call. A lease of several nodes
// goes from one to the next.
func (r *reader) orderOf(p snowfence.Parts) uint64 {
	return (uint64(p.Tick)<<r.nodeBits|uint64(p.Node))<<r.seqBits | uint64(p.Sequence)
}

// next is Next, or NextFor where the layout has a tag. It is the same for
// all IDs, so that two that differ in their tags only would be equal.
func (h *holding) next(ctx context.Context, g *snowfence.Generator) (snowfence.ID, error) {
	if h.reader.tag == 0 {
		return g.Next(ctx)
	}
	return g.NextFor(ctx, h.reader.tag)
}

// tagIDs does with IDs what next does.
func (h *holding) tagIDs(ids []snowfence.ID) {
	if h.reader.tag == 0 {
		return
	}
	for i, id := range ids {
		var err error
		if ids[i], err = h.reader.scheme.Tag(id, h.reader.tag); err != nil {
			h.p.s.violate("%s made %d, which takes no tag: %v", h.p.name, id, err)
		}
	}
}

// caller is a maker of IDs: all goroutines on a generator together, or one
// with a handle.
type caller struct {
	highest heights // what has been returned so far, before encryption
}

// heights are the highest IDs, by the bits above the time.
type heights map[uint64]int64

// raise takes in what was returned.
func (h heights) raise(above uint64, id int64) {
	if was, ok := h[above]; !ok || id > was {
		h[above] = id
	}
}

// aboveTime returns the bits above the time, of which each value has an
// order of its own.
func (r *reader) aboveTime(id snowfence.ID) uint64 {
	if r.encrypted {
		return 0
	}
	return uint64(id) >> r.timeEnd
}

// checkIDs checks each ID of one call: the IDs increase, each is inside one
// grant of this lease, and the grant was not lost when the call began. The
// IDs go to the list in which duplicates are looked for at the end.
func (s *sim) checkIDs(h *holding, c *caller, ids []snowfence.ID, began time.Duration, highest heights) {
	r := h.reader
	h.tagIDs(ids)
	if h.p.replay {
		// The other process made them. They need no second look, but the
		// order goes on from here.
		for _, id := range ids {
			p, _ := r.scheme.Decode(id)
			c.highest.raise(r.aboveTime(id), h.rawID(p, id))
		}
		return
	}
	s.figures.IDs += int64(len(ids))
	if r.scatter > 0 || r.tag > 0 {
		s.figures.Reshaped += int64(len(ids))
	}
	fresh := h.lowestFresh(began)
	for i := 0; i < len(ids); {
		first, err := r.scheme.Decode(ids[i])
		if err != nil {
			s.violate("%s made %d, which is no ID: %v", h.p.name, ids[i], err)
			return
		}
		n, most := 1, 1 // as many as there are sequence numbers left: the next one up would change other bits
		if !r.encrypted {
			most = min(len(ids)-i, 1<<r.seqBits-int(first.Sequence))
		}
		for n < most && uint64(ids[i+n]-ids[i+n-1]) == r.step {
			n++
		}
		last := first
		last.Sequence += int64(n - 1)
		if first.Tick < fresh {
			s.violate("%s made an ID of tick %d in a call that began in tick %d", h.p.name, first.Tick, fresh+1)
			return
		}
		s.grantOf(h, r, ids[i], first, last, began)
		if s.bad != nil {
			return
		}
		raw, above := h.rawID(first, ids[i]), r.aboveTime(ids[i])
		if was, ok := highest[above]; r.rollBits == 0 && ok && raw <= was {
			s.violate("%s made ID %d after %d", h.p.name, raw, was)
			return
		}
		highest[above] = h.rawID(last, ids[i+n-1])
		c.highest.raise(above, highest[above])
		i += n
	}
	h.p.slot.madeAt = s.now
	s.hashEvent("made", h.p.name, int64(len(ids)), int64(ids[len(ids)-1]))
}

// lowestFresh returns the lowest tick that an ID of a call that began at
// that time may have: the clock's, with one for rounding. A coarse
// generator may be late, and any takes some time to follow a clock that was
// set.
func (h *holding) lowestFresh(began time.Duration) int64 {
	if c := h.p.clock; !h.p.slot.coarse && c.since+20*time.Millisecond < began && h.reader.rollBits == 0 {
		return h.reader.scheme.Layout().TickOf(start().Add(began+c.offsetAt(began))) - 1
	}
	return -1
}

// rawID is the ID before encryption, as far as order goes.
func (h *holding) rawID(p snowfence.Parts, id snowfence.ID) int64 {
	if !h.reader.encrypted {
		return int64(id)
	}
	return int64(h.reader.orderOf(p))
}

// grantOf finds the grant of a run.
func (s *sim) grantOf(h *holding, r *reader, id snowfence.ID, first, last snowfence.Parts, began time.Duration) {
	for _, cl := range slices.Backward(h.claims) {
		if first.Node < cl.node || first.Node >= cl.node+cl.nodes || first.Tick < cl.from || first.Tick >= cl.end() {
			continue
		}
		if cl.lost && began > cl.lostAt {
			s.violate("%s made an ID of node %d, tick %d, after the store had said that another process wrote to "+
				"the node", h.p.name, first.Node, first.Tick)
			return
		}
		if cl.ended && began > cl.endedAt {
			s.violate("%s made an ID of node %d, tick %d, from a grant that had ended when the call began",
				h.p.name, first.Node, first.Tick)
			return
		}
		if cl.lessor != nil {
			s.figures.Sublet += last.Sequence - first.Sequence + 1
		}
		at := r.positionOf(id, first)
		s.runs = append(s.runs, run{at, at + last.Sequence - first.Sequence, first.Tick, cl})
		return
	}
	s.violate("%s made an ID outside of its grants: node %d, tick %d, sequence %d",
		h.p.name, first.Node, first.Tick, first.Sequence)
}

// findDuplicates looks for an ID that was made twice, among all.
func (s *sim) findDuplicates() {
	slices.SortFunc(s.runs, func(a, b run) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	var top *run // the run that reaches furthest so far
	for i := range s.runs {
		r := &s.runs[i]
		if top != nil && r.first <= top.last {
			if r.claim == top.claim || !s.mayOverlap(r.claim, top.claim, r.tick+1) {
				s.violate("an ID was made twice: by %s and by %s, node %d, tick %d", top.claim.owner.name,
					r.claim.owner.name, r.claim.node, r.tick)
				return
			}
			s.figures.Unseen += min(r.last, top.last) - r.first + 1
		}
		if top == nil || r.last > top.last {
			top = r
		}
	}
	s.runs = nil
}
