package library

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

func bwmarrin(s *settings) Layout {
	epoch := s.time("Epoch", snowfence.MustLayout("bwmarrin").Epoch, time.UTC)
	node, step := int(s.number("NodeBits", 10, 0, 22)), int(s.number("StepBits", 12, 0, 22))
	if node+step > 22 {
		s.fail("NodeBits and StepBits are %d together; Snowfence takes at most 22", node+step)
	}
	return Layout{
		Layout: snowfence.Layout{Epoch: epoch, Tick: time.Millisecond, Fields: fields(
			snowfence.Field{Name: snowfence.FieldTime, Bits: 63 - node - step},
			snowfence.Field{Name: snowfence.FieldNode, Bits: node},
			snowfence.Field{Name: snowfence.FieldSequence, Bits: step})},
		Notes: []string{
			"A process keeps the time that it was started with: where its clock stepped back since, its IDs are " +
				"ahead by as much. Give the last ID's time as --floor.",
		},
	}
}

func leaf(s *settings) Layout {
	l := snowfence.MustLayout("leaf")
	l.Epoch = s.time("twepoch", l.Epoch, time.UTC)
	return Layout{Layout: l}
}

func randflake(*settings) Layout {
	return Layout{Layout: snowfence.MustLayout("randflake-raw"), Notes: []string{
		"The proof is of the raw IDs: keep the secret, and use the layout randflake.",
	}}
}

// sonyflake is version 1, whose widths are fixed.
func sonyflake(s *settings) Layout {
	return sonyflakeOf(s, snowfence.MustLayout("sonyflake").Epoch, 8, 16, 10*time.Millisecond)
}

func sonyflakeV2(s *settings) Layout {
	start := snowfence.MustLayout("sonyflake-v2").Epoch
	seq, machine := s.bits("BitsSequence", 8, 1, 30), s.bits("BitsMachineID", 16, 1, 30)
	unit := 10 * time.Millisecond
	if text, ok := s.text("TimeUnit"); ok {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Millisecond {
			s.fail("TimeUnit is %q; the library takes a duration such as 10ms, from 1ms up", text)
		} else {
			unit = d
		}
	}
	if 63-seq-machine < 32 {
		s.fail("BitsSequence and BitsMachineID leave %d bits for the time; the library needs 32", 63-seq-machine)
	}
	return sonyflakeOf(s, start, seq, machine, unit)
}

// sonyflakeOf rounds the start: Sonyflake counts ticks from 1970, and subtracts the tick that
// StartTime is in.
func sonyflakeOf(s *settings, start time.Time, seq, machine int, unit time.Duration) Layout {
	start = s.time("StartTime", start, time.UTC)
	epoch := SonyflakeEpoch(start, unit)
	l := Layout{
		Layout: snowfence.Layout{Epoch: epoch, Tick: unit, Fields: fields(
			snowfence.Field{Name: snowfence.FieldTime, Bits: 63 - seq - machine},
			snowfence.Field{Name: snowfence.FieldSequence, Bits: seq},
			snowfence.Field{Name: snowfence.FieldNode, Bits: machine})},
		Lead: unit,
		Notes: []string{
			"After its clock stepped back, a process goes on from its last ID: then give that ID's time as --floor.",
		},
	}
	if !epoch.Equal(start) {
		l.Notes = append(l.Notes, fmt.Sprintf("The epoch is StartTime rounded down to TimeUnit, %s before it.",
			start.Sub(epoch)))
	}
	return l
}

// SonyflakeEpoch returns the start of tick 0 of Sonyflake: StartTime in whole TimeUnits since 1970.
func SonyflakeEpoch(start time.Time, unit time.Duration) time.Time {
	return time.Unix(0, start.UnixNano()/int64(unit)*int64(unit)).UTC()
}

func uidGenerator(s *settings) Layout {
	zone := time.FixedZone("", 8*3600)
	epoch := s.time("epochStr", snowfence.MustLayout("baidu").Epoch, zone)
	bits := [3]int{}
	for i, name := range []string{"timeBits", "workerBits", "seqBits"} {
		bits[i] = s.bits(name, [...]int64{28, 22, 13}[i], 1, 61)
	}
	if bits[0]+bits[1]+bits[2] != 63 {
		s.fail("timeBits, workerBits and seqBits are %d together; the library takes 63", bits[0]+bits[1]+bits[2])
	}
	return Layout{
		Layout: snowfence.Layout{Epoch: epoch, Tick: time.Second, Fields: fields(
			snowfence.Field{Name: snowfence.FieldTime, Bits: bits[0]},
			snowfence.Field{Name: snowfence.FieldNode, Bits: bits[1]},
			snowfence.Field{Name: snowfence.FieldSequence, Bits: bits[2]})},
		Lead: time.Second,
		Notes: []string{
			"A date in epochStr is midnight in the server's time zone, and here in China's: write another one as in " +
				"2016-05-20T00:00:00+02:00.",
			"CachedUidGenerator makes IDs of seconds to come: give the last ID's time as --floor.",
		},
	}
}
