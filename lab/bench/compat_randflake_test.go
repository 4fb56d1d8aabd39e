package bench

import (
	"testing"

	"github.com/snowfence/snowfence"
	compat "github.com/snowfence/snowfence/compat/randflake"
	"gosuda.org/randflake"
)

// A node of Randflake has 131,072 IDs a second, which take some
// milliseconds. So each slice is of another node or secret, and none waits.
const randflakeSlice = 100_000

const randflakeStart, randflakeEnd = randflake.RANDFLAKE_EPOCH_OFFSET, randflake.RANDFLAKE_MAX_TIMESTAMP

// randflakeLayer has the three ways to make Randflakes.
func randflakeLayer() layer {
	return layer{
		next: randflakeNext,
		layer: func(*testing.B) slicer {
			return func() (next, error) {
				secret := randomSecret() // the process remembers the second in which one was used
				g, err := compat.NewGenerator(1, randflakeStart, randflakeEnd, secret)
				if err != nil {
					return nil, err
				}
				return g.Generate, nil
			}
		},
		original: func(*testing.B) slicer {
			secret, node := randomSecret(), int64(0)
			return func() (next, error) {
				node++
				g, err := randflake.NewGenerator(node, randflakeStart, randflakeEnd, secret)
				if err != nil {
					return nil, err
				}
				return g.Generate, nil
			}
		},
	}
}

func randflakeNext(b *testing.B) slicer {
	secret, node := snowfence.GenerateSecret(), int64(0)
	return func() (next, error) {
		node++
		return nextOf(b, snowfence.Randflake(), snowfence.Config{}, node, secret)
	}
}

// randflakeOn is the layer over a fence.
func randflakeOn(b *testing.B) slicer {
	return func() (next, error) {
		s, err := snowfence.NewScheme(snowfence.Randflake(), snowfence.GenerateSecret())
		if err != nil {
			return nil, err
		}
		g, err := compat.NewOn(snowfence.Unguarded(s, 1))
		if err != nil {
			return nil, err
		}
		b.Cleanup(func() { g.Close() })
		return g.Generate, nil
	}
}

func randomSecret() []byte { return snowfence.GenerateSecret().AppendSecret(nil)[:16] }
