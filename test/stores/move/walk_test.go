package move

import (
	"errors"
	"flag"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

var seeds = flag.Uint64("seeds", 0, "how many seeds TestMoveSeeds runs")

// walk is an operator whose steps are drawn: moves, deaths of the mover,
// and backups put back.
type walk struct {
	*scene
	chance  *rand.Rand
	at      int // the store that has the data
	backups [2][]backup
	lost    bool // the data went back to a backup
}

// backup is all records of a store.
type backup []store.Record

// pause lets programs go on for a while.
func (w *walk) pause() { wait(w.ctx, time.Duration(w.chance.Int64N(int64(2*ttl)))) }

// save takes a backup of each store.
func (w *walk) save() {
	for i, p := range w.stores {
		w.backups[i] = append(w.backups[i], all(w.t, p))
	}
}

// putBack has a server with an older backup take the place of a store,
// whose programs are stopped.
func (w *walk) putBack(i int, b backup) {
	w.stop(i)
	w.stop(theServer)
	w.stores[i].Store = store.NewMemory()
	for _, r := range b {
		put(w.t, w.stores[i], r)
	}
}

// move moves everything from a store. The mover dies a few times on the
// way, or rests while another one moves everything, and programs use it.
func (w *walk) move(from int, died func()) {
	for w.ctx.Err() == nil {
		d := &death{at: w.chance.IntN(40), how: w.chance.IntN(ways), rest: w.chance.IntN(60)}
		d.rival = func() {
			a, b := new(death).places(w.scene, from, 1-from)
			must(w.t, moveAll(w.ctx, a, b))
			wait(w.ctx, 2*ttl)
		}
		a, b := d.places(w.scene, from, 1-from)
		err := moveAll(w.ctx, a, b)
		if !errors.Is(err, errKilled) {
			if err != nil && w.ctx.Err() == nil {
				w.t.Fatal(err)
			}
			return
		}
		died()
		w.pause()
	}
}

// leg moves the data to the other store. Backups are put back under the
// source, on the way and after it, and the move is repeated before programs
// start.
func (w *walk) leg() {
	source, target := w.at, 1-w.at
	stopped := false
	arrived := len(w.backups[source]) // what is saved from here on is a backup of the data
	w.pause()
	w.save()
	w.pause()
	w.move(source, func() {
		w.save()
		if !stopped {
			w.oneOpen()
		}
		if w.chance.IntN(4) == 0 {
			w.putBack(source, w.backups[source][arrived])
			stopped, w.lost = true, true
		}
	})
	w.at = target
	if w.chance.IntN(2) == 0 {
		old := w.backups[source]
		w.putBack(source, old[w.chance.IntN(len(old))])
		stopped = true
		w.move(source, func() {})
	}
	w.oneOpen()
	w.confirm()
	w.restart(target)
	if stopped {
		w.start(source)
		w.start(theServer)
	}
	before := w.counted(target)
	for _, kind := range products {
		if kind != "IDs for the past" || !w.lost {
			w.await(target, before, kind)
		}
	}
	w.servedAlive()
}

// confirm lets sequences go on that went back.
func (w *walk) confirm() {
	w.mu.Lock()
	highest := map[string]int64{}
	for what := range w.made {
		name, number, plain := strings.Cut(what, " ")
		if !plain {
			_, number, _ = strings.Cut(what, "-")
			name = "days"
		}
		n, _ := strconv.ParseInt(number, 10, 64)
		highest[name] = max(highest[name], n)
	}
	w.mu.Unlock()
	for _, name := range []string{"fast", "dense", "strict", "days"} {
		info, err := sequence.Show(w.t.Context(), w.stores[w.at], name)
		must(w.t, err)
		if info.RolledBack {
			used := highest[name]
			must(w.t, sequence.Confirm(w.t.Context(), w.stores[w.at], name, sequence.Confirmation{Used: &used}))
		}
	}
}

// Operators walk as seeds draw it. A seed draws the steps, not when
// programs write between them.
func TestMoveSeeds(t *testing.T) {
	runs := max(*seeds, 40)
	if testing.Short() {
		runs = max(*seeds, 4)
	}
	for seed := range runs {
		synctest.Test(t, func(t *testing.T) {
			t.Logf("seed %d", seed)
			s := newScene(t, store.NewMemory(), store.NewMemory())
			s.patience = time.Minute
			defer s.end()
			w := &walk{scene: s, chance: rand.New(rand.NewPCG(seed, 1))}
			s.begin()
			for range 2 + w.chance.IntN(4) {
				w.leg()
			}
		})
		if t.Failed() {
			return
		}
	}
}
