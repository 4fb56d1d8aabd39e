package idgen

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// TestBadOptionsAreRefused has each bound of each option, and beside it the
// last value that is taken.
func TestBadOptionsAreRefused(t *testing.T) {
	now := time.Now().UnixMilli()
	seconds := func(o *IdGeneratorOptions) { o.TimestampType = 1 }
	center := func(id uint32, bits byte) func(*IdGeneratorOptions) {
		return func(o *IdGeneratorOptions) { o.DataCenterId, o.DataCenterIdBitLength = id, bits }
	}
	bits := func(worker, seq byte) func(*IdGeneratorOptions) {
		return func(o *IdGeneratorOptions) { o.WorkerIdBitLength, o.SeqBitLength = worker, seq }
	}
	numbers := func(first, last uint32) func(*IdGeneratorOptions) {
		return func(o *IdGeneratorOptions) { o.MinSeqNumber, o.MaxSeqNumber = first, last }
	}
	for _, tt := range []struct {
		name    string
		changes []func(*IdGeneratorOptions)
		fault   string // in the error; "" where the options are good
	}{
		{"defaults", nil, ""},
		{"base time of 0", all(func(o *IdGeneratorOptions) { o.BaseTime = 0 }), "BaseTime is 0"},
		{"base time in 1989", all(func(o *IdGeneratorOptions) { o.BaseTime = 631123199999 }), "BaseTime is 631123199999"},
		{"base time in 1990", all(func(o *IdGeneratorOptions) { o.BaseTime = 631123200000 }), ""},
		{"base time now", all(func(o *IdGeneratorOptions) { o.BaseTime = now }), ""},
		{"base time to come", all(func(o *IdGeneratorOptions) { o.BaseTime = now + 3_600_000 }), "in the future"},
		{"base time in seconds", all(func(o *IdGeneratorOptions) { o.BaseTime = 1582136402 }), "milliseconds since 1970"},
		{"no worker bits", all(bits(0, 6)), "WorkerIdBitLength is 0"},
		{"19 worker bits", all(bits(19, 3)), ""},
		{"20 worker bits", all(bits(20, 3), seconds), "WorkerIdBitLength is 20"},
		{"bits that add up to 4 in a byte", all(bits(250, 10)), "WorkerIdBitLength is 250"},
		{"22 bits", all(bits(10, 12)), ""},
		{"23 bits", all(bits(11, 12)), "together; want at most 22"},
		{"22 bits with a data center", all(bits(5, 12), center(31, 5)), ""},
		{"23 bits with a data center", all(bits(5, 12), center(31, 6)), "together; want at most 22"},
		{"31 bits of seconds", all(bits(10, 21), seconds), ""},
		{"32 bits of seconds", all(bits(11, 21), seconds), "together; want at most 31"},
		{"the last worker", all(func(o *IdGeneratorOptions) { o.WorkerId = 63 }), ""},
		{"a worker too high", all(func(o *IdGeneratorOptions) { o.WorkerId = 64 }), "WorkerId is 64"},
		{"the last worker of 16 bits", all(bits(16, 6), func(o *IdGeneratorOptions) { o.WorkerId = math.MaxUint16 }), ""},
		{"the last data center", all(center(3, 2)), ""},
		{"a data center too high", all(center(4, 2)), "DataCenterId is 4"},
		{"a data center without bits", all(center(1, 0)), "DataCenterId is 1"},
		{"2 sequence bits", all(bits(6, 2)), "SeqBitLength is 2"},
		{"3 sequence bits", all(bits(6, 3)), ""},
		{"21 sequence bits", all(bits(1, 21)), ""},
		{"22 sequence bits", all(bits(1, 22), seconds), "SeqBitLength is 22"},
		{"the highest last number", all(numbers(5, 63)), ""},
		{"a last number too high", all(numbers(5, 64)), "MaxSeqNumber is 64"},
		{"a reserved first number", all(numbers(4, 0)), "MinSeqNumber is 4"},
		{"no first number", all(numbers(0, 0)), "MinSeqNumber is 0"},
		{"one number", all(numbers(63, 0)), ""},
		{"a first number too high", all(numbers(64, 0)), "MinSeqNumber is 64"},
		{"one number below the highest", all(numbers(9, 9)), ""},
		{"a first number above the last", all(numbers(10, 9)), "MinSeqNumber is 10; want 5 to 9"},
		{"the longest drift", all(func(o *IdGeneratorOptions) { o.TopOverCostCount = 10000 }), ""},
		{"a drift too long", all(func(o *IdGeneratorOptions) { o.TopOverCostCount = 10001 }), "TopOverCostCount is 10001"},
		{"an unknown kind of time", all(func(o *IdGeneratorOptions) { o.TimestampType = 2 }), "TimestampType is 2"},
		{"an unknown method", all(func(o *IdGeneratorOptions) { o.Method = 3 }), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := NewIdGeneratorOptions(1)
			for _, change := range tt.changes {
				change(o)
			}
			_, errLayout := o.Layout()
			g, err := TryNewDefaultIdGenerator(o)
			paniced := catch(func() { NewDefaultIdGenerator(o).Close() })
			if now := time.UnixMilli(o.BaseTime); o.check(now) != nil && tt.fault == "" {
				t.Error("refused at its base time")
			}
			if tt.fault == "" {
				if errLayout != nil || err != nil || paniced != nil {
					t.Fatalf("errors %v and %v, panic %v", errLayout, err, paniced)
				}
				g.Close()
				return
			}
			for _, err := range []error{errLayout, err, paniced} {
				if err == nil || !strings.HasPrefix(err.Error(), "idgen: ") ||
					!strings.Contains(err.Error(), tt.fault) {
					t.Errorf("error %v; want one that says %q", err, tt.fault)
				}
			}
		})
	}
}

