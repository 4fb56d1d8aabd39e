package bench

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/edwingeng/slog"
	wuid "github.com/edwingeng/wuid/callback/wuid"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	sonyflake1 "github.com/sony/sonyflake"
	sonyflake2 "github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"
	"go.etcd.io/etcd/pkg/v3/idutil"
	"gosuda.org/randflake"
)

// How many IDs each makes before it waits, by its default settings.
const (
	bwmarrinBurst  = 1 << 12 // in a millisecond
	sonyflakeBurst = 1 << 8  // in 10 ms
	// 59 in a millisecond, and it runs 2000 ms ahead before it waits for all of them
	yitterBurst    = (1<<6 - 5) * (2000 + 1)
	randflakeBurst = 1 << 17 // in a second
)

var others = []entry{
	{name: "bwmarrin", layout: "default", perOp: bwmarrinBurst, start: startBwmarrin(10, 12)},
	{name: "bwmarrin", layout: "wide", start: startBwmarrin(1, 21)},
	// Version 1 has constants for its widths, hence no wide entry.
	{name: "sonyflake1", layout: "default", perOp: sonyflakeBurst, start: startSonyflake1},
	{name: "sonyflake2", layout: "default", perOp: sonyflakeBurst, start: startSonyflake2(sonyflake2.Settings{})},
	// It wants 32 bits of time at least: 497 days of 10 ms, hence the fresh start time.
	{name: "sonyflake2", layout: "wide", start: startSonyflake2(sonyflakeWide)},
	{name: "yitter", layout: "default", perOp: yitterBurst, start: startYitter(6, 6)},
	{name: "yitter", layout: "wide", start: startYitter(1, 21)},
	{name: "randflake", layout: "default", perOp: randflakeBurst, start: startRandflake(false)},
	// Its widths are constants. What can be set is the time source: with one that goes on
	// by a second whenever the sequence has run out, it never waits, and what is left is
	// the work that it does for an ID.
	{name: "randflake", layout: "wide", start: startRandflake(true)},
	{name: "idutil", layout: "wide", start: func(*testing.B) func() work {
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
	{name: "wuid", layout: "wide", start: func(b *testing.B) func() work {
		g, err := newWUID(1)
		if err != nil {
			b.Fatal(err)
		}
		return func() work {
			return func(n int) error {
				var x int64
				for range n {
					x ^= g.Next()
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
	{name: "xid", layout: "wide", start: func(*testing.B) func() work {
		return func() work {
			return func(n int) error {
				var x byte
				for range n {
					id := xid.New()
					x ^= id[11]
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
	{name: "ulid", layout: "wide", start: func(*testing.B) func() work {
		return func() work {
			return func(n int) error {
				var x byte
				for range n {
					id := ulid.Make()
					x ^= id[15]
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
	{name: "uuid4", layout: "wide", start: startUUID(uuid.NewRandom)},
	{name: "uuid7", layout: "wide", start: startUUID(uuid.NewV7)},
	{name: "ksuid", layout: "wide", start: func(*testing.B) func() work {
		return func() work {
			return func(n int) error {
				var x byte
				for range n {
					id, err := ksuid.NewRandom()
					if err != nil {
						return err
					}
					x ^= id[19]
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
	{name: "rand", layout: "wide", start: func(*testing.B) func() work {
		return func() work {
			return func(n int) error {
				var x uint64
				for range n {
					x ^= rand.Uint64()
				}
				sink.Store(x)
				return nil
			}
		}
	}},
}

func startBwmarrin(nodeBits, stepBits uint8) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		node, err := newBwmarrin(nodeBits, stepBits)
		if err != nil {
			b.Fatal(err)
		}
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

// newBwmarrin sets the package variables that are this library's configuration, for as
// long as it takes.
func newBwmarrin(nodeBits, stepBits uint8) (*bwmarrin.Node, error) {
	defer func(n, s uint8) { bwmarrin.NodeBits, bwmarrin.StepBits = n, s }(bwmarrin.NodeBits, bwmarrin.StepBits)
	bwmarrin.NodeBits, bwmarrin.StepBits = nodeBits, stepBits
	return bwmarrin.NewNode(1)
}

func newSonyflake1() (*sonyflake1.Sonyflake, error) {
	return sonyflake1.New(sonyflake1.Settings{MachineID: func() (uint16, error) { return 1, nil }})
}

func startSonyflake1(b *testing.B) func() work {
	sf, err := newSonyflake1()
	if err != nil {
		b.Fatal(err)
	}
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
		sf, err := newSonyflake2(s)
		if err != nil {
			b.Fatal(err)
		}
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

func startRandflake(skip bool) func(*testing.B) func() work {
	return func(b *testing.B) func() work {
		g, err := newRandflake()
		if err != nil {
			b.Fatal(err)
		}
		var ahead atomic.Int64
		wait := func() { time.Sleep(time.Millisecond) }
		if skip {
			g.TimeSource = func() int64 { return time.Now().Unix() + ahead.Load() }
			wait = func() { ahead.Add(1) }
		}
		return func() work {
			return func(n int) error {
				var x int64
				for range n {
					id, err := g.Generate()
					for errors.Is(err, randflake.ErrResourceExhausted) || errors.Is(err,
						randflake.ErrConsistencyViolation) {
						wait()
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
}

// newWUID stands in for the data store, whose job is to give a higher number to each start.
func newWUID(high int64) (*wuid.WUID, error) {
	g := wuid.NewWUID("bench", slog.NewDumbLogger())
	return g, g.LoadH28WithCallback(func() (int64, func(), error) { return high, nil, nil })
}

func startUUID(next func() (uuid.UUID, error)) func(*testing.B) func() work {
	return func(*testing.B) func() work {
		return func() work {
			return func(n int) error {
				var x byte
				for range n {
					id, err := next()
					if err != nil {
						return err
					}
					x ^= id[15]
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}
}
