package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// changeResult is what plan --change prints as JSON.
type changeResult struct {
	Safe      bool           `json:"safe"`
	Ordered   bool           `json:"ordered"` // IDs made after the change sort above all earlier ones
	From      string         `json:"from"`
	To        string         `json:"to"`
	At        time.Time      `json:"at"`
	Floor     time.Time      `json:"floor"`
	LastOld   string         `json:"last_old,omitempty"`
	FirstNew  string         `json:"first_new"`
	Collision *collisionPair `json:"collision,omitempty"`
}

// collisionPair is one ID in both readings, each an object as decode prints it.
type collisionPair struct {
	ID   string          `json:"id"`
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// planChange proves that no ID of the new layout equals one of the old, or shows one. A refused change is a finding.
func (p *program) planChange(f *planFlags, args []string, out *bufio.Writer) error {
	if len(args) != 1 {
		return usagef("--change takes two layouts: --change A B, where A is the present one")
	}
	from, err := newView(f.change)
	if err != nil {
		return usagef("--change, layout A: %w", err)
	}
	to, err := newView(args[0])
	if err != nil {
		return usagef("--change, layout B: %w", err)
	}
	change := snowfence.Change{From: from.layout, To: to.layout, At: p.now().UTC()}
	if f.at != "" {
		if change.At, err = parseTime("at", f.at); err != nil {
			return err
		}
	}
	change.Floor = change.At
	if f.floor != "" {
		if change.Floor, err = parseTime("floor", f.floor); err != nil {
			return err
		}
	}
	v, err := change.Check()
	if err != nil {
		return usageError{err}
	}
	if f.json {
		err = writeJSON(out, newChangeResult(from, to, change, v))
	} else {
		_, err = out.Write(appendVerdict(nil, from, to, change, v, p.now()))
	}
	if err == nil && v.Collision != nil {
		err = errFindings
	}
	return err
}

// started reports whether the old layout had made any ID by its floor.
func started(c snowfence.Change) bool { return c.From.TimeOf(0).Before(c.Floor) }

func newChangeResult(from, to *view, c snowfence.Change, v snowfence.Verdict) changeResult {
	r := changeResult{
		Safe: v.Collision == nil, Ordered: v.Ordered(), From: from.name, To: to.name, At: c.At, Floor: c.Floor,
		FirstNew: snowfence.Decimal.Encode(v.FirstNew),
	}
	if started(c) {
		r.LastOld = snowfence.Decimal.Encode(v.LastOld)
	}
	if x := v.Collision; x != nil {
		r.Collision = &collisionPair{
			ID:   snowfence.Decimal.Encode(x.ID),
			From: from.appendJSON(nil, x.ID, x.From),
			To:   to.appendJSON(nil, x.ID, x.To),
		}
	}
	return r
}

func appendVerdict(b []byte, from, to *view, c snowfence.Change, v snowfence.Verdict, now time.Time) []byte {
	if x := v.Collision; x != nil {
		b = fmt.Appendf(b, "REFUSED: both layouts can make the ID %d\n\nas an ID made before %s:\n", int64(x.ID), c.Floor.Format(time.RFC3339Nano))
		b = from.appendPicture(b, x.ID, x.From, now)
		b = fmt.Appendf(b, "\nas an ID made from %s on:\n", c.At.Format(time.RFC3339Nano))
		return to.appendPicture(b, x.ID, x.To, now)
	}
	b = fmt.Appendf(b, "SAFE: no ID of the new layout from %s on equals one of the old layout\n\n", c.At.Format(time.RFC3339Nano))
	rows := [][2]string{
		{"old", from.name + ", ticks before " + c.Floor.Format(time.RFC3339Nano)},
		{"new", to.name + ", ticks from " + c.At.Format(time.RFC3339Nano)},
	}
	if start := to.layout.TimeOf(0); start.After(c.At) {
		rows = append(rows, [2]string{"", "its epoch is " + start.Format(time.RFC3339Nano) + ": it makes nothing before"})
	}
	if started(c) {
		rows = append(rows, [2]string{"last old ID", snowfence.Decimal.Encode(v.LastOld)})
	} else {
		rows = append(rows, [2]string{"last old ID", "none: the epoch of the old layout lies after the change"})
	}
	order := "yes: new IDs are above all old ones"
	if !v.Ordered() {
		order = "NO: new IDs begin below old ones, so sorting by ID is no longer sorting by time"
	}
	rows = append(rows,
		[2]string{"first new ID", snowfence.Decimal.Encode(v.FirstNew)},
		[2]string{"in order", order},
		[2]string{"proof", "all 64 bits, all times, nodes and sequence numbers of both layouts were compared"})
	return appendRows(b, rows)
}
