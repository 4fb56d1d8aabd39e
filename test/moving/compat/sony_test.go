package compat

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	sony1 "github.com/sony/sonyflake"
	sony2 "github.com/sony/sonyflake/v2"

	"github.com/snowfence/snowfence/compat/sonyflake"
	v1 "github.com/snowfence/snowfence/compat/sonyflake/v1"
)

// sonySettings are settings of version 2 that differ in all that the
// numbers of an ID depend on.
func sonySettings() []sony2.Settings {
	recent := time.Now().Add(-10*24*time.Hour - 1)
	return []sony2.Settings{
		{},
		{BitsSequence: 12, BitsMachineID: 10, TimeUnit: time.Millisecond},
		{BitsSequence: 10, BitsMachineID: 8, TimeUnit: time.Millisecond, StartTime: time.Unix(0, 0)},
		{BitsSequence: 1, BitsMachineID: 30, TimeUnit: time.Millisecond, StartTime: recent},
		{BitsSequence: 30, BitsMachineID: 1, TimeUnit: time.Second},
		{BitsSequence: 15, TimeUnit: 3 * time.Millisecond, StartTime: recent},
		{BitsSequence: 16, BitsMachineID: 15, TimeUnit: 7*time.Millisecond + 1, StartTime: recent},
		{BitsSequence: 20, BitsMachineID: 5, TimeUnit: time.Hour, StartTime: time.Unix(1600000000, 1)},
		// A start before 1970 rounds up, towards 1970.
		{BitsMachineID: 3, StartTime: time.Date(1969, 7, 20, 20, 17, 40, 5, time.UTC)},
		{BitsSequence: 9, TimeUnit: 50 * time.Millisecond, StartTime: time.Date(1901, 1, 1, 0, 0, 0, 3, time.UTC)},
	}
}

func TestSonyflakeBothWays(t *testing.T) {
	for i, st := range sonySettings() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(12, uint64(i)))
			bits := [2]int{cmp.Or(st.BitsSequence, 8), cmp.Or(st.BitsMachineID, 16)}
			machine := rng.IntN(1 << bits[1])
			st.MachineID = func() (int, error) { return machine, nil }
			theirs, err := sony2.New(st)
			must(t, err)
			ours, err := sonyflake.New(sonyflake.Settings(st))
			must(t, err)
			defer ours.Close()
			same := func(id int64) {
				t.Helper()
				if a, b := ours.Decompose(id), theirs.Decompose(id); !maps.Equal(a, b) {
					t.Fatalf("ID %d: %v, the original %v", id, a, b)
				}
				if a, b := ours.ToTime(id), theirs.ToTime(id); a != b {
					t.Fatalf("ID %d: time %v, the original %v", id, a, b)
				}
			}
			refused := 0
			unit := cmp.Or(st.TimeUnit, 10*time.Millisecond)
			life := min(math.Ldexp(float64(unit), 63-bits[0]-bits[1]), float64(200*365*24*time.Hour))
			for range many() {
				// In and around the lifetime; numbers within their bits,
				// and some around them.
				at := theirs.ToTime(0).Add(time.Duration(life * (rng.Float64()*1.25 - 0.125)))
				seq, node := rng.IntN(1<<bits[0]*9/8+2)-1, rng.IntN(1<<bits[1]*9/8+2)-1
				a, errA := ours.Compose(at, seq, node)
				b, errB := theirs.Compose(at, seq, node)
				if a != b || text(errA) != text(errB) {
					t.Fatalf("Compose(%v, %d, %d): %d, %v, the original %d, %v", at, seq, node, a, errA, b, errB)
				}
				if errA == nil {
					same(a)
				} else {
					refused++
				}
				same(int64(rng.Uint64()))
			}
			if refused == 0 || refused > many()*9/10 {
				t.Errorf("%d of %d compositions refused", refused, many())
			}
			// What one makes, the other reads, and makes itself from the
			// parts.
			last := [2]int64{}
			for range 500 {
				for who, next := range []func() (int64, error){ours.NextID, theirs.NextID} {
					id, err := next()
					if err != nil || id <= last[who] {
						t.Fatalf("%d after %d, %v", id, last[who], err)
					}
					last[who] = id
					same(id)
					for who, compose := range []func(time.Time, int, int) (int64, error){ours.Compose, theirs.Compose} {
						p := ours.Decompose(id)
						again, err := compose(ours.ToTime(id), int(p["sequence"]), int(p["machine"]))
						if err != nil || again != id || p["machine"] != int64(machine) {
							t.Fatalf("composer %d: %d, %v, from the parts of %d: %v", who, again, err, id, p)
						}
					}
				}
			}
		})
	}
}

