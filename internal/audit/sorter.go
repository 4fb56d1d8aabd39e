package audit

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

func workers() int { return min(runtime.GOMAXPROCS(0), 8) }

// sorted gives t all words in their order as numbers. It stops when ctx
// ends.
func (t *tidy) sorted(ctx context.Context, words []uint64) error {
	parts := sortParts(words)
	out := make([]uint64, 0, 4096)
	for len(parts) > 0 {
		least := 0
		for i, p := range parts {
			if p[0] < parts[least][0] {
				least = i
			}
		}
		out = append(out, parts[least][0])
		if parts[least] = parts[least][1:]; len(parts[least]) == 0 {
			parts = slices.Delete(parts, least, least+1)
		}
		if len(out) == cap(out) || len(parts) == 0 {
			t.add(out)
			out = out[:0]
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// sortParts sorts words in parts, one for each processor.
func sortParts(words []uint64) [][]uint64 {
	n := workers()
	parts := slices.Collect(slices.Chunk(words, max((len(words)+n-1)/n, 1)))
	var wg sync.WaitGroup
	for _, part := range parts {
		wg.Go(func() { slices.Sort(part) })
	}
	wg.Wait()
	return parts
}
