package bench

import (
	"testing"
	"time"

	yitter "github.com/yitter/idgenerator-go/idgen"

	"github.com/snowfence/snowfence/compat/idgen"

	"github.com/snowfence/snowfence"
)

// snow-drift runs at most 2000 ms ahead, and then waits. So each slice sets
// new options, as a program does at its start, and makes fewer IDs than
// that limit allows.
const (
	driftTop = 2000
	driftIDs = 500_000
)

// driftEpoch is a BaseTime that no slice had before, because the layer goes
// on above its own IDs.
func driftEpoch() func() int64 {
	base := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	return func() int64 { base++; return base }
}

func driftOptions(workerBits, seqBits byte, base int64) *idgen.IdGeneratorOptions {
	o := idgen.NewIdGeneratorOptions(1)
	o.WorkerIdBitLength, o.SeqBitLength, o.BaseTime = workerBits, seqBits, base
	return o
}

// driftLayer has the three ways to make IDs with options of snow-drift.
func driftLayer(workerBits, seqBits byte) layer {
	return layer{
		next: func(b *testing.B) slicer {
			epoch := driftEpoch()
			return func() (next, error) {
				l, err := driftOptions(workerBits, seqBits, epoch()).Layout()
				if err != nil {
					return nil, err
				}
				return nextOf(b, l, snowfence.Config{Lead: driftTop}, 1)
			}
		},
		layer: func(*testing.B) slicer {
			epoch := driftEpoch()
			return func() (next, error) {
				err := idgen.TrySetIdGenerator(driftOptions(workerBits, seqBits, epoch()))
				return func() (int64, error) { return idgen.NextId(), nil }, err
			}
		},
		original: func(*testing.B) slicer {
			epoch := driftEpoch()
			return func() (next, error) {
				o := yitter.NewIdGeneratorOptions(1)
				o.WorkerIdBitLength, o.SeqBitLength, o.BaseTime = workerBits, seqBits, epoch()
				yitter.SetIdGenerator(o)
				return func() (int64, error) { return yitter.NextId(), nil }, nil
			}
		},
	}
}
