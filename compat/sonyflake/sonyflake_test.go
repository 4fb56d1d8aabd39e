package sonyflake_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/sonyflake"
	v1 "github.com/snowfence/snowfence/compat/sonyflake/v1"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/nodes"
)

func machine(n int) func() (int, error) { return func() (int, error) { return n, nil } }

func next(t *testing.T, sf *sonyflake.Sonyflake) int64 {
	t.Helper()
	id, err := sf.NextID()
	if err != nil || id <= 0 {
		t.Fatalf("NextID: %d, %v", id, err)
	}
	return id
}

func TestDefaults(t *testing.T) {
	sf := must(sonyflake.New(sonyflake.Settings{MachineID: machine(4711)}))
	before := time.Now()
	id := next(t, sf)
	if p := sf.Decompose(id); p["machine"] != 4711 || p["id"] != id || p["sequence"] < 0 || p["sequence"] > 255 {
		t.Errorf("parts %v", p)
	}
	made := sf.ToTime(id)
	if made.Before(before.Add(-20*time.Millisecond)) || made.After(time.Now().Add(20*time.Millisecond)) {
		t.Errorf("made at %v, asked at %v", made, before)
	}
	s := must(snowfence.NewScheme(snowfence.MustLayout("sonyflake-v2")))
	p, err := s.Decode(snowfence.ID(id))
	if err != nil || !p.Time.Equal(made) || p.Node != 4711 {
		t.Errorf("the preset sonyflake-v2 reads %+v, %v", p, err)
	}
}

func TestDefaultMachineIDIsThePrivateAddress(t *testing.T) {
	want, found := nodes.FromIPv4(16).Number(context.Background())
	sf, err := sonyflake.New(sonyflake.Settings{})
	if found != nil {
		if err != sonyflake.ErrNoPrivateAddress { // callers compare with ==
			t.Fatalf("without a private address: %v", err)
		}
		return
	}
	tests.NoError(t, err)
	if got := sf.Decompose(next(t, sf))["machine"]; got != want {
		t.Errorf("machine %d, want %d", got, want)
	}
}

func TestMachineIDIsChecked(t *testing.T) {
	own := errors.New("no metadata")
	for _, test := range []struct {
		name string
		st   sonyflake.Settings
		want error
	}{
		{"error", sonyflake.Settings{MachineID: func() (int, error) { return 1, own }}, own},
		{"too large", sonyflake.Settings{MachineID: machine(1 << 16)}, sonyflake.ErrInvalidMachineID},
		{
			"too large for its bits",
			sonyflake.Settings{BitsMachineID: 3, MachineID: machine(8)},
			sonyflake.ErrInvalidMachineID,
		},
		{"negative", sonyflake.Settings{MachineID: machine(-1)}, sonyflake.ErrInvalidMachineID},
		{"refused", sonyflake.Settings{
			MachineID: machine(5), CheckMachineID: func(n int) bool { return n != 5 },
		}, sonyflake.ErrInvalidMachineID},
	} {
		if sf, err := sonyflake.New(test.st); err != test.want || sf != nil {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	checked := 0
	check := func(n int) bool { checked += n; return true }
	must(sonyflake.New(sonyflake.Settings{MachineID: machine(6), CheckMachineID: check}))
	if checked != 6 {
		t.Errorf("the check saw %d", checked)
	}
}

func TestStartTimeBefore1900IsRefused(t *testing.T) {
	for _, year := range []int{2, 1000, 1677, 1678, 1899} {
		start := time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)
		_, err := sonyflake.New(sonyflake.Settings{StartTime: start, MachineID: machine(1)})
		tests.WantErr(t, err, snowfence.ErrInvalidLayout, "year %d", year)
	}
}

// The original leaves out the time unit in which it was started at its
// StartTime: no ID is before StartTime, and none is 0.
func TestNoIDOfTheFirstTimeUnit(t *testing.T) {
	for range 20 {
		start := time.Now()
		unit := 5 * time.Millisecond
		sf := must(sonyflake.New(sonyflake.Settings{StartTime: start, TimeUnit: unit, MachineID: machine(0)}))
		if id := next(t, sf); sf.ToTime(id).Before(start) || sf.Decompose(id)["time"] == 0 {
			t.Fatalf("ID %d of %v, started at %v", id, sf.ToTime(id), start)
		}
	}
}

func TestBothVersionsShareOneGenerator(t *testing.T) {
	start := time.Now().Add(-2 * time.Hour)
	a := must(sonyflake.New(sonyflake.Settings{StartTime: start, MachineID: machine(9)}))
	b := must(v1.New(v1.Settings{StartTime: start, MachineID: func() (uint16, error) { return 9, nil }}))
	var ids []int64
	for range 1000 {
		ids = append(ids, next(t, a), int64(must(b.NextID())))
	}
	tests.Increasing(t, ids)
	// Two divisions of the same 24 bits could meet.
	_, err := sonyflake.New(sonyflake.Settings{
		StartTime: start, BitsSequence: 10, BitsMachineID: 14, MachineID: machine(9),
	})
	if !errors.Is(err, sonyflake.ErrOverlap) || !errors.Is(err, v1.ErrOverlap) {
		t.Errorf("settings whose IDs could be the same: %v", err)
	}
	// Other epochs are not compared, as there; other widths of the low bits
	// neither.
	must(sonyflake.New(sonyflake.Settings{
		StartTime: start.Add(time.Hour), BitsSequence: 10, BitsMachineID: 14, MachineID: machine(9),
	}))
}

// Ticks begin at whole units since 1970, so these two make the same IDs.
func TestStartTimesOfOneTimeUnitShareOneGenerator(t *testing.T) {
	start := time.Now().Add(-4 * time.Hour).Truncate(10 * time.Millisecond)
	a := must(sonyflake.New(sonyflake.Settings{StartTime: start.Add(1), MachineID: machine(9)}))
	b := must(sonyflake.New(sonyflake.Settings{StartTime: start.Add(10*time.Millisecond - 1), MachineID: machine(9)}))
	var ids []int64
	for range 500 {
		ids = append(ids, next(t, a), next(t, b))
	}
	tests.Increasing(t, ids)
	now := time.Now()
	x, errX := a.Compose(now, 1, 2)
	y, errY := b.Compose(now, 1, 2)
	if x != y || errX != nil || errY != nil {
		t.Errorf("composed %d, %v and %d, %v", x, errX, y, errY)
	}
}

// The original sleeps until the next unit, however long that is.
func TestFullTimeUnitIsWaitedForLongerThanASecond(t *testing.T) {
	t.Parallel()
	sf := must(sonyflake.New(sonyflake.Settings{
		StartTime: time.Now().Add(-time.Hour), TimeUnit: 1700 * time.Millisecond,
		BitsSequence: 1, BitsMachineID: 20, MachineID: machine(1),
	}))
	tests.Increasing(t, []int64{next(t, sf), next(t, sf), next(t, sf)}) // two in a unit
}