func TestSonyflakeV1BothWays(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for _, start := range []time.Time{
		{},
		time.Unix(0, 0), time.Unix(1700000000, 987654321),
		time.Date(1955, 5, 5, 5, 5, 5, 5, time.UTC),
	} {
		machine := uint16(rng.Uint32())
		id := func() (uint16, error) { return machine, nil }
		theirs, err := sony1.New(sony1.Settings{StartTime: start, MachineID: id})
		must(t, err)
		ours, err := v1.New(v1.Settings{StartTime: start, MachineID: id})
		must(t, err)
		same := func(id uint64) {
			t.Helper()
			if a, b := v1.Decompose(id), sony1.Decompose(id); !maps.Equal(a, b) {
				t.Fatalf("ID %d: %v, the original %v", id, a, b)
			}
			if v1.ElapsedTime(id) != sony1.ElapsedTime(id) || v1.SequenceNumber(id) != sony1.SequenceNumber(id) ||
				v1.MachineID(id) != sony1.MachineID(id) {
				t.Fatalf("ID %d is read in another way", id)
			}
		}
		for range many() {
			at := time.Unix(rng.Int64N(12e9)-3e9, rng.Int64N(1e9))
			seq, node := uint16(rng.UintN(270)), uint16(rng.Uint32())
			a, errA := v1.Compose(ours, at, seq, node)
			b, errB := sony1.Compose(theirs, at, seq, node)
			if a != b || text(errA) != text(errB) {
				t.Fatalf("Compose(%v, %d, %d): %d, %v, the original %d, %v", at, seq, node, a, errA, b, errB)
			}
			same(a)
			same(rng.Uint64())
		}
		last := [2]uint64{}
		for range 2000 {
			for who, next := range []func() (uint64, error){ours.NextID, theirs.NextID} {
				id, err := next()
				if err != nil || id <= last[who] || sony1.MachineID(id) != uint64(machine) {
					t.Fatalf("%d after %d, %v", id, last[who], err)
				}
				last[who] = id
				same(id)
			}
		}
		// Both count time from one start.
		if d := v1.ElapsedTime(last[0]) - sony1.ElapsedTime(last[1]); d < -time.Minute || d > time.Minute {
			t.Errorf("start %v: %v apart", start, d)
		}
	}
}

// Who gives wrong settings gets the error of the original, and the same one
// where several are wrong.
func TestSonyflakeRefusals(t *testing.T) {
	own := errors.New("no metadata")
	var all []sony2.Settings
	for _, sequence := range []int{-1, 0, 1, 15, 16, 30, 31} {
		for _, machine := range []int{-1, 0, 1, 15, 30, 31} {
			for _, unit := range []time.Duration{-1, 0, 1, time.Millisecond - 1, time.Millisecond, time.Hour} {
				for _, start := range []time.Duration{-90 * 24 * time.Hour, time.Hour} {
					for _, find := range []func() (int, error){
						nil,
						func() (int, error) { return -1, nil },
						func() (int, error) { return 1 << 17, nil },
						func() (int, error) { return 1, nil },
						func() (int, error) { return 1, own },
					} {
						for _, check := range []func(int) bool{nil, func(int) bool { return false }} {
							all = append(all, sony2.Settings{
								BitsSequence: sequence, BitsMachineID: machine, TimeUnit: unit,
								StartTime: time.Now().Add(start), MachineID: find, CheckMachineID: check,
							})
						}
					}
				}
			}
		}
	}
	seen := map[string]int{}
	for _, st := range all {
		_, want := sony2.New(st)
		sf, got := sonyflake.New(sonyflake.Settings(st))
		if text(got) != text(want) || (got == nil) != (sf != nil) {
			t.Errorf("%+v: %v, the original %v", st, got, want)
		}
		if got == nil {
			sf.Close()
		}
		seen[text(want)]++
	}
	for _, e := range []struct{ ours, theirs error }{
		{sonyflake.ErrInvalidBitsTime, sony2.ErrInvalidBitsTime},
		{sonyflake.ErrInvalidBitsSequence, sony2.ErrInvalidBitsSequence},
		{sonyflake.ErrInvalidBitsMachineID, sony2.ErrInvalidBitsMachineID},
		{sonyflake.ErrInvalidTimeUnit, sony2.ErrInvalidTimeUnit},
		{sonyflake.ErrInvalidMachineID, sony2.ErrInvalidMachineID},
		{sonyflake.ErrStartTimeAhead, sony2.ErrStartTimeAhead},
	} {
		if text(e.ours) != text(e.theirs) || seen[text(e.theirs)] == 0 {
			t.Errorf("%v, the original %v: met %d times", e.ours, e.theirs, seen[text(e.theirs)])
		}
	}
	if seen[own.Error()] == 0 || seen[""] == 0 {
		t.Errorf("met %v", seen)
	}
	for _, e := range [][2]error{
		{sonyflake.ErrInvalidSequence, sony2.ErrInvalidSequence},
		{sonyflake.ErrOverTimeLimit, sony2.ErrOverTimeLimit},
		{sonyflake.ErrNoPrivateAddress, sony2.ErrNoPrivateAddress},
		{v1.ErrStartTimeAhead, sony1.ErrStartTimeAhead},
		{v1.ErrNoPrivateAddress, sony1.ErrNoPrivateAddress},
		{v1.ErrOverTimeLimit, sony1.ErrOverTimeLimit},
		{v1.ErrInvalidMachineID, sony1.ErrInvalidMachineID},
		{v1.ErrInvalidSequence, sony1.ErrInvalidSequence},
	} {
		if text(e[0]) != text(e[1]) {
			t.Errorf("%v, the original %v", e[0], e[1])
		}
	}
	for _, st := range []sony1.Settings{
		{},
		{StartTime: time.Now().Add(time.Hour)},
		{MachineID: func() (uint16, error) { return 1, own }},
		{CheckMachineID: func(uint16) bool { return false }},
		{StartTime: time.Now().Add(time.Hour), MachineID: func() (uint16, error) { return 1, own }},
	} {
		_, want := sony1.New(st)
		if _, got := v1.New(v1.Settings(st)); text(got) != text(want) {
			t.Errorf("version 1: %+v: %v, the original %v", st, got, want)
		}
		if (v1.NewSonyflake(v1.Settings(st)) == nil) != (sony1.NewSonyflake(st) == nil) {
			t.Errorf("version 1: %+v: NewSonyflake makes one and the other not", st)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// many is how many IDs of each setting are compared.
func many() int {
	if testing.Short() {
		return 10_000
	}
	return 100_000
}
