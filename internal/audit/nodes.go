package audit

import (
	"cmp"
	"math"
	"slices"
)

// maxNodes is how many nodes are counted apart.
const maxNodes = 1 << 18

// tally counts the fields of IDs.
type tally struct {
	f         *fields
	first     uint64 // lowest and highest tick
	last      uint64
	seqMax    uint64
	nodes     map[uint64]int64
	otherNode int64 // IDs of nodes for which there was no room

	run  uint64 // a node that is not in nodes yet, because IDs of one often follow each other
	runs int64
}

func newTally(f *fields) *tally {
	return &tally{f: f, first: math.MaxUint64, nodes: map[uint64]int64{}}
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
	tick := t.f.tick(w)
	t.first, t.last = min(t.first, tick), max(t.last, tick)
	t.seqMax = max(t.seqMax, t.f.seq(w))
	if node := t.f.nodeOf(w); node != t.run {
		t.endRun()
		t.run = node
	}
	t.runs++
}

// endRun moves the IDs of the last node into the table.
func (t *tally) endRun() {
	if t.runs == 0 {
		return
	}
	if _, ok := t.nodes[t.run]; ok || len(t.nodes) < maxNodes {
		t.nodes[t.run] += t.runs
	} else {
		t.otherNode += t.runs
	}
	t.runs = 0
}

// result returns what was counted.
func (t *tally) result() Nodes {
	t.endRun()
	r := Nodes{Of: math.MaxUint64, More: t.otherNode, List: []NodeCount{}}
	if t.f.nodeBits < 64 {
		r.Of = 1 << t.f.nodeBits
	}
	for node, n := range t.nodes {
		r.List = append(r.List, NodeCount{int64(node), n})
	}
	slices.SortFunc(r.List, func(a, b NodeCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Node, b.Node))
	})
	r.Seen = int64(len(r.List))
	return r
}
