package sonyflake

import "time"

const tick = 10 * time.Millisecond

// ElapsedTime returns the time from StartTime to the ID.
func ElapsedTime(id uint64) time.Duration {
	return time.Duration(id>>(BitLenSequence+BitLenMachineID)) * tick
}

// SequenceNumber returns the sequence number of an ID.
func SequenceNumber(id uint64) uint64 { return id >> BitLenMachineID & (1<<BitLenSequence - 1) }

// MachineID returns the machine ID of an ID.
func MachineID(id uint64) uint64 { return id & (1<<BitLenMachineID - 1) }

// Compose returns the ID of the parts, with the StartTime of sf. It is not
// new: NextID may make the same ID. The errors are [ErrStartTimeAhead],
// [ErrOverTimeLimit] and [ErrInvalidSequence].
func Compose(sf *Sonyflake, t time.Time, sequence, machineID uint16) (uint64, error) {
	id, err := sf.inner().Compose(t, int(sequence), int(machineID))
	return uint64(id), original(err)
}

// Decompose returns the parts of an ID: "id", "msb", "time", "sequence" and
// "machine-id".
func Decompose(id uint64) map[string]uint64 {
	return map[string]uint64{
		"id":         id,
		"msb":        id >> 63,
		"time":       id >> (BitLenSequence + BitLenMachineID),
		"sequence":   SequenceNumber(id),
		"machine-id": MachineID(id),
	}
}
