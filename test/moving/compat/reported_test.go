package compat

import (
	"sync"
	"testing"
)

// program is one that people reported as making duplicates, or a close
// relative, in our words. G makes the generators of a library.
type program[G any] struct {
	name    string
	repeats bool // with the original
	run     func(of G, add func(ids ...int64))
}

// compare runs programs with the original and with the layer, which makes
// no ID twice.
func compare[G any](t *testing.T, programs []program[G], theirs, ours func(t *testing.T, program int) G) {
	t.Helper()
	for i, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			if twice, all := p.duplicates(ours(t, i)); twice != 0 || all == 0 {
				t.Errorf("%d of %d IDs came twice", twice, all)
			}
			seen := 0
			for try := range 100 { // a busy machine may be too slow for the original's mistake
				twice, all := p.duplicates(theirs(t, i))
				if seen = twice; seen > 0 || !p.repeats {
					t.Logf("the original: %d of %d IDs came twice, at try %d", twice, all, try+1)
					break
				}
			}
			if p.repeats && seen == 0 {
				t.Error("the original made no duplicates: does the program still do what was reported?")
			}
		})
	}
}

// duplicates runs a program and counts the IDs that came before.
func (p program[G]) duplicates(of G) (twice, all int) {
	var mu sync.Mutex
	seen := map[int64]bool{}
	p.run(of, func(ids ...int64) {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range ids {
			if all++; seen[id] {
				twice++
			}
			seen[id] = true
		}
	})
	return twice, all
}

// threads runs a function in many goroutines at once.
func threads(n int, f func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	all.Wait()
}

// take hands on n IDs.
func take(n int, next func() int64, add func(ids ...int64)) {
	for range n {
		add(next())
	}
}
