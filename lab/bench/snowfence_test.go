package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// ours are measured on a static node: where the grants come from costs nothing on the way
// of an ID. The default is what snowfence.Default and a Config with nothing but a fence
// say, which waits for the next tick when the sequence has run out.
var ours = []entry{
	{name: "exact", layout: "default", perOp: defaultBurst, start: startNext(defaultLayout, false)},
	{name: "exact", layout: "wide", start: startNext(wideLayout, false)},
	{name: "coarse", layout: "default", perOp: defaultBurst, start: startNext(defaultLayout, true)},
	{name: "coarse", layout: "wide", start: startNext(wideLayout, true)},
	{name: "local", layout: "default", perOp: defaultBurst, start: startLocal(defaultLayout, true)},
	{name: "local", layout: "wide", start: startLocal(wideLayout, true)},
	{name: "exactlocal", layout: "default", perOp: defaultBurst, start: startLocal(defaultLayout, false)},
	{name: "exactlocal", layout: "wide", start: startLocal(wideLayout, false)},
	{name: "fill", layout: "default", perOp: defaultBurst, start: startFill(defaultLayout)},
	{name: "fill", layout: "wide", perOp: batch, start: startFill(wideLayout)},
	{name: "randexact", layout: "default", perOp: randBurst, start: startNext(randflakeLayout, false)},
	{name: "randexact", layout: "wide", start: startNext(wideRandflakeLayout, false)},
	{name: "randcoarse", layout: "wide", start: startNext(wideRandflakeLayout, true)},
	{name: "randfill", layout: "wide", perOp: batch, start: startFill(wideRandflakeLayout)},
}

const (
	defaultBurst = 1 << 12 // sequence numbers in a millisecond
	randBurst    = 1 << 17 // and of a Randflake in a second
)

func defaultLayout() (snowfence.Layout, error) { return snowfence.Default(), nil }

// wideLayout has enough sequence for two cores that Fill: 33 million in a millisecond.
// What is left for the time is four years, hence the epoch.
func wideLayout() (snowfence.Layout, error) {
	return snowfence.ParseLayout(fmt.Sprintf("time=37,node=1,seq=25,epoch=%d-01-01T00:00:00Z,tick=1ms",
		time.Now().UTC().Year()))
}

func randflakeLayout() (snowfence.Layout, error) { return snowfence.Randflake(), nil }

// wideRandflakeLayout is wideLayout under Randflake's cipher, because Randflake itself has
// 131,072 IDs a second.
func wideRandflakeLayout() (snowfence.Layout, error) {
	l, err := wideLayout()
	l.Cipher = snowfence.SPARX
	return l, err
}

func startGenerator(b *testing.B, layout func() (snowfence.Layout, error), coarse bool) *snowfence.Generator {
	l, err := layout()
	if err != nil {
		b.Fatal(err)
	}
	var keys []*snowfence.Secret
	if l.Cipher != snowfence.Plain {
		keys = append(keys, snowfence.GenerateSecret())
	}
	s, err := snowfence.NewScheme(l, keys...)
	if err != nil {
		b.Fatal(err)
	}
	g, err := snowfence.New(snowfence.Config{Fence: snowfence.Unguarded(s, 1), Coarse: coarse})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := g.Close(); err != nil {
			b.Error(err)
		}
	})
	return g
}

func startNext(layout func() (snowfence.Layout, error), coarse bool) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		g := startGenerator(b, layout, coarse)
		ctx := b.Context()
		return func() work {
			return func(n int) error {
				var x snowfence.ID
				for range n {
					id, err := g.Next(ctx)
					if err != nil {
						return err
					}
					x ^= id
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}
}

func startLocal(layout func() (snowfence.Layout, error), coarse bool) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		g := startGenerator(b, layout, coarse)
		ctx := b.Context()
		return func() work {
			l := g.Local()
			return func(n int) error {
				var x snowfence.ID
				for range n {
					id, err := l.Next(ctx)
					if err != nil {
						return err
					}
					x ^= id
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}
}

func startFill(layout func() (snowfence.Layout, error)) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		g := startGenerator(b, layout, false)
		ctx := b.Context()
		return func() work {
			dst := make([]snowfence.ID, batch)
			return func(n int) error {
				for i := 0; i < n; i += batch {
					if _, err := g.Fill(ctx, dst[:min(batch, n-i)]); err != nil {
						return err
					}
				}
				sink.Store(uint64(dst[0]))
				return nil
			}
		}
	}
}
