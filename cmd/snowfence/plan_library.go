package main

import (
	"bufio"
	"fmt"
	"sort"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/library"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

// moveResult is what plan --from-library prints as JSON.
type moveResult struct {
	Library  string           `json:"library"`
	Layout   snowfence.Layout `json:"layout"` // as its spec
	Reserved bool             `json:"reserved"`
	Notes    []string         `json:"notes"`
	To       snowfence.Layout `json:"to"`
	Floor    time.Time        `json:"floor"`
	Safe     bool             `json:"safe"`
	CutOver  *time.Time       `json:"cut_over"` // null: there is none
}

// planLibrary prints the layout of a library's settings, and the earliest time from which a layout
// of ours repeats none of its IDs: by default the same layout.
func (p *program) planLibrary(f *planFlags, args []string, out *bufio.Writer) error {
	l, err := library.Of(f.library, f.set)
	if err != nil {
		return usagef("--from-library: %w", err)
	}
	change := snowfence.Change{
		From: l.Layout, To: l.Layout, FromReserved: l.Reserved, Floor: p.now().UTC().Add(l.Lead),
	}
	switch {
	case len(args) > 1:
		return usagef("--from-library takes one layout to change to, or none to keep the library's")
	case len(f.floor) > 1 || len(f.at) > 0:
		return usagef("--from-library finds the time itself: give one --floor, after the library's last ID")
	case len(args) == 1:
		to, err := show.NewView(args[0])
		if err != nil {
			return usagef("layout to change to: %w", err)
		}
		change.To = to.Layout
	}
	if len(f.floor) == 1 {
		if change.Floor, err = parseTime("floor", f.floor[0]); err != nil {
			return err
		}
	}
	r := moveResult{
		Library: f.library, Layout: l.Layout, Reserved: l.Reserved, Notes: append([]string{}, l.Notes...),
		To: change.To, Floor: change.Floor,
	}
	at, verdict, err := cutOver(change)
	if err != nil {
		return usageError{err}
	}
	if r.Safe = verdict.Collision == nil; r.Safe {
		r.CutOver = &at
	}
	if f.json {
		err = writeJSON(out, r)
	} else {
		_, err = out.Write(r.appendText(nil, verdict, p.now()))
	}
	if err == nil && !r.Safe {
		err = errFindings
	}
	return err
}

// cutOver returns the earliest time from the floor on at which a change is safe, or the collision
// at the floor. A later change uses fewer ticks of the new layout, so what is safe stays so.
func cutOver(c snowfence.Change) (at time.Time, v snowfence.Verdict, err error) {
	c.At = c.Floor
	if v, err = c.Check(); err != nil || v.Collision == nil {
		return c.At, v, err
	}
	first, last := c.To.TickOf(c.Floor), int64(1)<<c.To.Bits(snowfence.FieldTime)-1
	if end := c.To.TickOf(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); end < last {
		last = end // later times cannot be written
	}
	check := func(tick int64) snowfence.Verdict {
		change := c
		change.At = c.To.TimeOf(tick)
		w, checkErr := change.Check()
		if checkErr != nil && err == nil {
			err = checkErr
		}
		return w
	}
	n := sort.Search(int(last-first), func(i int) bool { return check(first+1+int64(i)).Collision == nil })
	if err != nil || n == int(last-first) {
		return c.At, v, err
	}
	tick := first + 1 + int64(n)
	return c.To.TimeOf(tick), check(tick), err
}

func (r moveResult) appendText(b []byte, v snowfence.Verdict, now time.Time) []byte {
	rows := [][2]string{
		{"library", r.Library},
		{"layout", r.Layout.String()},
		{"end of life", show.EndOfLife(r.Layout, now)},
	}
	if r.Reserved && r.Layout.First > 0 {
		rows = append(rows, [2]string{"reserved", fmt.Sprintf("numbers below %d count too, in all ticks before the "+
			"cut-over: made by hand, or after the clock stepped back", r.Layout.First)})
	}
	for i, note := range r.Notes {
		name := ""
		if i == 0 {
			name = "know"
		}
		rows = append(rows, [2]string{name, note})
	}
	rows = append(rows,
		[2]string{"to", r.To.String()},
		[2]string{"last ID", "before " + r.Floor.Format(time.RFC3339Nano) + ", when all its processes have stopped"})
	if x := v.Collision; x != nil {
		b = show.AppendRows(b, rows)
		return fmt.Appendf(b, "\nREFUSED: both can make the ID %d, at %s and at %s; no later time is safe\n",
			int64(x.ID), x.From.Time.Format(time.RFC3339Nano), x.To.Time.Format(time.RFC3339Nano))
	}
	order := "yes: new IDs are above all old ones"
	if !v.Ordered() {
		order = "NO: new IDs begin below old ones, so sorting by ID is no longer sorting by time"
	}
	rows = append(rows,
		[2]string{"cut over", r.CutOver.Format(time.RFC3339Nano) + ", or later"},
		[2]string{"in order", order},
		[2]string{"proof", "all 64 bits, all times, nodes and sequence numbers of both were compared"})
	return show.AppendRows(b, rows)
}
