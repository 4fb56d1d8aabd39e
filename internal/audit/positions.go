package audit

import (
	"context"

	"github.com/snowfence/snowfence"
)

// maxPositions is how many positions of one ID are listed.
const maxPositions = 16

// positions looks for a few words among all, in their original order.
func (a *Auditor) positions(ctx context.Context, list []repeat) ([]Duplicate, error) {
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
	err := a.store.each(func(at int64, words []uint64) error {
		for i, w := range words {
			if !filter[slot(w)] {
				continue
			}
			if which, ok := index[w]; ok && len(found[which].Positions) < maxPositions {
				found[which].Positions = append(found[which].Positions, at+int64(i))
			}
		}
		return ctx.Err()
	})
	return found, err
}
