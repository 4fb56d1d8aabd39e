package audit

import "math"

// Sizes of the tables of a tally.
const (
	seriesBins = 2048
	heatTimes  = 128
	heatNodes  = 64
	seqBins    = 4096

	denseNodeBits = 16      // up to here, nodes are counted in a table
	maxNodes      = 1 << 18 // and beyond in a map, which holds no more than these
)

// tally counts the fields of IDs.
type tally struct {
	f      *fields
	first  uint64 // lowest and highest tick
	last   uint64
	series *grid // ticks
	heat   *grid // ticks and nodes

	seqs     []int64
	seqShift int
	seqMax   uint64
	full     int64 // IDs with the last usable sequence number
	reserved int64 // IDs with a number below the first usable one

	dense     []int64
	sparse    map[uint64]int64
	otherNode int64 // IDs of nodes for which there was no room
}

func newTally(f *fields) *tally {
	t := &tally{
		f:        f,
		first:    math.MaxUint64,
		series:   newGrid(seriesBins, 1),
		heat:     newGrid(heatTimes, heatNodes),
		seqShift: max(0, f.seqBits-12),
	}
	t.seqs = make([]int64, min(seqBins, 1<<min(f.seqBits, 12)))
	if f.nodeBits <= denseNodeBits {
		t.dense = make([]int64, 1<<f.nodeBits)
	} else {
		t.sparse = map[uint64]int64{}
	}
	return t
}

// add counts words and returns how many are not of the layout.
func (t *tally) add(words []uint64) (foreign int64) {
	for _, w := range words {
		if t.f.foreign(w) {
			foreign++
			continue
		}
		t.one(w)
	}
	return foreign
}

// one counts a word of the layout.
func (t *tally) one(w uint64) {
	f := t.f
	tick, seq, node := f.tick(w), f.seq(w), f.nodeOf(w)
	t.first, t.last = min(t.first, tick), max(t.last, tick)
	t.series.add(tick, 0)
	t.heat.add(tick, node)
	t.seqs[seq>>t.seqShift]++
	t.seqMax = max(t.seqMax, seq)
	if seq == uint64(f.layout.Last) {
		t.full++
	}
	if seq < uint64(f.layout.First) {
		t.reserved++
	}
	if t.dense != nil {
		t.dense[node]++
	} else if _, ok := t.sparse[node]; ok || len(t.sparse) < maxNodes {
		t.sparse[node]++
	} else {
		t.otherNode++
	}
}
