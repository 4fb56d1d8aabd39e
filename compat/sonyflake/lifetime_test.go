package sonyflake_test

import (
	"context"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/sonyflake"
	"github.com/snowfence/snowfence/internal/tests"
)

// lifetime is 2^32 ms, the shortest that settings can have.
const lifetime = time.Millisecond << 32

func short(left time.Duration, machine int) sonyflake.Settings {
	return sonyflake.Settings{
		BitsSequence: 15, BitsMachineID: 16, TimeUnit: time.Millisecond, StartTime: time.Now().Add(left - lifetime),
		MachineID: func() (int, error) { return machine, nil },
	}
}

// The original is made after its lifetime too, and says in NextID that it
// is over.
func TestLifetimeIsOverAtTheStart(t *testing.T) {
	sf := must(sonyflake.New(short(-time.Minute, 1)))
	for range 3 {
		if id, err := sf.NextID(); err != sonyflake.ErrOverTimeLimit || id != 0 {
			t.Fatalf("NextID: %d, %v", id, err)
		}
		if id, err := sf.NextIDContext(context.Background()); err != sonyflake.ErrOverTimeLimit || id != 0 {
			t.Fatalf("NextIDContext: %d, %v", id, err)
		}
	}
	when := time.Now().Add(-2 * time.Minute)
	id, err := sf.Compose(when, 7, 9)
	if err != nil || sf.Decompose(id)["machine"] != 9 || when.Sub(sf.ToTime(id)) >= time.Millisecond {
		t.Errorf("Compose: %d, %v", id, err)
	}
	tests.NoError(t, sf.Close())
}

func TestLifetimeEndsWhileIDsAreMade(t *testing.T) {
	for _, next := range []func(*sonyflake.Sonyflake) (int64, error){
		(*sonyflake.Sonyflake).NextID,
		func(sf *sonyflake.Sonyflake) (int64, error) { return sf.NextIDContext(context.Background()) },
	} {
		sf, ids := must(sonyflake.New(short(200*time.Millisecond, 2))), []int64{}
		for {
			id, err := next(sf)
			if err != nil {
				if err != sonyflake.ErrOverTimeLimit || id != 0 {
					t.Errorf("after %d IDs: %d, %v", len(ids), id, err)
				}
				break
			}
			ids = append(ids, id)
		}
		tests.Increasing(t, ids)
		if _, err := next(sf); err != sonyflake.ErrOverTimeLimit {
			t.Errorf("once more: %v", err)
		}
	}
}

func TestOver(t *testing.T) {
	sf := must(sonyflake.New(short(time.Hour, 3)))
	for _, test := range []struct {
		at                time.Time
		sequence, machine int
		want              error
	}{
		{time.Now().Add(2 * time.Hour), 0, 0, sonyflake.ErrOverTimeLimit},
		{time.Now().Add(-lifetime), 0, 0, sonyflake.ErrStartTimeAhead},
		{time.Now(), 1 << 15, 0, sonyflake.ErrInvalidSequence},
		{time.Now(), -1, 0, sonyflake.ErrInvalidSequence},
		{time.Now(), 0, 1 << 16, sonyflake.ErrInvalidMachineID},
		{time.Now(), 0, -1, sonyflake.ErrInvalidMachineID},
	} {
		if id, err := sf.Compose(test.at, test.sequence, test.machine); err != test.want || id != 0 {
			t.Errorf("%v %d %d: %d, %v", test.at, test.sequence, test.machine, id, err)
		}
	}
}

func TestFenceWhoseLifetimeIsOver(t *testing.T) {
	l := snowfence.MustLayout("sonyflake-v2")
	l.Epoch = time.Now().Add(-lifetime - time.Minute).Truncate(time.Millisecond)
	l.Tick, l.Last = time.Millisecond, 1<<15-1
	l.Fields = []snowfence.Field{{Name: "time", Bits: 32}, {Name: "sequence", Bits: 15}, {Name: "node", Bits: 16}}
	s := must(snowfence.NewScheme(l))
	tests.WantErr(t, errOf(sonyflake.NewOn(snowfence.Unguarded(s, 1))), sonyflake.ErrOverTimeLimit, "NewOn")
}
