package sonyflake_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	sonyflake "github.com/snowfence/snowfence/compat/sonyflake/v1"
)

func machine(n uint16) func() (uint16, error) { return func() (uint16, error) { return n, nil } }

func TestFields(t *testing.T) {
	sf := sonyflake.NewSonyflake(sonyflake.Settings{MachineID: machine(0xffff)})
	before := time.Now()
	id, err := sf.NextID()
	if err != nil {
		t.Fatal(err)
	}
	made := time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC).Add(sonyflake.ElapsedTime(id))
	if made.Before(before.Add(-20*time.Millisecond)) || made.After(time.Now().Add(20*time.Millisecond)) {
		t.Errorf("made at %v, asked at %v", made, before)
	}
	want := map[string]uint64{
		"id": id, "msb": 0, "time": id >> 24, "sequence": sonyflake.SequenceNumber(id), "machine-id": 0xffff,
	}
	if got := sonyflake.Decompose(id); !maps.Equal(got, want) || sonyflake.MachineID(id) != 0xffff {
		t.Errorf("parts %v, want %v", got, want)
	}
	same, err := sonyflake.Compose(sf, made, uint16(want["sequence"]), 0xffff)
	if err != nil || same != id {
		t.Errorf("composed %d, %v, want %d", same, err, id)
	}
	if next, err := sf.NextIDContext(context.Background()); err != nil || next <= id {
		t.Errorf("%d after %d, %v", next, id, err)
	}
	if err := sf.Close(); err != nil {
		t.Error(err)
	}
	if _, err := sf.NextID(); !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	own := errors.New("no metadata")
	for name, test := range map[string]struct {
		st   sonyflake.Settings
		want error
	}{
		"start ahead": {sonyflake.Settings{StartTime: time.Now().Add(time.Hour)}, sonyflake.ErrStartTimeAhead},
		"machine":     {sonyflake.Settings{MachineID: func() (uint16, error) { return 0, own }}, own},
		"check": {sonyflake.Settings{
			MachineID:      machine(5),
			CheckMachineID: func(n uint16) bool { return n != 5 },
		}, sonyflake.ErrInvalidMachineID},
	} {
		if sf, err := sonyflake.New(test.st); err != test.want || sf != nil {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if sf := sonyflake.NewSonyflake(test.st); sf != nil {
			t.Errorf("%s: NewSonyflake made one", name)
		}
	}
	sf, err := sonyflake.New(sonyflake.Settings{StartTime: time.Now().Add(-time.Hour), MachineID: machine(1)})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		at       time.Time
		sequence uint16
		want     error
	}{
		"before the start": {time.Now().Add(-2 * time.Hour), 0, sonyflake.ErrStartTimeAhead},
		"after the end":    {time.Now().AddDate(175, 0, 0), 0, sonyflake.ErrOverTimeLimit},
		"sequence":         {time.Now(), 256, sonyflake.ErrInvalidSequence},
	} {
		if id, err := sonyflake.Compose(sf, test.at, test.sequence, 1); err != test.want || id != 0 {
			t.Errorf("%s: %d, %v, want %v", name, id, err, test.want)
		}
	}
}

func TestFences(t *testing.T) {
	on := func(l snowfence.Layout) (*sonyflake.Sonyflake, error) {
		s, err := snowfence.NewScheme(l)
		if err != nil {
			t.Fatal(err)
		}
		return sonyflake.NewOn(snowfence.Unguarded(s, 7))
	}
	sf, err := on(snowfence.MustLayout("sonyflake"))
	if err != nil {
		t.Fatal(err)
	}
	if id, err := sf.NextID(); err != nil || sonyflake.MachineID(id) != 7 {
		t.Errorf("%d, %v", id, err)
	}
	if err := sf.Close(); err != nil {
		t.Error(err)
	}
	fast := snowfence.MustLayout("sonyflake")
	fast.Tick = time.Millisecond
	swapped := snowfence.MustLayout("sonyflake")
	swapped.Fields[1], swapped.Fields[2] = swapped.Fields[2], swapped.Fields[1]
	short, few, small := snowfence.MustLayout("sonyflake"), snowfence.MustLayout("sonyflake"),
		snowfence.MustLayout("sonyflake")
	short.Fields[0].Bits--
	few.Fields[1].Bits, few.Last = 7, 127
	small.Fields[2].Bits--
	for name, l := range map[string]snowfence.Layout{
		"1 ms": fast, "machine above sequence": swapped, "38 bits of time": short, "7 bits of sequence": few,
		"15 bits of machine": small,
	} {
		if _, err := on(l); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
