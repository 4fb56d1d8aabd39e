package show

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
)

// reading is one way to take a text apart, under a layout.
type reading struct {
	text
	guess
	doubt    int // how unlikely it is: 0 for what generators make, up to now or soon
	distance int // how far from the layout that was named, or else the default one
}

// readings returns the ways to take a text apart, the one to show first. There is more
// than one where the layout or the form was not named.
func (d *Decoder) readings(s []byte, texts []text) ([]reading, error) {
	var list []reading
	var first error
	for _, t := range texts {
		for i, v := range d.Views {
			p, err := d.parts(v, t.id)
			if err != nil {
				if first == nil {
					first = err
				}
				continue
			}
			g := guess{v, p, v.reserved(p), v.unused(p)}
			list = append(list, reading{t, g, g.doubtAt(d.Now), min(i, 1)})
		}
	}
	if len(list) == 0 {
		return nil, first
	}
	slices.SortStableFunc(list, func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.doubt, b.doubt), cmp.Compare(a.distance, b.distance), a.byTime(b))
	})
	if list[0].doubt > reservedNumber && list[0].guessed {
		form := list[0].form.Name()
		return nil, fmt.Errorf("%w: %q is no decimal number, and read as %s its time would lie in the future: "+
			"name its form, as in --from %s, or its layout with --layout",
			snowfence.ErrInvalidID, s, form, form)
	}
	if list[0].doubt > reservedNumber { // nothing is likely: then it is what it was taken for without a look
		i := slices.IndexFunc(list, func(r reading) bool { return r.view == d.Views[0] })
		if i < 0 {
			return nil, first
		}
		return list[i : i+1], nil
	}
	return slices.DeleteFunc(list, func(r reading) bool { return r.doubt > list[0].doubt }), nil
}

// byTime puts young IDs before old ones, where the layouts differ: most IDs one meets are young.
func (r reading) byTime(other reading) int {
	if r.view == other.view {
		return 0
	}
	return other.parts.Time.Compare(r.parts.Time)
}

// What speaks against a reading.
const (
	noDoubt        = iota // a generator of the layout makes such an ID, up to now or soon
	reservedNumber        // IDs made by hand and after a step back have such a number, and few are
	unusedNumber          // no generator of the layout makes such a number
	futureTime
	otherLayout // the namespace had another layout then
)

func (g guess) doubtAt(now time.Time) int {
	switch {
	case g.parts.Tick < g.view.From || g.view.Until > 0 && g.parts.Tick >= g.view.Until:
		return otherLayout
	case g.parts.Time.After(now.Add(guessSlack)):
		return futureTime
	case g.unused:
		return unusedNumber
	case g.reserved:
		return reservedNumber
	}
	return noDoubt
}

// about says in a few words where the layout of a reading comes from, and what its text was.
func (d *Decoder) about(r reading) []string {
	var notes []string
	switch {
	case d.Source == FromNamespace && r.view != d.Views[0]:
		notes = append(notes, "an earlier layout of namespace "+d.Namespace)
	case d.Source == FromNamespace:
		notes = append(notes, "the layout of namespace "+d.Namespace)
	case d.Source == ByDefault && r.view != d.Views[0]:
		notes = append(notes, "the layout is a guess")
	}
	if r.guessed {
		notes = append(notes, "read as "+r.form.Name()+", a guess")
	}
	if rounded(r.id) {
		notes = append(notes, "its last digits look rounded, as JavaScript and spreadsheets do; keep IDs as text there")
	}
	return notes
}

// rounded reports whether an ID has the digits that a program prints for the nearest double: the
// fewest that tell it from others, and zeros. Of exact IDs above 2^53 few have.
func rounded(id snowfence.ID) bool {
	text := strconv.FormatFloat(float64(id), 'f', -1, 64)
	return (id > 1<<53 || id < -1<<53) && text == snowfence.Decimal.Encode(id)
}

// otherReadings are the other ways to take a text apart, for people.
func otherReadings(list []reading) (others []string) {
	for _, r := range list[1:min(len(list), mostOthers+1)] {
		what := r.view.Name
		if r.guessed && r.form != list[0].form {
			what += " as " + r.form.Name()
		}
		others = append(others, what+" ("+r.parts.Time.Format("2006-01-02")+")")
	}
	return others
}

// mostOthers is how many other ways are shown.
const mostOthers = 8
