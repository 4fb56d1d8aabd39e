package show

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence"
)

// reading is one way to take a text apart, under a layout.
type reading struct {
	text
	guess
	doubt    int     // how unlikely it is: 0 for what generators make, up to now or soon
	surprise float64 // of a guess, or 1 for layouts that a namespace had before
	ownScore float64 // that of this ID alone
}

// readings returns the ways to take a text apart, the one to show first.
// There is more than one where the layout or the form was not named.
func (d *Decoder) readings(s []byte, texts []text) ([]reading, error) {
	var list []reading
	var first error
	for _, t := range texts {
		for i, v := range d.Views {
			p, err := v.Scheme.Decode(t.id)
			if err != nil {
				if first == nil {
					first = err
				}
				continue
			}
			g := guess{v, p}
			r := reading{text: t, guess: g, doubt: g.doubtAt(d.Now), surprise: float64(min(i, 1))}
			if d.Source == Guessed {
				if g.early(t.id) {
					r.doubt = max(r.doubt, earlyTime)
				}
				r.surprise = d.evidence().surprise(i)
			}
			if len(texts) > 1 {
				alone := NewEvidence([]*View{v}, d.Now)
				alone.Add(t.id)
				r.ownScore = alone.surprise(0)
			}
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, first
	}
	slices.SortStableFunc(list, func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.doubt, b.doubt), cmp.Compare(a.surprise, b.surprise),
			cmp.Compare(a.ownScore, b.ownScore))
	})
	if list[0].doubt > noDoubt && list[0].isGuess {
		form := list[0].form.Name()
		return nil, fmt.Errorf("%w: %q is no decimal number, and read as %s it would have no likely time: "+
			"name its form, as in --from %s, or its layout with --layout", snowfence.ErrInvalidID, s, form, form)
	}
	if list[0].doubt > noDoubt { // nothing is likely: then it is what it was taken for without a look
		i := slices.IndexFunc(list, func(r reading) bool { return r.view == d.Views[0] })
		if i < 0 {
			return nil, first
		}
		return list[i : i+1], nil
	}
	return slices.DeleteFunc(list, func(r reading) bool { return r.doubt > list[0].doubt }), nil
}

// about names the origin and the text of a reading's layout in a few words.
func (d *Decoder) about(r reading) []string {
	var notes []string
	switch {
	case d.Source == FromNamespace && r.view != d.Views[0]:
		notes = append(notes, "an earlier layout of namespace "+d.Namespace)
	case d.Source == FromNamespace:
		notes = append(notes, "the layout of namespace "+d.Namespace)
	case d.Source == Guessed:
		notes = append(notes, "the layout is a guess")
	}
	if r.isGuess {
		notes = append(notes, "read as "+r.form.Name()+", a guess")
	}
	if d.Source != FromNamespace && (d.Source == Guessed || r.view.preset() != "") && r.early(r.id) {
		notes = append(notes, r.doubtNote(r.id))
	}
	if rounded(r.id) || d.evidence().Rounded() {
		notes = append(notes, "its "+RoundedNote)
	}
	return notes
}

// RoundedNote says what to do about rounded IDs.
const RoundedNote = "last digits look rounded, as JavaScript and spreadsheets do; keep IDs as text there"

// otherReadings are the other ways to take a text apart, for people.
func otherReadings(list []reading) (others []string) {
	for _, r := range list[1:min(len(list), mostOthers+1)] {
		what := cmp.Or(r.view.maker, r.view.Name)
		if r.isGuess && r.form != list[0].form {
			what += " as " + r.form.Name()
		}
		others = append(others, what+" ("+r.parts.Time.Format("2006-01-02")+")")
	}
	return others
}

// mostOthers is how many other ways are shown.
const mostOthers = 8
