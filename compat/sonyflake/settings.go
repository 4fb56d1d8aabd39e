package sonyflake

import (
	"cmp"
	"time"

	"github.com/snowfence/snowfence"
)

// Settings are as in the original. The time has the bits that sequence and
// machine ID leave of 63; these must be at least 32.
type Settings struct {
	BitsSequence  int // 1 to 30; 0 means 8
	BitsMachineID int // 1 to 30; 0 means 16

	// TimeUnit is 1 ms or longer; 0 means 10 ms.
	TimeUnit time.Duration

	// StartTime is time 0 of the IDs, rounded down to a whole TimeUnit
	// since
	// 1970. It must not be in the future; zero means 2025-01-01.
	StartTime time.Time

	// MachineID returns a number that no other process has. nil means the
	// lowest 16 bits of the private IPv4 address, as nodes.FromIPv4(16)
	// finds it.
	MachineID func() (int, error)

	// CheckMachineID returns false to refuse the number; nil accepts any.
	CheckMachineID func(int) bool
}

// layout returns the layout of the settings, or the first mistake in the
// original's order.
func (st *Settings) layout(now time.Time) (snowfence.Layout, error) {
	var none snowfence.Layout
	switch {
	case st.BitsSequence < 0 || st.BitsSequence > 30:
		return none, ErrInvalidBitsSequence
	case st.BitsMachineID < 0 || st.BitsMachineID > 30:
		return none, ErrInvalidBitsMachineID
	case st.TimeUnit < 0 || st.TimeUnit > 0 && st.TimeUnit < time.Millisecond:
		return none, ErrInvalidTimeUnit
	case st.StartTime.After(now):
		return none, ErrStartTimeAhead
	}
	l := snowfence.MustLayout("sonyflake-v2")
	if !st.StartTime.IsZero() {
		l.Epoch = st.StartTime
	}
	l.Tick = cmp.Or(st.TimeUnit, l.Tick)
	sequence, machine := cmp.Or(st.BitsSequence, 8), cmp.Or(st.BitsMachineID, 16)
	if 63-sequence-machine < 32 {
		return none, ErrInvalidBitsTime
	}
	l.Fields = []snowfence.Field{
		{Name: snowfence.FieldTime, Bits: 63 - sequence - machine},
		{Name: snowfence.FieldSequence, Bits: sequence},
		{Name: snowfence.FieldNode, Bits: machine},
	}
	l.Last = 1<<sequence - 1
	if err := l.Validate(); err != nil { // before rounding, which knows the years from 1678 only
		return none, err
	}
	l.Epoch = time.Unix(0, l.Epoch.UnixNano()/int64(l.Tick)*int64(l.Tick))
	return l, nil
}

// machine returns the machine ID, which has to fit the bits.
func (st *Settings) machine(bits int) (int, error) {
	find := st.MachineID
	if find == nil {
		find = privateAddress
	}
	n, err := find()
	switch {
	case err != nil:
		return 0, err
	case n < 0 || n >= 1<<bits:
		return 0, ErrInvalidMachineID
	case st.CheckMachineID != nil && !st.CheckMachineID(n):
		return 0, ErrInvalidMachineID
	}
	return n, nil
}
