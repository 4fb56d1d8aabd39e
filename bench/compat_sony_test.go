package bench

import (
	"testing"
	"time"

	sonyflake2 "github.com/sony/sonyflake/v2"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/sonyflake"
	v1 "github.com/snowfence/snowfence/compat/sonyflake/v1"
)

// sonyflakeWide are settings under which no time unit is ever full.
var sonyflakeWide = sonyflake2.Settings{
	BitsSequence: 30, BitsMachineID: 1, StartTime: time.Now().Add(-time.Hour).Truncate(time.Second),
}

func startSonyflakeLayer(st sonyflake2.Settings) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		st.MachineID = func() (int, error) { return 1, nil }
		sf, err := sonyflake.New(sonyflake.Settings(st))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { sf.Close() })
		return func() work {
			return func(n int) error {
				var x int64
				for range n {
					id, err := sf.NextID()
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

func startSonyflakeLayerV1(b *testing.B) func() work {
	sf, err := v1.New(v1.Settings{MachineID: func() (uint16, error) { return 1, nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { sf.Close() })
	return func() work {
		return func(n int) error {
			var x uint64
			for range n {
				id, err := sf.NextID()
				if err != nil {
					return err
				}
				x ^= id
			}
			sink.Store(x)
			return nil
		}
	}
}

// startSonyflakeNext is Generator.Next with the layout of settings of version 2.
func startSonyflakeNext(st sonyflake2.Settings) func(*testing.B) func() work {
	return startNext(func() (snowfence.Layout, error) {
		l := snowfence.MustLayout("sonyflake-v2")
		if st.BitsSequence > 0 {
			l.Epoch, l.Last = st.StartTime, 1<<st.BitsSequence-1
			l.Fields = []snowfence.Field{
				{Name: snowfence.FieldTime, Bits: 63 - st.BitsSequence - st.BitsMachineID},
				{Name: snowfence.FieldSequence, Bits: st.BitsSequence},
				{Name: snowfence.FieldNode, Bits: st.BitsMachineID},
			}
		}
		return l, l.Validate()
	}, false)
}
