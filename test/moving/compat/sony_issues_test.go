package compat

import (
	"testing"
	"time"

	sony2 "github.com/sony/sonyflake/v2"

	"github.com/snowfence/snowfence/compat/sonyflake"
)

// Programs from the issues of sony/sonyflake, and close relatives. What
// repeats IDs with the original repeats none with the layer. #39, a clock
// that steps back, is a test of the layer.
func TestSonyflakeDuplicates(t *testing.T) {
	type generate = func() int64
	start := time.Now().Add(-time.Hour)
	first := func() (int, error) { return 1, nil }
	original := func() generate {
		sf, err := sony2.New(sony2.Settings{StartTime: start, MachineID: first})
		return next(t, sf, err)
	}
	layer := func() generate {
		sf, err := sonyflake.New(sonyflake.Settings{StartTime: start, MachineID: first})
		return next(t, sf, err)
	}
	for name, program := range map[string]struct {
		run     func(instance func() generate) []int64
		repeats bool // with the original
	}{
		"#12: an instance for each ID": {func(instance func() generate) []int64 {
			return atOnce(100, func() (ids []int64) {
				for range 20 {
					ids = append(ids, instance()())
				}
				return ids
			})
		}, true},
		"an instance for each worker": {func(instance func() generate) []int64 {
			return atOnce(8, func() (ids []int64) {
				next := instance()
				for range 500 {
					ids = append(ids, next())
				}
				return ids
			})
		}, true},
		"#59: one instance for many threads": {func(instance func() generate) []int64 {
			next := instance()
			return atOnce(50, func() (ids []int64) {
				for range 100 {
					ids = append(ids, next())
				}
				return ids
			})
		}, false},
	} {
		if d := duplicates(program.run(original)); (d > 0) != program.repeats {
			t.Errorf("%s: %d duplicates of the original", name, d)
		}
		if d := duplicates(program.run(layer)); d != 0 {
			t.Errorf("%s: %d duplicates", name, d)
		}
	}
}

// next returns NextID of an instance as a plain function.
func next[N int64 | uint64](t *testing.T, sf interface{ NextID() (N, error) }, err error) func() int64 {
	if err != nil {
		t.Error(err)
		return func() int64 { return 0 }
	}
	return func() int64 {
		id, err := sf.NextID()
		if err != nil {
			t.Error(err)
		}
		return int64(id)
	}
}
