//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/fleet"
)

// birth lets ten processes at once be the first users of a store that is
// empty, which make its tables and the namespace, and kills them in the
// middle of it, again and again. Ten others find a store that works, and no
// ID is made twice by any of them.
func birth(t *testing.T, tg *target) {
	rounds := 1
	if *long {
		rounds = 20
	}
	s := fleet.Scheme(t, "twitter")
	r := row{
		fault: "ten processes make the store and are killed (SIGKILL), ten others use it", store: tg.kind,
		processes: 20 * rounds,
	}
	for round := range rounds {
		args := []string{"-store", tg.fresh(t, round), "-namespace", namespace, "-create", "-ttl", ttl.String()}
		ten := func(name string) (ws []*worker) {
			for i := range 10 {
				ws = append(ws, launch(t, fmt.Sprintf("round %d, %s %d", round, name, i), nil, holderPath(t), args...))
			}
			return ws
		}
		first := ten("killed")
		var kills sync.WaitGroup
		for _, w := range first {
			kills.Go(func() {
				time.Sleep(rand.N(200 * time.Millisecond)) // at any moment of the first creation
				w.kill()
			})
		}
		kills.Wait()
		second := ten("worker")
		working(t, second)
		end(t, second...)
		v := judged(t, s, append(first, second...))
		r.ids += v.ids
		r.twice += v.duplicates
	}
	seen.add(r)
	t.Logf("%d rounds, %d IDs", rounds, r.ids)
}
