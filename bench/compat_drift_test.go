package bench

import (
	"testing"
	"time"

	yitter "github.com/yitter/idgenerator-go/idgen"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/idgen"
)

// snow-drift runs 2000 ms ahead, and then waits. So each slice sets new options, as the program of
// the original would at its start, and makes fewer IDs than that.
const (
	driftTop  = 2000
	driftIDs  = 500_000
	driftTick = 1<<6 - 5 // IDs of a millisecond by default
)

// driftEpoch is a BaseTime that no slice had before, because the layer goes on above its own IDs.
func driftEpoch() func() int64 {
	base := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	return func() int64 { base++; return base }
}

func driftOptions(workerBits, seqBits byte, base int64) *idgen.IdGeneratorOptions {
	o := idgen.NewIdGeneratorOptions(1)
	o.WorkerIdBitLength, o.SeqBitLength, o.BaseTime = workerBits, seqBits, base
	return o
}

func startDrift(workerBits, seqBits byte) func(*testing.B) func() work {
	return func(*testing.B) func() work {
		epoch := driftEpoch()
		return func() work {
			return func(n int) error {
				if err := idgen.TrySetIdGenerator(driftOptions(workerBits, seqBits, epoch())); err != nil {
					return err
				}
				var x int64
				for range n {
					x ^= idgen.NextId()
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}
}

func startDriftOriginal(workerBits, seqBits byte) func(*testing.B) func() work {
	return func(*testing.B) func() work {
		epoch := driftEpoch()
		return func() work {
			return func(n int) error {
				o := yitter.NewIdGeneratorOptions(1)
				o.WorkerIdBitLength, o.SeqBitLength, o.BaseTime = workerBits, seqBits, epoch()
				yitter.SetIdGenerator(o)
				var x int64
				for range n {
					x ^= yitter.NextId()
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}
}

func startDriftNext(workerBits, seqBits byte) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		epoch, ctx := driftEpoch(), b.Context()
		return func() work {
			return func(n int) error {
				l, err := driftOptions(workerBits, seqBits, epoch()).Layout()
				if err != nil {
					return err
				}
				s, err := snowfence.NewScheme(l)
				if err != nil {
					return err
				}
				g, err := snowfence.New(snowfence.Config{Fence: snowfence.Unguarded(s, 1), Lead: driftTop})
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
}
