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
	type instance = func() generate
	compare(t, []program[instance]{
		{"#12: an instance for each ID", true, func(open instance, add func(...int64)) {
			threads(100, func(int) {
				for range 20 {
					add(open()())
				}
			})
		}},
		{"an instance for each worker", true, func(open instance, add func(...int64)) {
			threads(8, func(int) { take(500, open(), add) })
		}},
		{"#59: one instance for many threads", false, func(open instance, add func(...int64)) {
			next := open()
			threads(50, func(int) { take(100, next, add) })
		}},
	}, func(*testing.T, int) instance { return original }, func(*testing.T, int) instance { return layer })
}

// next returns NextID of an instance as a plain function.
func next[N int64 | uint64](t *testing.T, sf interface{ NextID() (N, error) }, err error) func() int64 {
	if err != nil {
		t.Error(err)
		return func() int64 { return 0 }
	}
	return func() int64 {
		id, err := sf.NextID()
		must(t, err)
		return int64(id)
	}
}
