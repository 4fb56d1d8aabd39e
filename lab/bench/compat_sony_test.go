package bench

import (
	"testing"
	"time"

	sonyflake2 "github.com/sony/sonyflake/v2"

	"github.com/snowfence/snowfence"
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
