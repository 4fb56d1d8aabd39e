package sonyflake

import "time"

// ToTime returns the start of the time unit in which the ID was made.
func (sf *Sonyflake) ToTime(id int64) time.Time {
	return time.Unix(0, (sf.startTime+sf.timePart(id))*sf.timeUnit)
}

// Compose returns the ID of the parts. It is not new: NextID may make the
// same ID. The errors are [ErrStartTimeAhead], [ErrOverTimeLimit],
// [ErrInvalidSequence] and [ErrInvalidMachineID].
func (sf *Sonyflake) Compose(t time.Time, sequence, machineID int) (int64, error) {
	if sf.timeUnit == 0 {
		return 0, errZero
	}
	elapsed := sf.toInternalTime(t) - sf.startTime
	switch {
	case elapsed < 0:
		return 0, ErrStartTimeAhead
	case elapsed>>sf.bitsTime != 0:
		return 0, ErrOverTimeLimit
	case sequence < 0 || sequence>>sf.bitsSequence != 0:
		return 0, ErrInvalidSequence
	case machineID < 0 || machineID>>sf.bitsMachine != 0:
		return 0, ErrInvalidMachineID
	}
	return elapsed<<(sf.bitsSequence+sf.bitsMachine) | int64(sequence)<<sf.bitsMachine | int64(machineID), nil
}

// Decompose returns the parts of an ID: "id", "time", "sequence" and
// "machine".
func (sf *Sonyflake) Decompose(id int64) map[string]int64 {
	return map[string]int64{
		"id":       id,
		"time":     sf.timePart(id),
		"sequence": sf.sequencePart(id),
		"machine":  sf.machinePart(id),
	}
}

func (sf *Sonyflake) toInternalTime(t time.Time) int64 { return t.UnixNano() / sf.timeUnit }

func (sf *Sonyflake) timePart(id int64) int64 { return id >> (sf.bitsSequence + sf.bitsMachine) }

func (sf *Sonyflake) sequencePart(id int64) int64 {
	return id >> sf.bitsMachine & (1<<sf.bitsSequence - 1)
}

func (sf *Sonyflake) machinePart(id int64) int64 { return id & (1<<sf.bitsMachine - 1) }
