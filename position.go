package snowfence

import (
	"math/bits"
	"sync/atomic"

	"github.com/snowfence/snowfence/internal/clock"
	"github.com/snowfence/snowfence/internal/world"
)

// Positions count the usable sequence numbers from the first tick of a
// grant: position = (tick − from) × span + slot.
const (
	// sealed replaces a word at its end. No bound reaches it; 2^63 adds
	// would wrap it.
	sealed = uint64(1) << 63

	// maxPosition leaves room for additions before a comparison.
	maxPosition = uint64(1) << 61
)

// track is one grant, or one rollback value of it, and the word with its
// next free position. All that gives a position its meaning stands beside
// the word and never changes, so a position can only become an ID of this
// grant.
type track struct {
	hold *hold // nil for the terminal track of a closed generator

	machine world.Machine // that the grant was asked for on: a copy of it may have the grant, too

	from int64  // tick of position 0
	base uint64 // the ID of position 0
	span uint64 // positions in a tick

	timeShift   uint8
	seqShift    uint8
	scatterBits uint8
	valueShift  uint8
	form        form

	// A turn is one value of the scatter field in a tick, or a tick without
	// that field: then the numbers below are 0.
	turn      uint64 // positions in a turn
	salt      uint64 // of node and from, so that nodes begin a tick with different values
	turnMul   uint64 // moves the low bits of a turn to the highest
	valueMask uint64 // takes these

	// If form is shifts, the ID of a position is base + (its tick bits) ×
	// tickMul + (its slot bits) × slotMul. A product costs less than a
	// variable shift.
	slots   uint64 // span − 1
	tickMul uint64
	slotMul uint64

	// If it is linear, the tick of a position is (its product with magic)
	// >> (64 + magicShift). A division costs more than the rest of an ID.
	// If it is scattered, that is the turn of half a position, because a
	// turn can be 1.
	magic      uint64
	magicShift uint8

	// The granted ticks. Only raised.
	until atomic.Uint64 // ticks after from
	end   atomic.Uint64 // until × span

	// Below until: when to ask for the next grant ahead of time.
	soft atomic.Uint64 // ticks after from

	// The limits of the fast path, set by readers of the clock (publish).
	// It concerns time, never safety: limit is at most end, takers read it
	// before they take, and the word of a sealed track is above every
	// limit.
	limit atomic.Uint64 // positions below it may be taken; 0 for none
	// Of an exact generator: until this elapsed time the tick of the limit
	// is current.
	sure   atomic.Int64
	coarse atomic.Int64  // of a coarse one: the tick after from at the last look; parked when no ticker looks
	pubPos atomic.Uint64 // of a coarse one: the word at the last look
	pubNs  atomic.Int64  // and its time

	_    [64]byte // the word is written by every call, the rest is read: keep them on different cache lines
	word atomic.Uint64
	_    [64]byte
}

// form is how a position becomes an ID.
type form uint8

const (
	shifts    form = iota // span is a power of two, and slots count on in the ID's bits
	linear                // slots count on in the ID's bits
	block                 // several nodes, whose numbers do not follow each other in the ID's bits
	scattered             // slots of a turn count on in the ID's bits
)

func (t *track) setForm(s *Scheme, gr Grant) {
	t.scatterBits, t.turnMul = s.scatterBits, 1<<(64-s.scatterBits) // 0 without the field
	t.valueMask, t.valueShift = -t.turnMul, 64-s.scatterBits-s.scatterShift
	t.salt = uint64(gr.Node)*golden*golden + uint64(t.from)*golden
	t.form = linear
	if gr.Nodes > 1 {
		// Nodes of a block follow each other in the ID if the whole
		// sequence stands right below them.
		whole := t.hold.seqs == 1<<s.seqBits
		if n := len(s.parts) - 1; !whole || s.parts[n].shift != s.seqShift+s.seqBits || !s.nodeContiguous() {
			t.form = block
			return
		}
	}
	if s.scatterBits > 0 {
		t.form, t.slotMul, t.tickMul = scattered, 1<<t.seqShift, 1<<t.timeShift
		t.magic, t.magicShift = clock.Reciprocal(2 * t.turn)
		return
	}
	if t.span&(t.span-1) != 0 {
		t.magic, t.magicShift = clock.Reciprocal(t.span)
		return
	}
	t.form, t.slots, t.slotMul = shifts, t.span-1, 1<<t.seqShift
	t.tickMul = 1 << (t.timeShift - uint8(bits.Len64(t.slots)))
}

