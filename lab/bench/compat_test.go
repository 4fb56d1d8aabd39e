package bench

import (
	"runtime"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/snowflake"
)

// A layer is another library's API over our generator, beside
// Generator.Next of the same layout and beside the original.
type layer struct {
	name                  string // of the library
	ids                   int    // in one slice, some milliseconds
	next, layer, original func(b *testing.B) slicer
}

// next makes one ID. All three of a row pay for the same call of a function
// value.
type next func() (int64, error)

// slicer begins a slice: it returns what makes its IDs.
type slicer func() (next, error)

// one begins each slice with one generator.
func one(n next, err error) slicer { return func() (next, error) { return n, err } }

// nextOf is Generator.Next of a layout on a node.
func nextOf(b *testing.B, l snowfence.Layout, c snowfence.Config, node int64, keys ...*snowfence.Secret) (next, error) {
	s, err := snowfence.NewScheme(l, keys...)
	if err != nil {
		return nil, err
	}
	c.Fence = snowfence.Unguarded(s, node)
	g, err := snowfence.New(c)
	if err != nil {
		return nil, err
	}
	b.Cleanup(func() { g.Close() })
	ctx := b.Context()
	return func() (int64, error) {
		id, err := g.Next(ctx)
		return int64(id), err
	}, nil
}

// layers has the rows of the table; lab/bench/table/page.md.tmpl has their
// titles and targets.
var layers = []layer{
	snowflakeLayer(1, 21).as("bwmarrin", 500_000),
	sonyflakeLayer(sonyflakeWide).as("sonyflake2", 500_000),
	driftLayer(1, 21).as("yitter", driftIDs),
	randflakeLayer().as("randflake", randflakeSlice),
	{
		name: "randflake/fence", ids: randflakeSlice,
		next: randflakeNext, layer: randflakeOn, original: randflakeLayer().original,
	},
}

func (l layer) as(name string, ids int) layer {
	l.name, l.ids = name, ids
	return l
}

// BenchmarkCompat measures slices of the three in turn, because the ratios
// within one run count. It measures processor time, so the ratios hold on a
// machine that does something else, too.
func BenchmarkCompat(b *testing.B) {
	for range *rounds {
		for _, l := range layers {
			b.Run("name="+l.name, func(b *testing.B) {
				var took [3]time.Duration
				var sides [3]slicer
				for i, start := range []func(*testing.B) slicer{l.next, l.layer, l.original} {
					sides[i] = start(b)
					l.slice(b, sides[i]) // what a fresh generator has in store
				}
				for turn := range turns * len(sides) {
					i := turn % len(sides)
					took[i] += l.slice(b, sides[i])
				}
				ns := func(i int) float64 { return float64(took[i]) / float64(turns*l.ids) }
				row := "compat/" + l.name
				writeFigures(b, map[string]float64{
					row + "/ns": ns(1), row + "/times-next": ns(1) / ns(0), row + "/times-original": ns(1) / ns(2),
				})
				b.ReportMetric(ns(1)/ns(0), "×next")
				b.ReportMetric(ns(1)/ns(2), "×original")
				b.ReportMetric(ns(1), "ns/ID")
			})
		}
	}
}

// slice returns how long a slice of IDs took.
func (l *layer) slice(b *testing.B, begin slicer) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := processorTime()
	next := must(begin())
	var x int64
	for range l.ids {
		id := must(next())
		x ^= id
	}
	sink.Store(uint64(x))
	return processorTime() - used
}

// setSnowflake sets the package variables that are this API's
// configuration, for as long as it takes.
func setSnowflake(nodeBits, stepBits uint8) (reset func()) {
	node, step := snowflake.NodeBits, snowflake.StepBits
	snowflake.NodeBits, snowflake.StepBits = nodeBits, stepBits
	return func() { snowflake.NodeBits, snowflake.StepBits = node, step }
}

// snowflakeLayer has the three ways to make IDs with these widths.
func snowflakeLayer(nodeBits, stepBits uint8) layer {
	return layer{
		next: func(b *testing.B) slicer {
			defer setSnowflake(nodeBits, stepBits)()
			s, err := snowflake.Scheme()
			if err != nil {
				return one(nil, err)
			}
			return one(nextOf(b, s.Layout(), snowfence.Config{}, 1))
		},
		layer: func(b *testing.B) slicer {
			defer setSnowflake(nodeBits, stepBits)()
			node, err := snowflake.NewNode(1)
			if err != nil {
				return one(nil, err)
			}
			b.Cleanup(func() { node.Close() }) // other widths come next
			return one(func() (int64, error) { return int64(node.Generate()), nil }, nil)
		},
		original: func(*testing.B) slicer {
			node, err := newBwmarrin(nodeBits, stepBits)
			return one(func() (int64, error) { return int64(node.Generate()), nil }, err)
		},
	}
}
