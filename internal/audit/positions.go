package audit

import (
	"context"
	"slices"

	"github.com/snowfence/snowfence"
)

// maxPositions is how many positions of one ID are listed.
const maxPositions = 16

// seen is a word of interest and where it is.
type seen struct {
	which int
	at    int64
}

// positions looks for a few words among all, in their original order.
func (a *Auditor) positions(ctx context.Context, list []run) ([]Duplicate, error) {
	found := make([]Duplicate, len(list))
	index := make(map[uint64]int, len(list))
	// A table by their bits rejects nearly all words without the map.
	const filterBits = 14
	var filter [1 << filterBits]bool
	slot := func(w uint64) uint64 { return w * 0x9e3779b97f4a7c15 >> (64 - filterBits) }
	for i, r := range list {
		found[i] = Duplicate{ID: snowfence.ID(r.key ^ a.flip), Count: r.count}
		index[r.key] = i
		filter[slot(r.key)] = true
	}
	p := newPieces(a.store, a.size.piece)
	hits := make([][]seen, p.count())
	err := p.each(ctx, func(_, piece int, at int64, words []uint64) error {
		counts := map[int]int{}
		for i, w := range words {
			if !filter[slot(w)] {
				continue
			}
			if which, ok := index[w]; ok && counts[which] < maxPositions {
				counts[which]++
				hits[piece] = append(hits[piece], seen{which, at + int64(i)})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, hit := range slices.Concat(hits...) {
		if d := &found[hit.which]; len(d.Positions) < maxPositions {
			d.Positions = append(d.Positions, hit.at)
		}
	}
	return found, nil
}
