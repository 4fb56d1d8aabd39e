package bench

import (
	"testing"
	"testing/synctest"
	"time"

	sonyflake2 "github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"
	"go.etcd.io/etcd/pkg/v3/idutil"
)

// TestRestartRepeats shows which libraries repeat IDs when a process ends
// and the next one starts with the same settings. A new generator stands
// for the new process: these libraries keep no state outside of it.
//
// Without a pause, the new process starts within the tick in which the old
// one ended (a millisecond to a second, by library). With a pause,
// everybody would call the start safe. But a library that ran ahead of the
// clock under load forgets how far.
//
// The test runs in a bubble, where time passes only while everything
// sleeps. So each run has the same result.
func TestRestartRepeats(t *testing.T) {
	type next func() (int64, error)
	for _, c := range []struct {
		name  string
		burst int
		pause time.Duration // from the last ID of one process to the first of the next
		start func() (next, error)
	}{
		{"bwmarrin", 1, 0, func() (next, error) {
			node, err := newBwmarrin(10, 12)
			return func() (int64, error) { return int64(node.Generate()), nil }, err
		}},
		{"sonyflake1", 1, 0, func() (next, error) {
			sf, err := newSonyflake1()
			return func() (int64, error) {
				id, err := sf.NextID()
				return int64(id), err
			}, err
		}},
		{"sonyflake2", 1, 0, func() (next, error) {
			sf, err := newSonyflake2(sonyflake2.Settings{})
			return sf.NextID, err
		}},
		{"randflake", 1, 0, func() (next, error) { // under one and the same lease
			g, err := newRandflake()
			return g.Generate, err
		}},
		{"yitter", 59 * 100, 50 * time.Millisecond, func() (next, error) {
			g := newYitter(6, 6)
			return func() (int64, error) { return g.NewLong(), nil }, nil
		}},
		{"idutil", 256 * 100, 50 * time.Millisecond, func() (next, error) {
			g := idutil.NewGenerator(1, time.Now())
			return func() (int64, error) { return int64(g.Next()), nil }, nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// bubbles start in 2000, before most epochs
				time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
				seen := map[int64]bool{}
				repeated := 0
				for range 2 {
					g := must(c.start())
					for range c.burst {
						id := must(g())
						if seen[id] {
							repeated++
						}
						seen[id] = true
					}
					time.Sleep(c.pause)
				}
				if repeated == 0 {
					t.Fatal("no ID was given out twice: the table claims one")
				}
				t.Logf("%d of %d IDs had been given out before the restart", repeated, c.burst)
				writeFigures(t, map[string]float64{"repeats/" + c.name: float64(repeated)})
			})
		})
	}
}

// TestYitterLosesWorker is why the notes in docs/prove/benchmarks.md say
// that yitter's widest setting tells no nodes apart: it shifts the worker
// ID in 16 bits, which drops it as soon as it would stand above them.
func TestYitterLosesWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		ids := make(chan int64)
		for worker := range uint16(2) {
			go func() {
				o := idgen.NewIdGeneratorOptions(worker)
				o.WorkerIdBitLength, o.SeqBitLength = 1, 21
				ids <- idgen.NewDefaultIdGenerator(o).NewLong()
			}()
		}
		if a, b := <-ids, <-ids; a != b {
			t.Errorf("workers 0 and 1 made %d and %d: the notes say that they make the same", a, b)
		}
	})
}
