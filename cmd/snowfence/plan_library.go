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
	from, err := show.NewView(show.LayoutName(l.Layout))
	if err != nil {
		return err
	}
	to, floor := from, p.now().UTC().Add(l.Lead)
	switch {
	case len(args) > 1:
		return usagef("--from-library takes one layout to change to, or none to keep the library's")
	case len(f.floor) > 1 || len(f.at) > 0:
		return usagef("--from-library finds the time itself: give one --floor, after the library's last ID")
	case len(args) == 1:
		if to, err = show.NewView(args[0]); err != nil {
			return usagef("layout to change to: %w", err)
		}
	}
	if len(f.floor) == 1 {
		if floor, err = parseTime("floor", f.floor[0]); err != nil {
			return err
		}
	}
	r := moveResult{
		Library: f.library, Layout: l.Layout, Reserved: l.Reserved, Notes: append([]string{}, l.Notes...),
		To: to.Layout, Floor: floor,
	}
	at, proof, err := cutOver(from, to, floor, l.Reserved)
	if err != nil {
		return usageError{err}
	}
	if r.Safe = proof.Collision == nil; r.Safe {
		r.CutOver = &at
	}
	if f.json {
		err = writeJSON(out, r)
	} else {
		_, err = out.Write(r.appendText(nil, proof, p.now()))
	}
	if err == nil && !r.Safe {
		err = errFindings
	}
	return err
}

// cutOver returns the earliest time from the floor on at which a change is safe, or the collision
// at the floor. A later change uses fewer ticks of the new layout, so what is safe stays so.
func cutOver(from, to *show.View, floor time.Time, reserved bool) (at time.Time, p *show.Proof, err error) {
	check := func(at time.Time) (*show.Proof, error) {
		list, err := show.Changes(from, []show.Step{{To: to, At: at, Floor: floor}}, reserved, false)
		if err != nil {
			return nil, err
		}
		return list[0], list[0].Check()
	}
	if p, err = check(floor); err != nil || p.Collision == nil {
		return floor, p, err
	}
	l := to.Layout
	first, last := l.TickOf(floor), to.Scheme.MaxTick()
	if end := l.TickOf(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); end < last {
		last = end // later times cannot be written
	}
	n := sort.Search(int(last-first), func(i int) bool {
		p, checkErr := check(l.TimeOf(first + 1 + int64(i)))
		if checkErr != nil {
			err = checkErr
			return true
		}
		return p.Collision == nil
	})
	if err != nil || n == int(last-first) {
		return floor, p, err
	}
	at = l.TimeOf(first + 1 + int64(n))
	p, err = check(at)
	return at, p, err
}

func (r moveResult) appendText(b []byte, v *show.Proof, now time.Time) []byte {
	rows := show.Rows{
		{"library", r.Library},
		{"layout", r.Layout.String()},
		{"rate", show.Rate(r.Layout)},
		{"end of life", show.EndOfLife(r.Layout, now)},
	}
	if r.Reserved && r.Layout.First > 0 {
		rows.Add("reserved", "numbers below %d count too, in all ticks before the cut-over: made by hand, or after "+
			"the clock stepped back", r.Layout.First)
	}
	for i, note := range r.Notes {
		name := ""
		if i == 0 {
			name = "know"
		}
		rows.Add(name, "%s", note)
	}
	rows.Add("to", "%s", r.To)
	rows.Add("last ID", "before %s, when all its processes have stopped", r.Floor.Format(time.RFC3339Nano))
	if x := v.Collision; x != nil {
		b = rows.Append(b)
		return fmt.Appendf(b, "\nREFUSED: both can make the ID %d, at %s and at %s; no later time is safe\n",
			int64(x.ID), x.From.Time.Format(time.RFC3339Nano), x.To.Time.Format(time.RFC3339Nano))
	}
	order := "yes: new IDs are above all old ones"
	if !v.Ordered() {
		order = "NO: new IDs begin below old ones, so sorting by ID is no longer sorting by time"
	}
	rows.Add("cut over", "%s, or later", r.CutOver.Format(time.RFC3339Nano))
	rows.Add("in order", "%s", order)
	rows.Add("proof", "all 64 bits, all times, nodes and sequence numbers of both were compared")
	return rows.Append(b)
}
