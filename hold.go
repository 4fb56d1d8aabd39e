package snowfence

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowfence/snowfence/internal/world"
)

// hold is a grant in use: a track for each rollback value, and the facts that
// the fence needs at the end.
type hold struct {
	grant  Grant // as first given; tracks know the current until
	scheme *Scheme
	start  int64  // first tick it may use: what lies before it in the grant may be used up by an earlier hold
	seqs   uint64 // sequence numbers of one node in one tick
	tracks []*track

	gone atomic.Bool // sealed; for readers who need not know since when

	mu   sync.Mutex
	done bool
	used int64 // first tick of which nothing was taken; valid when done
}

// newHold returns the hold of a grant in normal form, for ticks from start on. m is the machine
// before the fence was asked.
func newHold(s *Scheme, m world.Machine, gr Grant, start, now, lead int64) (*hold, error) {
	l := s.layout
	switch {
	case gr.Node < 0 || gr.Node > s.Nodes()-gr.Nodes:
		return nil, fmt.Errorf("snowfence: the fence granted %d nodes from %d; the layout %s has nodes 0 to %d",
			gr.Nodes, gr.Node, l, s.Nodes()-1)
	case gr.FirstSeq < l.First || gr.LastSeq > l.Last || gr.FirstSeq > gr.LastSeq:
		return nil, fmt.Errorf("snowfence: the fence granted sequence numbers %d to %d; usable are %d to %d",
			gr.FirstSeq, gr.LastSeq, l.First, l.Last)
	case gr.From < 0 || gr.Until <= gr.From || gr.Until-1 > s.MaxTick():
		return nil, fmt.Errorf("snowfence: the fence granted ticks %d to %d; the layout has ticks 0 to %d",
			gr.From, gr.Until-1, s.MaxTick())
	}
	if low := s.lowParts(); gr.Node>>low != (gr.Node+gr.Nodes-1)>>low {
		return nil, fmt.Errorf("snowfence: the fence granted %d nodes from %d, "+
			"which differ in bits above and below the sequence: IDs would not increase; align the block",
			gr.Nodes, gr.Node)
	}
	h := &hold{grant: gr, scheme: s, start: max(start, gr.From), seqs: uint64(gr.LastSeq-gr.FirstSeq) + 1}
	span := h.seqs * uint64(gr.Nodes) // at most 2^63, because the time has a bit of the 64
	if span > maxPosition>>8 || uint64(lead)+1 > maxPosition/span {
		return nil, fmt.Errorf("snowfence: %d sequence numbers × %d nodes with a lead of %d ticks "+
			"are more positions than a word holds", h.seqs, gr.Nodes, lead)
	}
	// Positions start late enough to include the present, whatever the span.
	from := min(max(gr.From, now-int64(maxPosition/2/span)), gr.Until-1)
	for r := range int64(1) << s.rollBits {
		t := &track{hold: h, machine: m, from: from, span: span, timeShift: s.timeShift, seqShift: s.seqShift}
		t.base = uint64(s.compose(Parts{Tick: from, Node: gr.Node, Sequence: gr.FirstSeq, Rollback: r}))
		t.setForm(s, gr)
		t.coarse.Store(parked)
		t.word.Store(uint64(max(start, from)-from) * span) // not yet published: no other goroutine sees it
		h.tracks = append(h.tracks, t)
	}
	h.raise(gr.Until, now)
	return h, nil
}

// renewedBy reports whether gr is the same grant but for its end.
func (h *hold) renewedBy(gr Grant) bool {
	gr.Until = h.grant.Until
	return gr == h.grant
}

func (h *hold) overlaps(gr Grant) bool {
	return gr.Node < h.grant.Node+h.grant.Nodes && h.grant.Node < gr.Node+gr.Nodes
}

// raise moves the end of all tracks up to until, and the tick to ask again to two
// thirds of the time gained. It reports whether it gained any; a lower until
// changes nothing. The generator's mutex must be held.
func (h *hold) raise(until, now int64) bool {
	raised := false
	for _, t := range h.tracks {
		n, old := min(uint64(max(until-t.from, 0)), maxPosition/t.span), t.until.Load()
		if n <= old {
			continue
		}
		raised = true
		t.until.Store(n)
		t.end.Store(n * t.span)
		t.soft.Store(n - (n-min(n, max(old, uint64(max(now-t.from, 0)))))/3)
	}
	return raised
}

// until returns the first tick that is not granted.
func (h *hold) until() int64 {
	t := h.tracks[0]
	return t.from + int64(t.until.Load())
}

// seal ends the hold and returns the first tick of which nothing was taken.
func (h *hold) seal() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return h.used
	}
	h.done, h.used = true, h.start
	h.gone.Store(true)
	for _, t := range h.tracks {
		end := t.word.Swap(sealed)
		t.halt()
		if end > 0 {
			// Positions that were taken too late moved the word past its end,
			// unused.
			h.used = max(h.used, min(t.from+int64((end-1)/t.span)+1, h.until()))
		}
	}
	return h.used
}

func (h *hold) sealed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.done
}
