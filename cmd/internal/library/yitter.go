package library

import (
	"fmt"
	"math"
	"time"

	"github.com/snowfence/snowfence"
)

// csharpBaseTime is the default of the C# port; the other ports have snowfence.Drift's.
const csharpBaseTime = 1582165202020

// yitter is the Go port of snow-drift.
func yitter(s *settings) Layout {
	l := drift(s, snowfence.MustLayout("drift").Epoch, false)
	seq, worker := l.Layout.Bits(snowfence.FieldSequence), l.Layout.Bits(snowfence.FieldNode)
	if kept := max(16-seq, 0); worker > kept {
		l.Notes = append(l.Notes, fmt.Sprintf("The Go port cuts worker numbers to %d bits: WorkerId %d and WorkerId 0 "+
			"are one, and their IDs may be equal already. Its numbers from %d on are in no ID.",
			kept, int64(1)<<kept, int64(1)<<kept))
	}
	return l
}

// yitterCSharp is the C# port.
func yitterCSharp(s *settings) Layout { return drift(s, time.UnixMilli(csharpBaseTime), true) }

// drift is snow-drift. Its IDs after a step back have numbers 1 to 4; 0 is for IDs made by hand.
func drift(s *settings, base time.Time, csharp bool) Layout {
	method := s.number("Method", 1, 0, math.MaxInt16)
	epoch := s.time("BaseTime", base, time.UTC)
	worker := s.bits("WorkerIdBitLength", 6, 1, 21)
	seq := s.bits("SeqBitLength", 6, 3, 21)
	first := s.number("MinSeqNumber", 5, 5, 1<<seq-1)
	last := s.number("MaxSeqNumber", 0, 0, 1<<seq-1)
	over := s.number("TopOverCostCount", 2000, 0, 10000)
	center, most, tick := 0, 22, time.Millisecond
	if csharp {
		center = int(s.number("DataCenterIdBitLength", 0, 0, 30))
		if s.number("TimestampType", 0, 0, 1) == 1 {
			most, tick, over = 31, time.Second, 0
		}
	} else if over == 0 { // the Go port takes 0 for the default
		over = 2000
	}
	if last == 0 {
		last = 1<<seq - 1
	}
	below := center + worker + seq
	switch {
	case below > most:
		s.fail("the bit lengths are %d together; the library takes at most %d", below, most)
	case last < first:
		s.fail("MaxSeqNumber is %d, below MinSeqNumber, which is %d", last, first)
	}
	var notes []string
	if method == 2 && (center > 0 || tick == time.Second) {
		notes = append(notes, "Method 2 of the C# port checks data center and seconds, "+
			"and then makes IDs without them.")
		below, center, tick = worker+seq, 0, time.Millisecond
	}
	node := snowfence.FieldNode
	if center > 0 {
		node = "worker"
	}
	l := Layout{
		Notes:    notes,
		Reserved: true,
		Lead:     time.Duration(over+1) * tick,
		Layout: snowfence.Layout{Epoch: epoch, Tick: tick, First: first, Last: last, Fields: fields(
			snowfence.Field{Name: snowfence.FieldTime, Bits: 63 - below},
			snowfence.Field{Name: "datacenter", Bits: center},
			snowfence.Field{Name: node, Bits: worker},
			snowfence.Field{Name: snowfence.FieldSequence, Bits: seq})},
	}
	if method == 2 {
		l.Notes = append(l.Notes, "Method 2 repeats IDs when its clock steps back: look for duplicates first.")
		if csharp { // it compares before it counts
			l.Notes = append(l.Notes, fmt.Sprintf("Method 2 of the C# port makes the number %d too, above the last.",
				last+1))
			l.Layout.Last = min(last+1, 1<<seq-1) // beyond the field it is number 0 of the next worker, or tick
			l.Lead += tick
		}
	}
	if center > 0 {
		l.Layout.First, l.Layout.Last = 0, 1<<seq-1
		if high := (int64(1)<<center-1)<<center + (int64(1)<<worker-1)<<seq + 1<<seq - 1; high>>below != 0 {
			s.fail("DataCenterIdBitLength is %d: the library then writes the data center into the bits of the time, "+
				"so that nothing can be proven of its IDs", center)
		}
		l.Notes = append(l.Notes, "The C# port adds the data center to the bits of the worker and the sequence: its "+
			"IDs may be equal already, and their data center and worker cannot be told apart.")
	}
	return l
}
