package sonyflake

import (
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
)

// NewOn returns a Sonyflake with the machine ID of a fence, such as a lease
// or a state file: no other process has it, also over restarts. Close it to
// give the fence back. If this process uses the machine ID without a fence,
// the error is [ErrOverlap].
//
// The layout of the fence, such as snowfence.MustLayout("sonyflake-v2"),
// has the time, the sequence and the machine ID in this order, in at most
// 63 bits, and an epoch of whole ticks since 1970.
func NewOn(f snowfence.Fence) (*Sonyflake, error) {
	if f == nil || f.Scheme() == nil {
		return nil, errors.New("sonyflake: the fence is nil or has no scheme: use a lease or a state file")
	}
	l := f.Scheme().Layout()
	if err := shows(l); err != nil {
		return nil, err
	}
	ids, err := process.On(f, process.Options{})
	if err != nil {
		return nil, original(err)
	}
	sf := of(l)
	sf.ids = ids
	return sf, nil
}

// shows reports why Decompose and ToTime could not read the IDs of a
// layout.
func shows(l snowfence.Layout) error {
	why := ""
	switch {
	case l.Cipher != snowfence.Plain:
		why = "is encrypted"
	case l.Width() > 63:
		why = "has 64 bits, and IDs turn negative"
	case l.Bits(snowfence.FieldRollback) > 0:
		why = "has rollback bits"
	case l.Bits(snowfence.FieldSequence) == 0 || l.Bits(snowfence.FieldNode) == 0:
		why = "has no sequence or no node"
	case l.Fields[1].Name != snowfence.FieldSequence:
		why = "has node bits above the sequence"
	case l.Epoch.UnixNano()%int64(l.Tick) != 0:
		why = "begins within a tick since 1970"
	default:
		return nil
	}
	return fmt.Errorf("sonyflake: the layout %s %s: use one of time, sequence and node, such as %s",
		l, why, snowfence.MustLayout("sonyflake-v2"))
}

// Close ends this instance: later calls return [snowfence.ErrClosed]. It
// gives a fence back; the error says until when the machine ID stays taken.
// Programs that use only [New] need no Close.
func (sf *Sonyflake) Close() error {
	if sf.ids == nil {
		return nil
	}
	return sf.ids.Close()
}
