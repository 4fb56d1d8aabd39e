package show

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// Use is a layout while it makes IDs: in ticks that begin at Begin or
// later, and before End. Zero times mean its epoch, and the end of its time
// bits.
type Use struct {
	View         *View
	Begin, End   time.Time
	region       snowfence.Region
	onlyReserved bool // only numbers below the layout's first
}

// NewUse returns the IDs that generators on all nodes of a layout can make.
func NewUse(v *View, begin, end time.Time) (Use, error) {
	r, err := snowfence.RegionOf(v.Layout, snowfence.NodeRange{})
	if err != nil {
		return Use{}, err
	}
	r.First = v.Layout.First
	if !begin.IsZero() {
		r.From = max(v.Layout.TickFrom(begin), 0)
	}
	if !end.IsZero() {
		r.Until = min(max(v.Layout.TickFrom(end), 0), r.Until)
	}
	return Use{View: v, Begin: begin, End: end, region: r}, nil
}

// below returns u with the numbers below its first. IDs that were made by
// hand, or after a clock stepped back, have them at any tick before End.
func (u Use) below() Use {
	u.onlyReserved = true
	u.region.First, u.region.Last, u.region.From = 0, max(u.View.Layout.First-1, 0), 0
	if u.View.Layout.First == 0 {
		u.region.Until = 0 // there are none
	}
	return u
}

// started reports whether this use has made an ID before its end.
func (u Use) started() bool { return u.region.From < u.region.Until }

// highest returns its highest ID, as a signed number.
func (u Use) highest() (snowfence.ID, error) {
	l, tick := u.View.Layout, u.region.Until-1
	if sign := int64(1) << (l.Bits(snowfence.FieldTime) - 1); l.Width() == 64 && !signed(l) && u.region.From < sign {
		tick = min(tick, sign-1) // later ticks have the sign bit
	}
	most := func(field string) int64 { return int64(1)<<l.Bits(field) - 1 }
	id, err := u.View.Scheme.Compose(snowfence.Parts{
		Tick: tick, Node: u.View.Scheme.Nodes() - 1, Sequence: u.region.Last,
		Rollback: most(snowfence.FieldRollback), Scatter: most(snowfence.FieldScatter), Tag: most(snowfence.FieldTag),
	})
	if signed(l) {
		id &= math.MaxInt64
	}
	return id, err
}

// signed reports whether IDs of all times have both signs: the sign bit is
// of a field above the time.
func signed(l snowfence.Layout) bool {
	return l.Width() == 64 && l.Fields[0].Name != snowfence.FieldTime
}

// Proof is a change of layout with its findings.
type Proof struct {
	Old       []Use // the layout changed from, and then those before it
	New       Use
	FirstNew  snowfence.ID         // lowest of the first tick
	LastOld   snowfence.ID         // highest, as a signed number
	Collision *snowfence.Collision // the lowest ID that both sides can make; nil is the proof that there is none
	by        Use                  // whose ID it is, of Old
}

// NewRefusal returns the proof that failed because an ID is in two regions
// of a namespace.
func NewRefusal(from, to snowfence.Region, x snowfence.Collision) (*Proof, error) {
	var uses [2]Use
	for i, r := range []snowfence.Region{from, to} {
		v, err := NewView(LayoutName(r.Layout))
		if err != nil {
			return nil, err
		}
		uses[i] = Use{View: v, Begin: r.Layout.TimeOf(r.From), End: r.Layout.TimeOf(r.Until), region: r}
	}
	p := &Proof{Old: uses[:1], New: uses[1]}
	err := p.Check()
	p.Collision, p.by = &x, uses[0]
	return p, err
}

// Ordered reports whether new IDs sort above all earlier ones, as signed
// numbers. It ignores the day on which the new layout itself turns
// negative.
func (p *Proof) Ordered() bool { return p.FirstNew > p.LastOld }

// Step is a change to another layout. The new layout is used from At on;
// the old one may have run ahead up to Floor.
type Step struct {
	To        *View
	At, Floor time.Time
}

// Changes returns a list of changes, from each layout to the next one. Each
// change has all layouts before it. Old layouts, new ones or both may have
// reserved numbers.
func Changes(from *View, steps []Step, oldReserved, newReserved bool) (list []*Proof, err error) {
	var since time.Time
	var past []Use
	for i, s := range steps {
		if s.At.Before(since) {
			return nil, fmt.Errorf("the change at %s comes after the one at %s: give the times in the order "+
				"of the layouts", s.At.Format(time.RFC3339Nano), since.Format(time.RFC3339Nano))
		}
		now, err := NewUse(from, since, s.Floor)
		if err != nil {
			return nil, err
		}
		uses := []Use{now}
		if oldReserved || newReserved && i > 0 { // it was the new one before
			uses = append(uses, now.below())
		}
		past = append(uses, past...)
		p := &Proof{Old: past}
		if p.New, err = NewUse(s.To, s.At, time.Time{}); err != nil {
			return nil, err
		}
		if newReserved {
			p.New.region.First = 0
		}
		list = append(list, p)
		from, since = s.To, s.At
	}
	return list, nil
}

