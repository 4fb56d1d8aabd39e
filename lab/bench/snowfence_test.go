package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// ours are measured on a static node: where the grants come from costs
// nothing on the way of an ID.
var ours = []entry{
	{name: "exact", start: startNext(wideLayout, false)},
	{name: "coarse", start: startNext(wideLayout, true)},
	{name: "local", start: startLocal(wideLayout, true)},
	{name: "exactlocal", start: startLocal(wideLayout, false)},
	{name: "fill", perOp: batch, start: startFill(wideLayout)},
	{name: "randexact", start: startNext(wideRandflakeLayout, false)},
	{name: "randcoarse", start: startNext(wideRandflakeLayout, true)},
	{name: "randfill", perOp: batch, start: startFill(wideRandflakeLayout)},
}

// wideLayout has enough sequence for two cores that Fill: 33 million in a
// millisecond. What is left for the time is four years, hence the epoch.
func wideLayout() (snowfence.Layout, error) {
	return snowfence.ParseLayout(fmt.Sprintf("time=37,node=1,seq=25,epoch=%d-01-01T00:00:00Z,tick=1ms",
		time.Now().UTC().Year()))
}

// wideRandflakeLayout is wideLayout under Randflake's cipher, because
// Randflake itself has 131,072 IDs a second.
func wideRandflakeLayout() (snowfence.Layout, error) {
	l, err := wideLayout()
	l.Cipher = snowfence.SPARX
	return l, err
}

func startGenerator(b *testing.B, layout func() (snowfence.Layout, error), coarse bool) *snowfence.Generator {
	l := must(layout())
	var keys []*snowfence.Secret
	if l.Cipher != snowfence.Plain {
		keys = append(keys, snowfence.GenerateSecret())
	}
	s := must(snowfence.NewScheme(l, keys...))
	g := must(snowfence.New(snowfence.Config{Fence: snowfence.Unguarded(s, 1), Coarse: coarse}))
	b.Cleanup(func() {
		noError(b, g.Close())
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