func all(changes ...func(*IdGeneratorOptions)) []func(*IdGeneratorOptions) { return changes }

// catch returns the error with which f panics.
func catch(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = p.(error)
		}
	}()
	f()
	return nil
}

func TestNilOptionsAreRefused(t *testing.T) {
	_, err := TryNewDefaultIdGenerator(nil)
	for _, err := range []error{
		err, TrySetIdGenerator(nil),
		catch(func() { NewDefaultIdGenerator(nil) }), catch(func() { SetIdGenerator(nil) }),
		catch(func() { NewSnowWorkerM1(nil) }), catch(func() { NewSnowWorkerM2(nil) }),
	} {
		says(t, err, "options are nil", "")
	}
}

func TestTimeBitsThatAreUsedUpAreRefused(t *testing.T) {
	o := NewIdGeneratorOptions(1)
	o.WorkerIdBitLength, o.SeqBitLength = 10, 12 // 41 bits of milliseconds are 69 years
	end := time.UnixMilli(baseTime + 1<<41)
	for _, tt := range []struct {
		now  time.Time
		want error
	}{{end.Add(-time.Millisecond), nil}, {end, snowfence.ErrLifetime}} {
		_, err := o.scheme(func() (time.Time, time.Duration) { return tt.now, 0 })
		if !errors.Is(err, tt.want) {
			t.Errorf("at %v: error %v, want %v", tt.now.UTC(), err, tt.want)
		}
	}
}

func TestDefaultsAreSnowDrifts(t *testing.T) {
	l, err := NewIdGeneratorOptions(1).Layout()
	if err != nil || !l.Equal(snowfence.MustLayout("drift")) {
		t.Errorf("layout %v, error %v; want %v", l, err, snowfence.MustLayout("drift"))
	}
}

func TestLayoutOfOptions(t *testing.T) {
	const spec = "epoch=2020-02-19T18:20:02Z,tick="
	for _, tt := range []struct {
		o    IdGeneratorOptions
		want string
	}{
		{
			IdGeneratorOptions{WorkerIdBitLength: 10, SeqBitLength: 12, MinSeqNumber: 5},
			"time=41,node=10,seq=12," + spec + "1ms,first=5",
		},
		{
			IdGeneratorOptions{WorkerIdBitLength: 6, SeqBitLength: 6, MinSeqNumber: 20, MaxSeqNumber: 40},
			"time=51,node=6,seq=6," + spec + "1ms,first=20,last=40",
		},
		{
			IdGeneratorOptions{
				WorkerIdBitLength: 10, SeqBitLength: 16, MinSeqNumber: 5, TimestampType: 1, DataCenterIdBitLength: 5,
			},
			"time=32,datacenter=5,worker=10,seq=16," + spec + "1s,first=5",
		},
	} {
		tt.o.BaseTime = baseTime
		if l, err := tt.o.Layout(); err != nil || l.String() != tt.want {
			t.Errorf("layout %v, error %v; want %s", l, err, tt.want)
		}
	}
}

func TestLeadIsTheDriftOfTheOptions(t *testing.T) {
	for _, tt := range []struct {
		o    IdGeneratorOptions
		want int64
	}{
		{IdGeneratorOptions{Method: 1, TopOverCostCount: 2000}, 2000},
		{IdGeneratorOptions{Method: 1, TopOverCostCount: 1}, 1},
		{IdGeneratorOptions{Method: 1}, 2000},
		{IdGeneratorOptions{TopOverCostCount: 10000}, 10000},
		{IdGeneratorOptions{Method: 2, TopOverCostCount: 2000}, 0},
		{IdGeneratorOptions{Method: 1, TopOverCostCount: 2000, TimestampType: 1}, 0},
	} {
		if got := tt.o.lead(); got != tt.want {
			t.Errorf("%+v: lead %d, want %d", tt.o, got, tt.want)
		}
	}
}

func TestWorkersTakeDefaultsForZeros(t *testing.T) {
	w := NewSnowWorkerM1(&IdGeneratorOptions{WorkerId: 63, MinSeqNumber: 5})
	p := parts(snowfence.MustLayout("drift"), w.NextId())
	if p.Node != 63 {
		t.Errorf("worker %d, want 63", p.Node)
	}
	if o := (&IdGeneratorOptions{Method: 1}).withDefaults(2); o.lead() != 0 {
		t.Errorf("lead %d of a worker M2, want 0", o.lead())
	}
}

func TestFencesNeedALayoutOfOptions(t *testing.T) {
	for _, tt := range []struct {
		spec string
		good bool
	}{
		{"drift", true},
		{"time=41,shard=10,seq=12,epoch=2020-02-19T18:20:02Z,first=5", true},
		{"time=41,region=3,worker=7,seq=12,epoch=2020-02-19T18:20:02Z,first=5,last=99", true},
		{"time=32,node=10,seq=21,epoch=2020-02-19T18:20:02Z,tick=1s,first=5", true},
		{"snowfence", false},                      // its numbers begin at 0
		{"time=41,node=10,seq=12,first=4", false}, // 4 is reserved
		{"time=40,node=10,seq=12,first=5", false},
		{"time=41,node=10,seq=12,tick=10ms,first=5", false},
		{"time=39,seq=8,node=16,first=5", false},
		{"time=43,seq=10,node=10,first=5", false},
		{"time=41,a=5,b=2,c=3,seq=12,first=5", false},
		{"time=41,node=8,rollback=2,seq=12,first=5", false},
		{"time=41,node=10,seq=12,epoch=2020-02-19T18:20:02.0001Z,first=5", false},
		{"time=63", false},
		{"randflake-raw", false},
		{"time=41,node=10,seq=12,epoch=2020-02-19T18:20:02Z,first=5,cipher=ff1", false},
	} {
		l, err := snowfence.ParseLayout(tt.spec)
		if err != nil && tt.spec != "time=63" {
			t.Fatal(err)
		}
		o, err := optionsOf(l)
		if (err == nil) != tt.good {
			t.Errorf("%s: error %v", tt.spec, err)
		}
		if err != nil {
			continue
		}
		if got := o.layout(); got.Width() != 63 || got.First != l.First || got.Last != l.Last || got.Tick != l.Tick {
			t.Errorf("%s: options of the layout %v", tt.spec, got)
		}
	}
}
