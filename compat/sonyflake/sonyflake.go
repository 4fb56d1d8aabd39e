// Package sonyflake has the API of github.com/sony/sonyflake/v2 over the
// generators of Snowfence: change the import path, and settings, fields,
// errors and IDs stay the same. Package sonyflake/v1 does this for version
// 1.
//
//	sf, err := sonyflake.New(sonyflake.Settings{})
//	sf, err := sonyflake.NewOn(lease) // no other process has its machine ID
//
// [New] takes a bare machine ID, as the original does: it cannot know
// whether another process has the same one, or used it before. [NewOn]
// takes it from a fence, which makes sure that none has.
//
// These things differ from the original:
//
//   - Within a process, instances with equal settings share one generator,
//     also those of version 1, so they never make an ID twice. New refuses
//     settings that could make the IDs of other settings in use: see
//     [ErrOverlap].
//   - No call holds a lock while it waits, and [Sonyflake.NextIDContext]
//     waits until its context ends. After the clock stepped back, calls do
//     not sleep until it catches up: the time in IDs goes on at half speed
//     until then.
//   - New refuses a StartTime before 1900.
//
// The packages types, mock and awsutil of the original are left out. The
// first two are for its own tests. The last asks for the address of an EC2
// instance in a way that most instances refuse today: see the example for
// MachineID.
package sonyflake

import (
	"errors"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
)

// The errors of the original, with its texts.
var (
	ErrInvalidBitsTime      = errors.New("bit length for time must be 32 or more")
	ErrInvalidBitsSequence  = errors.New("invalid bit length for sequence number")
	ErrInvalidBitsMachineID = errors.New("invalid bit length for machine id")
	ErrInvalidTimeUnit      = errors.New("invalid time unit")
	ErrInvalidSequence      = errors.New("invalid sequence number")
	ErrInvalidMachineID     = errors.New("invalid machine id")
	ErrStartTimeAhead       = errors.New("start time is ahead")
	ErrOverTimeLimit        = errors.New("over the time limit")
	ErrNoPrivateAddress     = errors.New("no private ip address")
)

// ErrOverlap means that this process already makes IDs that could be the
// same: with an equal StartTime and TimeUnit but another division of the
// same number of low bits, or with the machine ID over a fence.
var ErrOverlap = process.ErrOverlap

// Sonyflake makes IDs. It is safe for concurrent use. A copy shares its
// generator. The zero value has no settings, and its calls fail.
type Sonyflake struct {
	ids *process.Handle // nil when the lifetime was over at the start, and in the zero value

	bitsTime, bitsSequence, bitsMachine int

	timeUnit  int64 // ns
	startTime int64 // in time units since 1970
}

// New returns a Sonyflake with a bare machine ID. It fails with one of the
// errors above if a setting is wrong, with the error of Settings.MachineID,
// and with [ErrOverlap].
func New(st Settings) (*Sonyflake, error) { return st.open(process.Options{From: 1}) }

func (st *Settings) open(o process.Options) (*Sonyflake, error) {
	l, err := st.layout(time.Now())
	if err != nil {
		return nil, err
	}
	machine, err := st.machine(l.Bits(snowfence.FieldNode))
	if err != nil {
		return nil, err
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		return nil, err
	}
	sf := of(l)
	sf.ids, err = process.Open(s, int64(machine), o)
	if errors.Is(err, snowfence.ErrLifetime) { // the original says so in NextID
		return sf, nil
	}
	if err != nil {
		return nil, err
	}
	return sf, nil
}

// of returns a Sonyflake of a layout, without a generator.
func of(l snowfence.Layout) *Sonyflake {
	return &Sonyflake{
		bitsTime:     l.Bits(snowfence.FieldTime),
		bitsSequence: l.Bits(snowfence.FieldSequence),
		bitsMachine:  l.Bits(snowfence.FieldNode),
		timeUnit:     int64(l.Tick),
		startTime:    l.Epoch.UnixNano() / int64(l.Tick),
	}
}