// nodeContiguous reports whether the node parts stand side by side in the
// ID.
func (s *Scheme) nodeContiguous() bool {
	for i := 1; i < len(s.parts); i++ {
		if s.parts[i-1].shift != s.parts[i].shift+uint8(s.parts[i].Bits) {
			return false
		}
	}
	return true
}

// lowParts returns the width of the node parts below the sequence, or of
// the whole node if none are above it.
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

func (t *track) id(pos uint64) ID { return t.hold.scheme.encryptID(t.pieceID(pos)) }

// shiftID is the raw ID if form is shifts, small enough to be inlined.
func (t *track) shiftID(pos uint64) ID {
	return ID(t.base + pos&^t.slots*t.tickMul + pos&t.slots*t.slotMul)
}

// pieceID is the raw ID for any form.
func (t *track) pieceID(pos uint64) ID {
	switch t.form {
	case linear:
		return t.linearID(pos)
	case scattered:
		hi, _ := bits.Mul64(2*pos, t.magic)
		turn := hi >> (t.magicShift & 63)
		tick, value := t.scatter(turn)
		return ID(t.base + tick*t.tickMul + value + (pos-turn*t.turn)*t.slotMul)
	}
	id, _, _ := t.piece(pos, 1)
	return id
}

// linearID is the raw ID if form is linear.
//
// Invariant: two positions never become one ID. So tick has to be exactly
// pos/span, for all positions that are granted: see clock.Reciprocal.
func (t *track) linearID(pos uint64) ID {
	hi, _ := bits.Mul64(pos, t.magic)
	tick := hi >> t.magicShift
	return ID(t.base + tick<<t.timeShift + (pos-tick*t.span)<<t.seqShift)
}

// golden is 2^64 divided by the golden ratio. The first bits of its
// multiples are even over ticks in equal steps.
const golden = 0x9e3779b97f4a7c15

// scatter returns the tick of a turn, after from, and the bits of its
// scatter field.
//
// Invariant: two turns of a tick never have one value. So where a tick
// begins depends on nothing but the tick and the node, in each grant, and
// its turns follow each other from there.
func (t *track) scatter(turn uint64) (tick, value uint64) {
	tick = turn >> (t.scatterBits & 63)
	value = (t.salt + tick*golden + turn*t.turnMul) & t.valueMask
	return tick, value >> (t.valueShift & 63)
}

// piece returns the raw ID of a position, and how many of the next n follow
// it in equal steps in the same turn.
func (t *track) piece(pos, n uint64) (id, step ID, count uint64) {
	turn, slot := pos/t.turn, pos%t.turn
	tick, value := t.scatter(turn)
	if t.form != block {
		return ID(t.base + tick<<t.timeShift + value + slot<<t.seqShift), 1 << t.seqShift,
			min(n, t.turn-slot)
	}
	s, gr := t.hold.scheme, t.hold.grant
	nodes, roll := uint64(gr.Nodes), int64(t.base>>s.rollShift&(1<<s.rollBits-1))
	p := Parts{Tick: t.from + int64(tick), Rollback: roll}
	low := s.parts[len(s.parts)-1].shift
	if low > s.seqShift { // the node stands above the sequence: all numbers of one node first, so that IDs grow
		p.Node, p.Sequence = gr.Node+int64(slot/t.hold.seqs), gr.FirstSeq+int64(slot%t.hold.seqs)
		return s.compose(p) + ID(value), 1 << t.seqShift, min(n, t.hold.seqs-slot%t.hold.seqs)
	}
	p.Node, p.Sequence = gr.Node+int64(slot%nodes), gr.FirstSeq+int64(slot/nodes)
	if !s.nodeContiguous() {
		return s.compose(p) + ID(value), 1, 1
	}
	return s.compose(p) + ID(value), 1 << low, min(n, nodes-slot%nodes)
}
