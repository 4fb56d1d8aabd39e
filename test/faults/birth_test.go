package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestBirth lets ten processes at once be the first users of a store that is empty, which make its tables and the namespace, and kills them in the middle of it, again
// and again. Ten others find a store that works, and no ID is made twice by any of them.
func TestBirth(t *testing.T) {
	t.Parallel()
	rounds := 2
	if *long {
		rounds = 20
	}
	for _, kind := range slices.Sorted(maps.Keys(targets)) {
		if !single(kind) {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tg := targets[kind](t)
			s := twitter(t)
			ids, killed, twice := int64(0), 0, int64(0)
			for round := range rounds {
				url := tg.fresh(t, round)
				args := []string{"-store", url, "-namespace", namespace, "-create", "-ttl", ttl.String()}
				first := make([]*worker, 10)
				for i := range first {
					first[i] = launch(t, fmt.Sprintf("round %d, killed %d", round, i), nil, holderPath(t), args...)
				}
				var kills sync.WaitGroup
				for _, w := range first {
					kills.Go(func() {
						time.Sleep(rand.N(200 * time.Millisecond)) // at any moment of the first creation
						w.kill()
					})
				}
				kills.Wait()
				killed += len(first)
				second := make([]*worker, 10)
				for i := range second {
					second[i] = launch(t, fmt.Sprintf("round %d, worker %d", round, i), nil, holderPath(t), args...)
				}
				for _, w := range second {
					within(t, patience, w.name+" makes IDs", func() bool {
						if !w.alive() {
							t.Fatalf("%s ended: %s", w.name, last(w.log, 5))
						}
						return w.since(mark{}).ids > 0
					})
				}
				for _, w := range second {
					w.signal(t, syscall.SIGTERM)
				}
				for _, w := range second {
					within(t, patience, w.name+" ends", func() bool { return !w.alive() })
				}
				v := judge(t, s, append(first, second...))
				for _, x := range v.wrong {
					t.Errorf("round %d: %s", round, x)
				}
				ids += v.ids
				twice += v.duplicates
			}
			seen.add(row{fault: "ten processes make the store and are killed (SIGKILL), ten others use it", store: kind, processes: 20 * rounds, ids: ids, twice: twice})
			t.Logf("%s: %d rounds, %d processes killed, %d IDs", kind, rounds, killed, ids)
		})
	}
}
