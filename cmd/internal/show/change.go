package show

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// Proof is a change of layout with what was found.
type Proof struct {
	snowfence.Change
	snowfence.Verdict
	from, to *View
	past     []*View // of Change.Past
}

// NewProof returns a change that was checked.
func NewProof(c snowfence.Change, v snowfence.Verdict) (*Proof, error) {
	p := &Proof{Change: c, Verdict: v, past: make([]*View, len(c.Past))}
	views, layouts := []**View{&p.from, &p.to}, []snowfence.Layout{c.From, c.To}
	for i, e := range c.Past {
		views, layouts = append(views, &p.past[i]), append(layouts, e.Layout)
	}
	for i, l := range layouts {
		v, err := NewView(LayoutName(l))
		if err != nil {
			return nil, err
		}
		*views[i] = v
	}
	return p, nil
}

// Step is a change to another layout: At is the time from which it is used, Floor the time up to
// which the layout before may have run ahead.
type Step struct {
	To        *View
	At, Floor time.Time
}

// Changes returns a list of changes, from each layout to the next one. Each has all layouts before
// it. Those with reserved numbers are the old ones, the new ones, or both.
func Changes(from *View, steps []Step, oldReserved, newReserved bool) (list []*Proof, err error) {
	var since time.Time
	var past []snowfence.Era
	var views []*View
	for _, s := range steps {
		if s.At.Before(since) {
			return nil, fmt.Errorf("the change at %s comes after the one at %s: give the times in the order "+
				"of the layouts", s.At.Format(time.RFC3339Nano), since.Format(time.RFC3339Nano))
		}
		c := snowfence.Change{
			From: from.Layout, To: s.To.Layout, At: s.At, Floor: s.Floor, Since: since, Past: past,
			FromReserved: oldReserved, ToReserved: newReserved,
		}
		list = append(list, &Proof{Change: c, from: from, to: s.To, past: views})
		era := snowfence.Era{Layout: from.Layout, From: since, Until: s.Floor, Reserved: oldReserved}
		past = append([]snowfence.Era{era}, past...)
		views = append([]*View{from}, views...)
		from, since = s.To, s.At
	}
	return list, nil
}

// Check proves a change, or finds an ID that was made before.
func (p *Proof) Check() (err error) {
	p.Verdict, err = p.Change.Check()
	return err
}

// meetsReserved reports whether a change that is safe would not be if the old layouts had IDs with
// numbers below their first.
func (p *Proof) meetsReserved() bool {
	with := p.Change
	with.FromReserved = true
	with.Past = slices.Clone(with.Past)
	for i := range with.Past {
		with.Past[i].Reserved = true
	}
	v, err := with.Check()
	return err == nil && v.Collision != nil
}

// madeBy returns the layout that made the ID of a collision, and the time up to which it was used.
func (p *Proof) madeBy() (*View, time.Time) {
	if i := p.Collision.Past; i > 0 {
		return p.past[i-1], p.Past[i-1].Until
	}
	return p.from, p.Floor
}

// started reports whether the old layouts had made any ID by their ends.
func (p *Proof) started() bool { return p.LastOld != math.MinInt64 }

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

// MarshalJSON returns what was found as one object.
func (p *Proof) MarshalJSON() ([]byte, error) {
	r := changeResult{
		Safe: p.Collision == nil, Ordered: p.Ordered(), From: p.from.Name, To: p.to.Name, At: p.At, Floor: p.Floor,
		FirstNew: snowfence.Decimal.Encode(p.FirstNew),
	}
	if p.started() {
		r.LastOld = snowfence.Decimal.Encode(p.LastOld)
	}
	if x := p.Collision; x != nil {
		made, _ := p.madeBy()
		r.Collision = &collisionPair{
			ID:   snowfence.Decimal.Encode(x.ID),
			From: made.AppendJSON(nil, x.ID, x.From),
			To:   p.to.AppendJSON(nil, x.ID, x.To),
		}
	}
	return json.Marshal(r)
}

// Append appends what was found, for people.
func (p *Proof) Append(b []byte, now time.Time) []byte {
	b = fmt.Appendf(b, "%s\n\n", p.title())
	if p.Collision == nil {
		return AppendRows(b, p.rows())
	}
	for i, r := range p.readings() {
		if i > 0 {
			b = append(b, '\n')
		}
		b = fmt.Appendf(b, "%s:\n", r.when)
		b = r.view.AppendPicture(b, p.Collision.ID, r.parts, now)
	}
	return b
}

// title says in a line what was found.
func (p *Proof) title() string {
	if p.Collision != nil {
		return fmt.Sprintf("REFUSED: both layouts can make the ID %d", int64(p.Collision.ID))
	}
	what := "one of the old layout"
	if len(p.past) > 0 {
		what = "one of the layouts before it"
	}
	return fmt.Sprintf("SAFE: no ID of the new layout from %s on equals %s", p.At.Format(time.RFC3339Nano), what)
}

// collisionReading is the ID of a collision, as one of the layouts makes it.
type collisionReading struct {
	when  string
	view  *View
	parts snowfence.Parts
}

func (p *Proof) readings() [2]collisionReading {
	made, until := p.madeBy()
	return [2]collisionReading{
		{"as an ID made before " + until.Format(time.RFC3339Nano), made, p.Collision.From},
		{"as an ID made from " + p.At.Format(time.RFC3339Nano) + " on", p.to, p.Collision.To},
	}
}

// rows says what a safe change does.
func (p *Proof) rows() (rows [][2]string) {
	for i, v := range p.past {
		rows = append(rows, [2]string{"before", v.Name + ", ticks before " + p.Past[i].Until.Format(time.RFC3339Nano)})
	}
	slices.Reverse(rows)
	rows = append(rows,
		[2]string{"old", p.from.Name + ", ticks before " + p.Floor.Format(time.RFC3339Nano)},
		[2]string{"new", p.to.Name + ", ticks from " + p.At.Format(time.RFC3339Nano)})
	if start := p.to.Layout.TimeOf(0); start.After(p.At) {
		rows = append(rows, [2]string{"", "its epoch is " + start.Format(time.RFC3339Nano) + ": it makes " +
			"nothing before"})
	}
	if p.started() {
		rows = append(rows, [2]string{"last old ID", snowfence.Decimal.Encode(p.LastOld)})
	} else {
		rows = append(rows, [2]string{"last old ID", "none: the epoch of the old layout lies after the change"})
	}
	order := "yes: new IDs are above all old ones"
	if !p.Ordered() {
		order = "NO: new IDs begin below old ones, so sorting by ID is no longer sorting by time"
	}
	if !p.FromReserved && p.meetsReserved() {
		rows = append(rows, [2]string{
			"reserved", "NOT with numbers below first of the old layouts: if there are such IDs, made by hand or by " +
				"snow-drift after the clock stepped back, new ones can equal them (--reserved old)",
		})
	}
	return append(rows,
		[2]string{"first new ID", snowfence.Decimal.Encode(p.FirstNew)},
		[2]string{"in order", order},
		[2]string{"proof", "all 64 bits, all times, nodes and sequence numbers of all these layouts were compared"})
}
