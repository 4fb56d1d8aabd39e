package view

import (
	"fmt"
	"strconv"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

// Sequence returns a sequence.
func Sequence(i sequence.Info) *pb.Sequence {
	d := i.Definition
	out := &pb.Sequence{
		Name: i.Name, State: "active", Mode: string(d.Mode), Start: *d.Start, Step: d.Step, Max: *d.Max,
		MinRange: d.MinRange, MaxRange: d.MaxRange, AfterFailover: AfterFailover(d.AfterFailover),
		Pattern: d.Pattern, Zone: d.Zone, Period: i.Period, Left: i.Left, LastNumber: lastNumber(i),
	}
	if i.Left > 0 {
		out.Next, out.NextNumber = &i.Next, numberText(i, i.Next)
	}
	switch {
	case i.Deleted:
		out.State = "deleted"
	case i.RolledBack:
		out.State = "rolled-back"
	case i.Left == 0:
		out.State = "ended"
	}
	return out
}

// AfterFailover is the text of a sequence's reaction to a failover.
func AfterFailover(n int64) string {
	switch n {
	case sequence.Stop:
		return "stop"
	case sequence.Trust:
		return "trust"
	}
	return strconv.FormatInt(n, 10)
}

// ParseAfterFailover reads what AfterFailover writes.
func ParseAfterFailover(text string) (int64, error) {
	switch text {
	case "stop":
		return sequence.Stop, nil
	case "trust":
		return sequence.Trust, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%.100q: write stop, trust, or how many numbers are skipped, from 1 up", text)
	}
	return n, nil
}

// lastNumber returns the highest number that a program may have; "" if none
// has one.
func lastNumber(i sequence.Info) string {
	d := i.Definition
	switch {
	case i.Left == 0 && d.Pattern != "":
		return "" // the period may be closed
	case i.Left == 0:
		return strconv.FormatInt(finalNumber(d), 10)
	case i.Next == *d.Start:
		return ""
	}
	return numberText(i, i.Next-d.Step)
}

// finalNumber returns the last number of a sequence: Max, or the one before
// it that a step reaches. The numbers may span more than an int64 holds.
func finalNumber(d sequence.Definition) int64 {
	if d.Step < 0 {
		return *d.Max + int64((uint64(*d.Start)-uint64(*d.Max))%-uint64(d.Step))
	}
	return *d.Max - int64((uint64(*d.Max)-uint64(*d.Start))%uint64(d.Step))
}

// numberText returns a number as people read it: with its date in a dated
// sequence.
func numberText(i sequence.Info, n int64) string {
	if i.Definition.Pattern == "" {
		return strconv.FormatInt(n, 10)
	}
	r, err := sequence.Serials{Period: i.Period, First: n, Count: 1}.Of(i.Definition)
	if err != nil {
		return ""
	}
	return r.At(0).Text
}
