package snowfence

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
)

// Positions of a track count the usable sequence numbers from the first tick of its
// grant: position = (tick − from) × span + slot.
const (
	// sealed is what a word is swapped for at its end. No bound reaches it, and it takes
	// 2^63 adds to wrap it.
	sealed = uint64(1) << 63

	// maxPosition bounds what a track can hand out. It leaves room for what is added to
	// positions before they are compared.
	maxPosition = uint64(1) << 61
)

// track is one grant, or one rollback value of one grant, with the word that holds its
// next free position. Everything that gives a position its meaning stands beside the word
// and never changes, so a position taken here can only become an ID of this grant.
type track struct {
	hold *hold // nil for the terminal track of a closed generator

	from int64  // tick of position 0
	base uint64 // the ID of position 0
	span uint64 // positions in a tick

	timeShift uint8
	seqShift  uint8
	form      form

	// Where form is shifts: the ID of a position is base + (its tick bits) × tickMul +
	// (its slot bits) × slotMul. A product costs less than a shift by a variable.
	slots   uint64 // span − 1
	tickMul uint64
	slotMul uint64

	// What is granted. Only raised.
	until atomic.Uint64 // ticks after from
	end   atomic.Uint64 // until × span

	// Below until: where somebody should ask for the next grant ahead of time.
	soft atomic.Uint64 // ticks after from

	// What the fast path goes by, set by those who read the clock (publish). It is about
	// time, never about safety: limit is at most end when it is set, whoever takes a
	// position has read it before, and the word of a sealed track is above every limit.
	limit atomic.Uint64 // positions below it may be taken; 0 for none
	// of an exact generator: while the clock has elapsed less, the tick of the limit is
	// the current one
	sure   atomic.Int64
	coarse atomic.Int64  // of a coarse one: the current tick after from as of the last look; parked when nobody looks
	pubPos atomic.Uint64 // of a coarse one: the word at the last look
	pubNs  atomic.Int64  // and its time

	_    [64]byte // the word is written by every call, the rest is read: keep them on different cache lines
	word atomic.Uint64
	_    [64]byte
}

// form is how a position becomes an ID.
type form uint8

const (
	shifts form = iota // span is a power of two, and slots count on in the ID's bits
	linear             // slots count on in the ID's bits
	block              // several nodes, whose numbers do not follow each other in the ID's bits
)

// hold is a grant in a generator's hands: a track for each rollback value, and what the
// fence needs to know at the end.
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

func newHold(s *Scheme, gr Grant, start, now, lead int64) (*hold, error) {
	l := s.layout
	if gr.FirstSeq == 0 && gr.LastSeq == 0 {
		gr.FirstSeq, gr.LastSeq = l.First, l.Last
	}
	gr.Nodes = max(gr.Nodes, 1)
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
	// Positions start late enough for the present to be among them, whatever the span.
	from := min(max(gr.From, now-int64(maxPosition/2/span)), gr.Until-1)
	for r := range int64(1) << s.rollBits {
		t := &track{hold: h, from: from, span: span, timeShift: s.timeShift, seqShift: s.seqShift}
		t.base = uint64(s.compose(Parts{Tick: from, Node: gr.Node, Sequence: gr.FirstSeq, Rollback: r}))
		t.setForm(s, gr)
		t.coarse.Store(parked)
		t.word.Store(uint64(max(start, from)-from) * span) // not yet published: nobody else sees it
		h.tracks = append(h.tracks, t)
	}
	h.raise(gr.Until, now)
	return h, nil
}

func (t *track) setForm(s *Scheme, gr Grant) {
	t.form = linear
	if gr.Nodes > 1 {
		// The numbers of a block follow each other where the whole sequence stands right
		// below the node.
		whole := t.hold.seqs == 1<<s.seqBits
		if n := len(s.parts) - 1; !whole || s.parts[n].shift != s.seqShift+s.seqBits || !s.nodeContiguous() {
			t.form = block
			return
		}
	}
	if t.span&(t.span-1) == 0 {
		t.form, t.slots, t.slotMul = shifts, t.span-1, 1<<t.seqShift
		t.tickMul = 1 << (t.timeShift - uint8(bits.Len64(t.slots)))
	}
}

// nodeContiguous reports whether the node parts stand side by side, so that the node is a
// number inside the ID.
func (s *Scheme) nodeContiguous() bool {
	for i := 1; i < len(s.parts); i++ {
		if s.parts[i-1].shift != s.parts[i].shift+uint8(s.parts[i].Bits) {
			return false
		}
	}
	return true
}

// lowParts returns the width of the node parts below the sequence where there are others
// above it, and otherwise that of the whole node.
func (s *Scheme) lowParts() (bits int) {
	for _, f := range s.parts {
		if f.shift < s.seqShift {
			bits += f.Bits
		}
	}
	if bits == 0 {
		return int(s.nodeBits)
	}
	return bits
}

// id returns the ID of a position.
func (t *track) id(pos uint64) ID { return t.hold.scheme.seal(t.pieceID(pos)) }

// shiftID is the raw ID where form is shifts; it is small enough to become part of the caller.
func (t *track) shiftID(pos uint64) ID {
	return ID(t.base + pos&^t.slots*t.tickMul + pos&t.slots*t.slotMul)
}

// pieceID is the raw ID for any form.
func (t *track) pieceID(pos uint64) ID {
	id, _, _ := t.piece(pos, 1)
	return id
}

// piece returns the raw ID of a position, and how many of the next n positions have raw
// IDs that follow in equal steps. All of them are in one tick.
func (t *track) piece(pos, n uint64) (id, step ID, count uint64) {
	tick, slot := pos/t.span, pos%t.span
	if t.form != block {
		return ID(t.base + tick<<t.timeShift + slot<<t.seqShift), 1 << t.seqShift, min(n, t.span-slot)
	}
	s, gr := t.hold.scheme, t.hold.grant
	nodes, roll := uint64(gr.Nodes), int64(t.base>>s.rollShift&(1<<s.rollBits-1))
	p := Parts{Tick: t.from + int64(tick), Rollback: roll}
	low := s.parts[len(s.parts)-1].shift
	if low > s.seqShift { // the node stands above the sequence: all numbers of one node first, so that IDs grow
		p.Node, p.Sequence = gr.Node+int64(slot/t.hold.seqs), gr.FirstSeq+int64(slot%t.hold.seqs)
		return s.compose(p), 1 << t.seqShift, min(n, t.hold.seqs-slot%t.hold.seqs)
	}
	p.Node, p.Sequence = gr.Node+int64(slot%nodes), gr.FirstSeq+int64(slot/nodes)
	if !s.nodeContiguous() {
		return s.compose(p), 1, 1
	}
	return s.compose(p), 1 << low, min(n, nodes-slot%nodes)
}

// raise moves the bound of all tracks up to the tick until, and the place to ask again to
// two thirds of the time that gives. It reports whether that gave any. One goroutine at a
// time raises (the generator's mutex); a lower until changes nothing.
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

// seal ends the hold: nothing is taken from it any more. It returns the first tick of
// which nothing was.
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
			// A word may stand above its bound by positions that were taken too late and
			// never used.
			h.used = max(h.used, min(t.from+int64((end-1)/t.span)+1, h.until()))
		}
	}
	return h.used
}

// halt sends all takers to the slow path, until somebody publishes a limit again.
func (t *track) halt() {
	t.coarse.Store(parked)
	t.limit.Store(0)
}

func (h *hold) sealed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.done
}
