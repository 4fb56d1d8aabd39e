package bench

import (
	"testing"
	"time"

	sonyflake2 "github.com/sony/sonyflake/v2"
	yitter "github.com/yitter/idgenerator-go/idgen"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/idgen"
	"github.com/snowfence/snowfence/compat/sonyflake"
)

// sonyflakeWide are settings under which no time unit is ever full.
var sonyflakeWide = sonyflake2.Settings{
	BitsSequence: 30, BitsMachineID: 1, StartTime: time.Now().Add(-time.Hour).Truncate(time.Second),
}

// sonyflakeLayer has the three ways to make IDs with settings of version 2.
func sonyflakeLayer(st sonyflake2.Settings) layer {
	st.MachineID = func() (int, error) { return 1, nil }
	return layer{
		next: func(b *testing.B) slicer {
			l := snowfence.MustLayout("sonyflake-v2")
			l.Epoch, l.Last = st.StartTime, 1<<st.BitsSequence-1
			l.Fields = []snowfence.Field{
				{Name: snowfence.FieldTime, Bits: 63 - st.BitsSequence - st.BitsMachineID},
				{Name: snowfence.FieldSequence, Bits: st.BitsSequence},
				{Name: snowfence.FieldNode, Bits: st.BitsMachineID},
			}
			return one(nextOf(b, l, snowfence.Config{}, 1))
		},
		layer: func(b *testing.B) slicer {
			sf, err := sonyflake.New(sonyflake.Settings(st))
			if err != nil {
				return one(nil, err)
			}
			b.Cleanup(func() { sf.Close() })
			return one(sf.NextID, nil)
		},
		original: func(*testing.B) slicer {
			sf, err := newSonyflake2(st)
			return one(func() (int64, error) { return sf.NextID() }, err)
		},
	}
}

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
