package compat

import (
	"context"
	"testing"
	"time"

	sony2 "github.com/sony/sonyflake/v2"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/sonyflake"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Programs from the issues of sony/sonyflake, and close relatives. What repeats IDs with the
// original repeats none with the layer. #39, a clock that steps back, is a test of the layer.
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

// #63 and zitadel#10484: the lowest 16 bits of an address, which two machines can share. Leases
// give each its own number.
func TestSonyflakeOnLeases(t *testing.T) {
	scheme, err := snowfence.NewScheme(snowfence.MustLayout("sonyflake-v2"))
	if err != nil {
		t.Fatal(err)
	}
	store := store.NewMemory()
	ids := atOnce(4, func() (ids []int64) {
		l, err := lease.Open(context.Background(), store, "default", scheme, &lease.Options{Create: true})
		if err != nil {
			t.Error(err)
			return nil
		}
		defer l.Close()
		sf, err := sonyflake.NewOn(l)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer sf.Close()
		make := next(t, sf, nil)
		for range 2000 {
			ids = append(ids, make())
		}
		return ids
	})
	if d := duplicates(ids); d != 0 || len(ids) != 8000 {
		t.Errorf("%d IDs, %d duplicates", len(ids), d)
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
