package show

import (
	"time"

	"github.com/snowfence/snowfence"
)

// Decoder takes IDs apart.
type Decoder struct {
	Form      Form    // of the texts; nil for decimals, and a guess for what is none
	Views     []*View // the layouts to try; the first one is taken where nothing speaks against it
	Source    Source  // where the first layout is from
	Namespace string
	Known     []*View // for guess
	JSON      bool
	Guess     bool
	Now       time.Time

	// Check is Decode that refuses IDs that cannot be real; nil refuses none.
	Check func(v *View, id snowfence.ID) (snowfence.Parts, error)
}

// Source says where the layout of an ID is from.
type Source string

// Where the layout of an ID is from.
const (
	Given         Source = "given"
	FromNamespace Source = "namespace"
	ByDefault     Source = "default"
	Guessed       Source = "guess"
)

// Append appends what a text is, as lines or as one line of JSON.
func (d *Decoder) Append(b, s []byte) ([]byte, error) {
	texts, err := d.texts(s)
	if err != nil {
		return d.appendKind(b, s, err)
	}
	if d.Guess {
		return d.appendGuesses(b, texts[0]), nil
	}
	list, err := d.readings(s, texts)
	if err != nil {
		return b, err
	}
	if d.JSON {
		return append(d.appendReading(b, list), '\n'), nil
	}
	r := list[0]
	b = r.view.AppendPicture(b, r.id, r.parts, d.Now, d.about(r)...)
	return appendOthers(b, list), nil
}

func (d *Decoder) parts(v *View, id snowfence.ID) (snowfence.Parts, error) {
	if d.Check != nil {
		return d.Check(v, id)
	}
	return v.Scheme.Decode(id)
}
