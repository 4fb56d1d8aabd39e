package bench

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	sonyflake1 "github.com/sony/sonyflake"
	sonyflake2 "github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"
	"go.etcd.io/etcd/pkg/v3/idutil"
	"gosuda.org/randflake"

	"github.com/snowfence/snowfence/internal/tests"
)

// sonyflakeBurst is how many IDs version 1 makes in 10 ms before it waits.
const sonyflakeBurst = 1 << 8

var others = []entry{
	{name: "bwmarrin", start: startBwmarrin(1, 21)},
	// Version 1 has constants for its widths.
	{name: "sonyflake1", perOp: sonyflakeBurst, waits: true, start: startSonyflake1},
	// It wants 32 bits of time at least: 497 days of 10 ms, hence the fresh
	// start time.
	{name: "sonyflake2", start: startSonyflake2(sonyflakeWide)},
	{name: "yitter", start: startYitter(1, 21)},
	// Its widths are constants, but its time source goes on by a second
	// whenever the sequence has run out.
	{name: "randflake", start: startRandflake},
	{name: "idutil", start: func(*testing.B) func() work {
		g := idutil.NewGenerator(1, time.Now())
		return func() work {
			return func(n int) error {
				var x uint64
				for range n {
					x ^= g.Next()
				}
				sink.Store(x)
				return nil
			}
		}
	}},
	{name: "uuid7", start: func(*testing.B) func() work {
		return func() work {
			return func(n int) error {
				var x byte
				for range n {
					id, err := uuid.NewV7()
					if err != nil {
						return err
					}
					x ^= id[15]
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
}

func startBwmarrin(nodeBits, stepBits uint8) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		node := must(newBwmarrin(nodeBits, stepBits))
		return func() work {
			return func(n int) error {
				var x bwmarrin.ID
				for range n {
					x ^= node.Generate()
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}
}

// newBwmarrin sets the package variables that are this library's
// configuration, for as long as it takes.
func newBwmarrin(nodeBits, stepBits uint8) (*bwmarrin.Node, error) {
	defer func(n, s uint8) { bwmarrin.NodeBits, bwmarrin.StepBits = n, s }(bwmarrin.NodeBits, bwmarrin.StepBits)
	bwmarrin.NodeBits, bwmarrin.StepBits = nodeBits, stepBits
	return bwmarrin.NewNode(1)
}

func newSonyflake1() (*sonyflake1.Sonyflake, error) {
	return sonyflake1.New(sonyflake1.Settings{MachineID: func() (uint16, error) { return 1, nil }})
}

func startSonyflake1(b *testing.B) func() work {
	sf := must(newSonyflake1())
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

func newSonyflake2(s sonyflake2.Settings) (*sonyflake2.Sonyflake, error) {
	s.MachineID = func() (int, error) { return 1, nil }
	return sonyflake2.New(s)
}

func startSonyflake2(s sonyflake2.Settings) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		sf := must(newSonyflake2(s))
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

func newYitter(workerBits, seqBits byte) *idgen.DefaultIdGenerator {
	o := idgen.NewIdGeneratorOptions(1)
	o.WorkerIdBitLength, o.SeqBitLength = workerBits, seqBits
	return idgen.NewDefaultIdGenerator(o)
}

func startYitter(workerBits, seqBits byte) func(*testing.B) func() work {
	return func(*testing.B) func() work {
		g := newYitter(workerBits, seqBits)
		return func() work {
			return func(n int) error {
				var x int64
				for range n {
					x ^= g.NewLong()
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}
}

func newRandflake() (*randflake.Generator, error) {
	return randflake.NewGenerator(1, randflake.RANDFLAKE_EPOCH_OFFSET,
		randflake.RANDFLAKE_MAX_TIMESTAMP, make([]byte, 16))
}

func startRandflake(b *testing.B) func() work {
	g := must(newRandflake())
	var ahead atomic.Int64
	g.TimeSource = func() int64 { return time.Now().Unix() + ahead.Load() }
	return func() work {
		return func(n int) error {
			var x int64
			for range n {
				id, err := g.Generate()
				for errors.Is(err, randflake.ErrResourceExhausted) ||
					errors.Is(err, randflake.ErrConsistencyViolation) {
					ahead.Add(1)
					id, err = g.Generate()
				}
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

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError
