package compat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	yitter "github.com/yitter/idgenerator-go/idgen"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/idgen"
)

// driftBase is a BaseTime of its own for each setting, so that no test
// waits for the IDs of another.
func driftBase(i int) int64 { return 1_400_000_000_000 + int64(i)*1_000_003 }

// driftOriginal returns the options of the Go original, which has no data
// centers and no seconds.
func driftOriginal(o idgen.IdGeneratorOptions) *yitter.IdGeneratorOptions {
	return &yitter.IdGeneratorOptions{
		Method: o.Method, BaseTime: o.BaseTime, WorkerId: o.WorkerId, WorkerIdBitLength: o.WorkerIdBitLength,
		SeqBitLength: o.SeqBitLength, MaxSeqNumber: o.MaxSeqNumber, MinSeqNumber: o.MinSeqNumber,
		TopOverCostCount: o.TopOverCostCount,
	}
}

// driftSettings are settings of the Go original, in which it makes 100,000
// IDs without much waiting. Their workers are such that it cuts no bit of
// them.
func driftSettings() []idgen.IdGeneratorOptions {
	list := []idgen.IdGeneratorOptions{
		{Method: 1, WorkerId: 1, WorkerIdBitLength: 6, SeqBitLength: 6, MinSeqNumber: 5, TopOverCostCount: 2000},
		{Method: 1, WorkerId: 63, WorkerIdBitLength: 6, SeqBitLength: 10, MinSeqNumber: 5, TopOverCostCount: 2000},
		{Method: 1, WorkerId: 15, WorkerIdBitLength: 10, SeqBitLength: 12, MinSeqNumber: 5, TopOverCostCount: 10000},
		{Method: 1, WorkerId: 2047, WorkerIdBitLength: 17, SeqBitLength: 5, MinSeqNumber: 5, TopOverCostCount: 10000},
		{Method: 1, WorkerId: 0, WorkerIdBitLength: 1, SeqBitLength: 21, MinSeqNumber: 5},
		{Method: 1, WorkerId: 3, WorkerIdBitLength: 2, SeqBitLength: 12, MinSeqNumber: 1000, MaxSeqNumber: 1999},
		{Method: 2, WorkerId: 7, WorkerIdBitLength: 5, SeqBitLength: 13, MinSeqNumber: 9},
	}
	for i := range list {
		list[i].BaseTime = driftBase(i)
	}
	return list
}

// TestDriftBothWays makes IDs with each of the two and reads them with the
// other, every field and the time, and the time of numbers that no
// generator made.
func TestDriftBothWays(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for i, o := range driftSettings() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			ours, err := idgen.TryNewDefaultIdGenerator(&o)
			must(t, err)
			defer ours.Close()
			theirs := yitter.NewDefaultIdGenerator(driftOriginal(o))
			layout, err := o.Layout()
			must(t, err)
			scheme, err := snowfence.NewScheme(layout)
			must(t, err)
			for who, next := range []func() int64{ours.NewLong, theirs.NewLong} {
				last := int64(0)
				for range n {
					id := next()
					if id <= last {
						t.Fatalf("maker %d: %d after %d", who, id, last)
					}
					last = id
					p, err := scheme.Check(snowfence.ID(id), nil)
					if err != nil || p.Node != int64(o.WorkerId) || p.Sequence < int64(o.MinSeqNumber) {
						t.Fatalf("maker %d: ID %d has the parts %+v, error %v", who, id, p, err)
					}
					a, b := ours.ExtractTime(id), theirs.ExtractTime(id)
					if a != b || !a.Equal(p.Time) {
						t.Fatalf("maker %d: ID %d is of %v, the original says %v, the scheme %v", who, id, a, b, p.Time)
					}
					if again, err := scheme.Compose(p); err != nil || int64(again) != id {
						t.Fatalf("maker %d: %d, %v, composed from the parts of %d", who, again, err, id)
					}
					if again := driftCompose(o, p); again != id {
						t.Fatalf("maker %d: the original composes %d from the parts of %d", who, again, id)
					}
				}
			}
			for i := range 2000 {
				id := int64(uint64(i) * 0x9e3779b97f4a7c15)
				if a, b := ours.ExtractTime(id), theirs.ExtractTime(id); a != b {
					t.Fatalf("%d is of %v, the original says %v", id, a, b)
				}
			}
		})
	}
}

// driftCompose asks the original for the ID of some parts. A new worker
// starts with its first number.
func driftCompose(o idgen.IdGeneratorOptions, p snowfence.Parts) int64 {
	theirs := driftOriginal(o)
	theirs.WorkerId, theirs.MinSeqNumber = uint16(p.Node), uint32(p.Sequence)
	return yitter.NewSnowWorkerM1(theirs).(*yitter.SnowWorkerM1).CalcId(p.Tick)
}

// TestDriftOfTheCSharpPort compares with the formula of that port where the
// Go original has no such option. Its data center is shifted by its own
// length, which is right where that is the length of what stands below.
func TestDriftOfTheCSharpPort(t *testing.T) {
	for i, o := range []idgen.IdGeneratorOptions{
		{WorkerId: 5, WorkerIdBitLength: 5, SeqBitLength: 20, MinSeqNumber: 5, TimestampType: 1},
		{WorkerId: 3, WorkerIdBitLength: 4, SeqBitLength: 6, MinSeqNumber: 5, DataCenterId: 1000, DataCenterIdBitLength: 10},
		{
			WorkerId: 3, WorkerIdBitLength: 4, SeqBitLength: 17, MinSeqNumber: 5, DataCenterId: 600,
			DataCenterIdBitLength: 10, TimestampType: 1,
		},
	} {
		o.BaseTime = driftBase(100 + i)
		g, err := idgen.TryNewDefaultIdGenerator(&o)
		must(t, err)
		tick := int64(1)
		if o.TimestampType == 1 {
			tick = 1000
		}
		below := o.WorkerIdBitLength + o.SeqBitLength
		shift := below + o.DataCenterIdBitLength
		last := int64(0)
		for range 100_000 {
			id := g.NewLong()
			seq := id & (1<<o.SeqBitLength - 1)
			time, center := id>>shift, int64(o.DataCenterId)<<below
			if again := time<<shift + center + int64(o.WorkerId)<<o.SeqBitLength + seq; again != id || id <= last {
				t.Fatalf("setting %d: %d after %d; its parts equal those in %d", i, id, last, again)
			}
			if seq < 5 || g.ExtractTime(id).UnixMilli() != o.BaseTime+time*tick {
				t.Fatalf("setting %d: ID %d has the number %d and the time %v", i, id, seq, g.ExtractTime(id))
			}
			// The time of an ID of that port is read too, where its sum
			// stays below the time.
			theirs := time<<shift + int64(o.DataCenterId)<<o.DataCenterIdBitLength + id&(1<<below-1)
			if theirs>>shift == time && g.ExtractTime(theirs) != g.ExtractTime(id) {
				t.Fatalf("setting %d: ID %d of the C# port is of %v", i, theirs, g.ExtractTime(theirs))
			}
			last = id
		}
	}
}

// TestDriftRefusesWhatTheOriginalRefuses goes through the bounds of all
// options together.
func TestDriftRefusesWhatTheOriginalRefuses(t *testing.T) {
	now := time.Now().UnixMilli()
	var taken, refused, stricter int
	try := func(o idgen.IdGeneratorOptions) {
		theirs := driftPanics(func() { yitter.NewDefaultIdGenerator(driftOriginal(o)) })
		_, err := o.Layout()
		above := o.MaxSeqNumber != 0 && o.MinSeqNumber > o.MaxSeqNumber // makes an ID a tick, beyond the last number
		wraps := int(o.WorkerIdBitLength)+int(o.SeqBitLength) > 255     // a byte holds no such sum
		switch {
		case err == nil && !theirs:
			taken++
		case err != nil && theirs:
			refused++
		case err == nil:
			t.Fatalf("%+v is taken; the original refuses it", o)
		case above || wraps:
			stricter++
		default:
			t.Fatalf("%+v is refused: %v; the original takes it", o, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "idgen: ") {
			t.Fatalf("error %v", err)
		}
	}
	for _, base := range []int64{0, 631123199999, 631123200000, 1582136402000, now - 1000, now + 3_600_000} {
		for _, worker := range []byte{0, 1, 6, 15, 16, 17, 19, 20, 21, 22, 250} {
			for _, id := range []uint16{0, 1, 2, 63, 64, 65535} {
				for _, seq := range []byte{0, 1, 2, 3, 6, 21, 22, 200} {
					for _, first := range []uint32{0, 4, 5, 7, 8, 63, 64} {
						for _, last := range []uint32{0, 4, 5, 7, 8, 63, 64} {
							try(idgen.IdGeneratorOptions{
								Method: 2, BaseTime: base, WorkerIdBitLength: worker, WorkerId: id, SeqBitLength: seq,
								MinSeqNumber: first, MaxSeqNumber: last, TopOverCostCount: uint32(seq) * 477,
							})
						}
					}
				}
			}
		}
	}
	if taken == 0 || refused == 0 || stricter == 0 {
		t.Errorf("%d taken, %d refused, %d refused here alone", taken, refused, stricter)
	}
}

func driftPanics(f func()) (paniced bool) {
	defer func() { paniced = recover() != nil }()
	f()
	return false
}