// Check proves a change, or finds an ID that was made before.
func (p *Proof) Check() (err error) {
	if !p.New.started() {
		return fmt.Errorf("%w: the new layout ended at %s, before the change at %s", snowfence.ErrLifetime,
			p.New.View.Layout.EndOfLife().Format(time.RFC3339), p.New.Begin.UTC().Format(time.RFC3339))
	}
	p.LastOld, p.Collision = math.MinInt64, nil
	for _, u := range p.Old {
		x, err := snowfence.Meet(u.region, p.New.region)
		if err != nil {
			return fmt.Errorf("%w: use another namespace and keep its IDs apart", err)
		}
		if x != nil && (p.Collision == nil || uint64(x.ID) < uint64(p.Collision.ID)) {
			p.Collision, p.by = x, u
		}
		if u.started() {
			last, err := u.highest()
			if err != nil {
				return err
			}
			p.LastOld = max(p.LastOld, last)
		}
	}
	p.FirstNew, err = p.New.View.Scheme.Compose(snowfence.Parts{Tick: p.New.region.From, Sequence: p.New.region.First})
	if signed(p.New.View.Layout) {
		p.FirstNew |= math.MinInt64
	}
	return err
}

// meetsReserved reports whether a safe change would be unsafe if the old
// layouts had IDs with numbers below their first.
func (p *Proof) meetsReserved() bool {
	return slices.ContainsFunc(p.Old, func(u Use) bool {
		x, err := snowfence.Meet(u.below().region, p.New.region)
		return err == nil && x != nil
	})
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

// collisionPair is one ID in both readings, each an object as decode prints
// it.
type collisionPair struct {
	ID   snowfence.ID `json:"id"`
	From Decoded      `json:"from"`
	To   Decoded      `json:"to"`
}

// MarshalJSON returns the findings as one object.
func (p *Proof) MarshalJSON() ([]byte, error) {
	r := changeResult{
		Safe: p.Collision == nil, Ordered: p.Ordered(), From: p.Old[0].View.Name, To: p.New.View.Name,
		At: p.New.Begin, Floor: p.Old[0].End, FirstNew: snowfence.Decimal.Encode(p.FirstNew),
	}
	if p.started() {
		r.LastOld = snowfence.Decimal.Encode(p.LastOld)
	}
	if x := p.Collision; x != nil {
		r.Collision = &collisionPair{x.ID, p.by.View.Decoded(x.ID, x.From), p.New.View.Decoded(x.ID, x.To)}
	}
	return json.Marshal(r)
}

// Append appends the findings, for people.
func (p *Proof) Append(b []byte, now time.Time) []byte {
	b = fmt.Appendf(b, "%s\n\n", Wrap(p.title(), 0, 2))
	if p.Collision == nil {
		return p.rows().Append(b)
	}
	b = fmt.Appendf(b, "as an ID made before %s:\n", p.by.End.Format(time.RFC3339Nano))
	b = p.by.View.AppendPicture(b, p.Collision.ID, p.Collision.From, now)
	b = fmt.Appendf(b, "\nas an ID made from %s on:\n", p.New.Begin.Format(time.RFC3339Nano))
	return p.New.View.AppendPicture(b, p.Collision.ID, p.Collision.To, now)
}

// title is the findings in a line.
func (p *Proof) title() string {
	if p.Collision != nil {
		return fmt.Sprintf("REFUSED: both layouts can make the ID %d", int64(p.Collision.ID))
	}
	what := "one of the old layout"
	if p.Old[len(p.Old)-1].View != p.Old[0].View {
		what = "one of the layouts before it"
	}
	return fmt.Sprintf("SAFE: no ID of the new layout from %s on equals %s", p.New.Begin.Format(time.RFC3339Nano), what)
}

// rows are the effects of a safe change.
func (p *Proof) rows() (rows Rows) {
	name, reserved := "old", false
	for _, u := range p.Old {
		reserved = reserved || u.onlyReserved
		if !u.onlyReserved {
			rows.Add(name, "%s, ticks before %s", u.View.Name, u.End.Format(time.RFC3339Nano))
			name = "before"
		}
	}
	slices.Reverse(rows)
	rows.Add("new", "%s, ticks from %s", p.New.View.Name, p.New.Begin.Format(time.RFC3339Nano))
	if start := p.New.View.Layout.TimeOf(0); start.After(p.New.Begin) {
		rows.Add("", "its epoch is %s: it makes nothing before", start.Format(time.RFC3339Nano))
	}
	if p.started() {
		rows.Add("last old ID", "%d", int64(p.LastOld))
	} else {
		rows.Add("last old ID", "none: the epoch of the old layout lies after the change")
	}
	order := "yes: new IDs are above all old ones"
	if !p.Ordered() {
		order = "NO: new IDs begin below old ones, so sorting by ID is no longer sorting by time"
	}
	if !reserved && p.meetsReserved() {
		rows.Add("reserved", "NOT with numbers below first of the old layouts: if there are such IDs, made by hand or "+
			"by snow-drift after the clock stepped back, new ones can equal them (--reserved old)")
	}
	rows.Add("first new ID", "%d", int64(p.FirstNew))
	rows.Add("in order", "%s", order)
	rows.Add("proof", "all 64 bits, all times, nodes and sequence numbers of all these layouts were compared")
	return rows
}
