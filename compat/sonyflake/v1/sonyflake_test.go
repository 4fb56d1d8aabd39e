package sonyflake_test

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	sonyflake "github.com/snowfence/snowfence/compat/sonyflake/v1"
	"github.com/snowfence/snowfence/internal/tests"
)

func TestFences(t *testing.T) {
	on := func(l snowfence.Layout) (*sonyflake.Sonyflake, error) {
		return sonyflake.NewOn(snowfence.Unguarded(tests.Must(snowfence.NewScheme(l)), 7))
	}
	sf := tests.Must(on(snowfence.MustLayout("sonyflake")))
	if id, err := sf.NextID(); err != nil || sonyflake.MachineID(id) != 7 {
		t.Errorf("%d, %v", id, err)
	}
	tests.NoError(t, sf.Close())
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
		tests.Fails(t, tests.ErrOf(on(l)), "%s: accepted", name)
	}
}
