package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	sonyflake2 "github.com/sony/sonyflake/v2"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/snowflake"
)

// A layer is another library's API over our generator, beside Generator.Next of the same
// layout and beside the original.
type layer struct {
	name                  string // of the library and the setting: "bwmarrin/default"
	ids                   int    // in one slice, some milliseconds
	waits                 bool   // the layout caps the rate: wall time counts, and else the processor's
	next, layer, original func(b *testing.B) func() work
}

// layers has the rows of the table; bench/table/compat.go has their titles and targets.
var layers = []layer{
	{
		name: "bwmarrin/default", ids: 20 * bwmarrinBurst, waits: true,
		next: startCompatNext(10, 12), layer: startSnowflake(10, 12), original: startBwmarrin(10, 12),
	},
	{
		name: "bwmarrin/wide", ids: 500_000,
		next: startCompatNext(1, 21), layer: startSnowflake(1, 21), original: startBwmarrin(1, 21),
	},
	{
		name: "sonyflake1/default", ids: 6 * sonyflakeBurst, waits: true,
		next:  startNext(func() (snowfence.Layout, error) { return snowfence.MustLayout("sonyflake"), nil }, false),
		layer: startSonyflakeLayerV1, original: startSonyflake1,
	},
	{
		name: "sonyflake2/default", ids: 6 * sonyflakeBurst, waits: true,
		next:  startSonyflakeNext(sonyflake2.Settings{}),
		layer: startSonyflakeLayer(sonyflake2.Settings{}), original: startSonyflake2(sonyflake2.Settings{}),
	},
	{
		name: "sonyflake2/wide", ids: 500_000, next: startSonyflakeNext(sonyflakeWide),
		layer: startSonyflakeLayer(sonyflakeWide), original: startSonyflake2(sonyflakeWide),
	},
	{
		name: "yitter/default", ids: driftTop * driftTick,
		next: startDriftNext(6, 6), layer: startDrift(6, 6), original: startDriftOriginal(6, 6),
	},
	{
		name: "yitter/10-bits", ids: driftIDs,
		next: startDriftNext(6, 10), layer: startDrift(6, 10), original: startDriftOriginal(6, 10),
	},
	{
		name: "yitter/wide", ids: driftIDs,
		next: startDriftNext(1, 21), layer: startDrift(1, 21), original: startDriftOriginal(1, 21),
	},
	{
		name: "randflake/default", ids: randflakeSlice, next: startRandflakeNext,
		layer: startRandflakeLayer(nil), original: startRandflakeOriginal(nil),
	},
	{
		name: "randflake/source", ids: randflakeSlice, next: startRandflakeNext,
		layer: startRandflakeLayer(unixTime), original: startRandflakeOriginal(unixTime),
	},
	{
		name: "randflake/fence", ids: randflakeSlice, next: startRandflakeNext,
		layer: startRandflakeOn, original: startRandflakeOriginal(nil),
	},
}

// A line of figures is a name, a space and a number.
func TestLayerNames(t *testing.T) {
	for _, l := range layers {
		if strings.ContainsAny(l.name, " \t\n") {
			t.Errorf("%q has a space", l.name)
		}
	}
}

// BenchmarkCompat measures slices of the three in turn, because what counts are the ratios
// within one run. Where nothing waits, processor time counts: so the ratios hold on a
// machine that does something else, too.
func BenchmarkCompat(b *testing.B) {
	var out strings.Builder
	for range *rounds {
		for _, l := range layers {
			b.Run("name="+l.name, func(b *testing.B) {
				var took [3]time.Duration
				var workers [3]work
				for i, start := range []func(*testing.B) func() work{l.next, l.layer, l.original} {
					workers[i] = start(b)()
					if err := workers[i](l.ids); err != nil { // what a fresh generator has in store
						b.Fatal(err)
					}
				}
				for turn := range turns * len(workers) {
					i := turn % len(workers)
					took[i] += l.slice(b, workers[i])
				}
				ns := func(i int) float64 { return float64(took[i]) / float64(turns*l.ids) }
				for name, x := range map[string]float64{
					"ns": ns(1), "next": ns(0), "original": ns(2),
					"times-next": ns(1) / ns(0), "times-original": ns(1) / ns(2),
				} {
					fmt.Fprintf(&out, "compat/%s/%s %.6g\n", l.name, name, x)
				}
				b.ReportMetric(ns(1)/ns(0), "×next")
				b.ReportMetric(ns(1)/ns(2), "×original")
				b.ReportMetric(ns(1), "ns/ID")
			})
		}
	}
	if *figures != "" {
		if err := os.WriteFile(*figures, []byte(out.String()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// slice returns how long a worker took for a slice.
func (l *layer) slice(b *testing.B, w work) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, used := time.Now(), processorTime()
	if err := w(l.ids); err != nil {
		b.Fatal(err)
	}
	if l.waits {
		return time.Since(began)
	}
	return processorTime() - used
}

// setSnowflake sets the package variables that are this API's configuration, for as long
// as it takes.
func setSnowflake(nodeBits, stepBits uint8) (reset func()) {
	node, step := snowflake.NodeBits, snowflake.StepBits
	snowflake.NodeBits, snowflake.StepBits = nodeBits, stepBits
	return func() { snowflake.NodeBits, snowflake.StepBits = node, step }
}

func startSnowflake(nodeBits, stepBits uint8) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		defer setSnowflake(nodeBits, stepBits)()
		node, err := snowflake.NewNode(1)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { node.Close() }) // other widths come next
		return func() work {
			return func(n int) error {
				var x snowflake.ID
				for range n {
					x ^= node.Generate()
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}
}

func startCompatNext(nodeBits, stepBits uint8) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		defer setSnowflake(nodeBits, stepBits)()
		return startNext(func() (snowfence.Layout, error) {
			s, err := snowflake.Scheme()
			if err != nil {
				return snowfence.Layout{}, err
			}
			return s.Layout(), nil
		}, false)(b)
	}
}
