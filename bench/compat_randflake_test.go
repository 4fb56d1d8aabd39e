package bench

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	compat "github.com/snowfence/snowfence/compat/randflake"
	"gosuda.org/randflake"
)

// A node of Randflake has 131,072 IDs a second, which take some milliseconds. So each slice
// is of another node or secret, and none waits.
const randflakeSlice = 100_000

const randflakeStart, randflakeEnd = randflake.RANDFLAKE_EPOCH_OFFSET, randflake.RANDFLAKE_MAX_TIMESTAMP

func startRandflakeNext(b *testing.B) func() work {
	s, err := snowfence.NewScheme(snowfence.Randflake(), snowfence.GenerateSecret())
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	return func() work {
		node := int64(0)
		return func(n int) error {
			node++
			g, err := snowfence.New(snowfence.Config{Fence: snowfence.Unguarded(s, node)})
			if err != nil {
				return err
			}
			var x snowfence.ID
			for range n {
				id, err := g.Next(ctx)
				if err != nil {
					return err
				}
				x ^= id
			}
			sink.Store(uint64(x))
			return g.Close()
		}
	}
}

func startRandflakeLayer(source func() int64) func(*testing.B) func() work {
	return func(*testing.B) func() work {
		return func() work {
			return func(n int) error {
				secret := randomSecret() // the process remembers the second in which one was used
				g, err := compat.NewGenerator(1, randflakeStart, randflakeEnd, secret)
				if err != nil {
					return err
				}
				g.TimeSource = source
				var x int64
				for range n {
					id, err := g.Generate()
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

func startRandflakeOriginal(source func() int64) func(*testing.B) func() work {
	return func(*testing.B) func() work {
		secret := randomSecret()
		return func() work {
			node := int64(0)
			return func(n int) error {
				node++
				g, err := randflake.NewGenerator(node, randflakeStart, randflakeEnd, secret)
				if err != nil {
					return err
				}
				g.TimeSource = source
				var x int64
				for range n {
					id, err := g.Generate()
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

// startRandflakeOn is the layer over a fence.
func startRandflakeOn(*testing.B) func() work {
	return func() work {
		return func(n int) error {
			s, err := snowfence.NewScheme(snowfence.Randflake(), snowfence.GenerateSecret())
			if err != nil {
				return err
			}
			g, err := compat.NewOn(snowfence.Unguarded(s, 1))
			if err != nil {
				return err
			}
			var x int64
			for range n {
				id, err := g.Generate()
				if err != nil {
					return err
				}
				x ^= id
			}
			sink.Store(uint64(x))
			return g.Close()
		}
	}
}

func randomSecret() []byte { return snowfence.GenerateSecret().AppendSecret(nil)[:16] }

func unixTime() int64 { return time.Now().Unix() }
