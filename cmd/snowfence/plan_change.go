package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"slices"
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

// checkedChange is a change of layout with what was found.
type checkedChange struct {
	snowfence.Change
	snowfence.Verdict
	from, to *view
	past     []*view
}

// check proves a change, or finds an ID that was made before.
func (c *checkedChange) check() (err error) {
	c.Verdict, err = c.Change.Check()
	return err
}

// meetsReserved reports whether a change that is safe would not be if the old layouts had IDs with
// numbers below their first.
func (c *checkedChange) meetsReserved() bool {
	with := c.Change
	with.FromReserved = true
	with.Past = slices.Clone(with.Past)
	for i := range with.Past {
		with.Past[i].Reserved = true
	}
	v, err := with.Check()
	return err == nil && v.Collision != nil
}

// madeBy returns the layout that made the ID of a collision, and the time up to which it was used.
func (c *checkedChange) madeBy() (*view, time.Time) {
	if i := c.Collision.Past; i > 0 {
		return c.past[i-1], c.Change.Past[i-1].Until
	}
	return c.from, c.Floor
}

// planChange proves that no ID of a new layout equals one of those before it, or shows
// one. A refused change is a finding. Of a list of layouts, each change is proven against
// all layouts before it.
func (p *program) planChange(f *planFlags, args []string, out *bufio.Writer) error {
	changes, err := p.plannedChanges(f, args)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if err := c.check(); err != nil {
			return usageError{err}
		}
		if f.json {
			err = writeJSON(out, newChangeResult(c))
		} else {
			var b []byte
			if i > 0 {
				b = append(b, '\n')
			}
			_, err = out.Write(appendVerdict(b, c, p.now()))
		}
		if err == nil && c.Collision != nil {
			err = errFindings
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plannedChanges reads the changes of the command line: from A to B, from B to C, and so on.
func (p *program) plannedChanges(f *planFlags, args []string) ([]*checkedChange, error) {
	if len(args) == 0 {
		return nil, usagef("--change takes two layouts or more: --change A B, where A is the present one")
	}
	if n := len(args); len(f.at) > n || len(f.floor) > n || len(f.at) < n-1 {
		return nil, usagef("%s and %d --at: give one for each change, in their order; without the last one it "+
			"is now", plural(int64(n), "change"), max(len(f.at), len(f.floor)))
	}
	var list []*checkedChange
	from, err := newView(f.change)
	if err != nil {
		return nil, usagef("--change, layout A: %w", err)
	}
	reserved, ok := map[string][2]bool{
		"old": {true, false}, "new": {false, true}, "both": {true, true}, "none": {},
	}[f.reserved]
	if !ok {
		return nil, usagef("--reserved %q: which layouts have IDs with numbers below their first: old, new, both or "+
			"none", f.reserved)
	}
	var since time.Time
	var past []snowfence.Era
	var views []*view
	for i, spec := range args {
		to, err := newView(spec)
		if err != nil {
			return nil, usagef("--change, layout %c: %w", 'B'+rune(min(i, 'Z'-'B')), err)
		}
		at := p.now().UTC()
		if i < len(f.at) {
			if at, err = parseTime("at", f.at[i]); err != nil {
				return nil, err
			}
		}
		floor := at
		if i < len(f.floor) {
			if floor, err = parseTime("floor", f.floor[i]); err != nil {
				return nil, err
			}
		}
		if at.Before(since) {
			return nil, usagef("--at: the change at %s comes after the one at %s: give the times in the order "+
				"of the layouts", at.Format(time.RFC3339Nano), since.Format(time.RFC3339Nano))
		}
		c := snowfence.Change{
			From: from.layout, To: to.layout, At: at, Floor: floor, Since: since, Past: past,
			FromReserved: reserved[0], ToReserved: reserved[1],
		}
		list = append(list, &checkedChange{Change: c, from: from, to: to, past: views})
		era := snowfence.Era{Layout: from.layout, From: since, Until: floor, Reserved: reserved[0]}
		past = append([]snowfence.Era{era}, past...)
		views = append([]*view{from}, views...)
		from, since = to, at
	}
	return list, nil
}

// started reports whether the old layouts had made any ID by their ends.
func (c *checkedChange) started() bool { return c.LastOld != math.MinInt64 }

func newChangeResult(c *checkedChange) changeResult {
	r := changeResult{
		Safe: c.Collision == nil, Ordered: c.Ordered(), From: c.from.name, To: c.to.name, At: c.At, Floor: c.Floor,
		FirstNew: snowfence.Decimal.Encode(c.FirstNew),
	}
	if c.started() {
		r.LastOld = snowfence.Decimal.Encode(c.LastOld)
	}
	if x := c.Collision; x != nil {
		made, _ := c.madeBy()
		r.Collision = &collisionPair{
			ID:   snowfence.Decimal.Encode(x.ID),
			From: made.appendJSON(nil, x.ID, x.From),
			To:   c.to.appendJSON(nil, x.ID, x.To),
		}
	}
	return r
}

func appendVerdict(b []byte, c *checkedChange, now time.Time) []byte {
	if x := c.Collision; x != nil {
		made, until := c.madeBy()
		b = fmt.Appendf(b, "REFUSED: both layouts can make the ID %d\n\nas an ID made before %s:\n", int64(x.ID),
			until.Format(time.RFC3339Nano))
		b = made.appendPicture(b, x.ID, x.From, now)
		b = fmt.Appendf(b, "\nas an ID made from %s on:\n", c.At.Format(time.RFC3339Nano))
		return c.to.appendPicture(b, x.ID, x.To, now)
	}
	what := "one of the old layout"
	if len(c.past) > 0 {
		what = "one of the layouts before it"
	}
	b = fmt.Appendf(b, "SAFE: no ID of the new layout from %s on equals %s\n\n", c.At.Format(time.RFC3339Nano), what)
	rows := [][2]string{}
	for i, v := range c.past {
		rows = append(rows, [2]string{
			"before",
			v.name + ", ticks before " + c.Change.Past[i].Until.Format(time.RFC3339Nano),
		})
	}
	slices.Reverse(rows)
	rows = append(rows,
		[2]string{"old", c.from.name + ", ticks before " + c.Floor.Format(time.RFC3339Nano)},
		[2]string{"new", c.to.name + ", ticks from " + c.At.Format(time.RFC3339Nano)})
	if start := c.to.layout.TimeOf(0); start.After(c.At) {
		rows = append(rows, [2]string{"", "its epoch is " + start.Format(time.RFC3339Nano) + ": it makes " +
			"nothing before"})
	}
	if c.started() {
		rows = append(rows, [2]string{"last old ID", snowfence.Decimal.Encode(c.LastOld)})
	} else {
		rows = append(rows, [2]string{"last old ID", "none: the epoch of the old layout lies after the change"})
	}
	order := "yes: new IDs are above all old ones"
	if !c.Ordered() {
		order = "NO: new IDs begin below old ones, so sorting by ID is no longer sorting by time"
	}
	if !c.FromReserved && c.meetsReserved() {
		rows = append(rows, [2]string{
			"reserved", "NOT with numbers below first of the old layouts: if there are such IDs, made by hand or by " +
				"snow-drift after the clock stepped back, new ones can equal them (--reserved old)",
		})
	}
	rows = append(rows,
		[2]string{"first new ID", snowfence.Decimal.Encode(c.FirstNew)},
		[2]string{"in order", order},
		[2]string{"proof", "all 64 bits, all times, nodes and sequence numbers of all these layouts were compared"})
	return appendRows(b, rows)
}
