// Package sonyflake has the API of github.com/sony/sonyflake, version 1.3,
// over the generators of Snowfence: change the import path, and settings,
// fields, errors and IDs stay the same.
//
// An ID has 39 bits of time in units of 10 ms, 8 of sequence and 16 of
// machine ID. Package [sonyflake], for version 2, says what differs from
// the original. Versions before 1.3 skip link-local addresses (169.254/16),
// and have no Compose.
//
// [sonyflake]: https://pkg.go.dev/github.com/snowfence/snowfence/compat/sonyflake
package sonyflake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	v2 "github.com/snowfence/snowfence/compat/sonyflake"
)

// Widths of the fields, in bits.
const (
	BitLenTime      = 39
	BitLenSequence  = 8
	BitLenMachineID = 63 - BitLenTime - BitLenSequence
)

// The errors of the original, with its texts, and ErrOverlap. All but the
// first are the same as in version 2.
var (
	ErrStartTimeAhead   = errors.New("start time is ahead of now")
	ErrNoPrivateAddress = v2.ErrNoPrivateAddress
	ErrOverTimeLimit    = v2.ErrOverTimeLimit
	ErrInvalidMachineID = v2.ErrInvalidMachineID
	ErrInvalidSequence  = v2.ErrInvalidSequence
	ErrOverlap          = v2.ErrOverlap
)

// Settings are as in the original.
type Settings struct {
	// StartTime is time 0 of the IDs, rounded down to 10 ms. It must not be
	// in the future; zero means 2014-09-01.
	StartTime time.Time

	// MachineID returns a number that no other process has. nil means the
	// lowest 16 bits of the private IPv4 address, as nodes.FromIPv4(16)
	// finds it.
	MachineID func() (uint16, error)

	// CheckMachineID returns false to refuse the number; nil accepts any.
	CheckMachineID func(uint16) bool
}

// Sonyflake makes IDs. It is safe for concurrent use. A copy shares its
// generator.
type Sonyflake struct{ v2 *v2.Sonyflake }

// New returns a Sonyflake with a bare machine ID. Its errors are
// [ErrStartTimeAhead], [ErrInvalidMachineID], [ErrNoPrivateAddress], the
// error of Settings.MachineID, and the others of version 2.
func New(st Settings) (*Sonyflake, error) {
	to := v2.Settings{StartTime: st.StartTime}
	if st.StartTime.IsZero() {
		to.StartTime = snowfence.MustLayout("sonyflake").Epoch
	}
	if st.MachineID != nil {
		to.MachineID = func() (int, error) {
			n, err := st.MachineID()
			return int(n), err
		}
	}
	if st.CheckMachineID != nil {
		to.CheckMachineID = func(n int) bool { return st.CheckMachineID(uint16(n)) }
	}
	sf, err := v2.New(to)
	if err != nil {
		return nil, original(err)
	}
	return &Sonyflake{sf}, nil
}

// NewSonyflake is New, but returns nil instead of an error.
func NewSonyflake(st Settings) *Sonyflake {
	sf, _ := New(st)
	return sf
}

// NewOn returns a Sonyflake with the machine ID of a fence, such as a lease
// or a state file: no other process has it, also over restarts. Close it to
// give the fence back. The layout of the fence is
// snowfence.MustLayout("sonyflake"), with any epoch of whole ticks since
// 1970.
func NewOn(f snowfence.Fence) (*Sonyflake, error) {
	if f != nil && f.Scheme() != nil {
		if l := f.Scheme().Layout(); l.Tick != tick || l.Bits(snowfence.FieldTime) != BitLenTime ||
			l.Bits(snowfence.FieldSequence) != BitLenSequence || l.Bits(snowfence.FieldNode) != BitLenMachineID {
			return nil, fmt.Errorf("sonyflake: the layout %s is not version 1's: use %s, or package sonyflake "+
				"of version 2", l, snowfence.MustLayout("sonyflake"))
		}
	}
	sf, err := v2.NewOn(f)
	if err != nil {
		return nil, err
	}
	return &Sonyflake{sf}, nil
}

// NextID returns a new ID. It waits for the next 10 ms when these are full.
// Over a fence it waits up to a second for a grant, and then returns a
// [snowfence.WaitError] that says why there is none. After the lifetime it
// returns [ErrOverTimeLimit], and after Close [snowfence.ErrClosed].
func (sf *Sonyflake) NextID() (uint64, error) {
	id, err := sf.inner().NextID()
	return uint64(id), err
}

// NextIDContext is NextID, but waits until ctx ends, also for a grant.
func (sf *Sonyflake) NextIDContext(ctx context.Context) (uint64, error) {
	id, err := sf.inner().NextIDContext(ctx)
	return uint64(id), err
}

// Close ends this instance: later calls return [snowfence.ErrClosed]. It
// gives a fence back; the error says until when the machine ID stays taken.
// Programs that use only [New] need no Close.
func (sf *Sonyflake) Close() error { return sf.inner().Close() }

// inner is the Sonyflake of version 2. Of a zero value it is a zero value,
// whose calls fail.
func (sf *Sonyflake) inner() *v2.Sonyflake {
	if sf.v2 == nil {
		return &v2.Sonyflake{}
	}
	return sf.v2
}

func original(err error) error {
	if errors.Is(err, v2.ErrStartTimeAhead) {
		return ErrStartTimeAhead
	}
	return err
}
