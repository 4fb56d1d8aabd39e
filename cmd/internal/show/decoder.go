package show

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// Decoder takes IDs apart.
type Decoder struct {
	Form      *snowfence.Encoding // of the texts; nil for decimals, and a guess for what is none
	Views     []*View             // the layouts to try: one, those of a namespace, or all for a guess
	Source    Source              // where they are from
	Namespace string
	JSON      bool
	Now       time.Time

	seen *Evidence // of all IDs so far
}

// Source says where the layout of an ID is from.
type Source string

// Where the layout of an ID is from.
const (
	Given         Source = "given"
	FromNamespace Source = "namespace"
	Guessed       Source = "guess"
)

// enough IDs tell their layout.
const enough = 1000

// Learn takes an ID into account that Append gets later: several have one
// layout.
func (d *Decoder) Learn(s []byte) {
	if d.evidence().count == enough {
		return
	}
	id, err := snowfence.Decimal.ParseBytes(s)
	if err != nil || d.Form != nil {
		id, err = d.ID(s)
	}
	if err == nil {
		d.evidence().Add(id)
	}
}

// evidence returns the evidence of the IDs so far.
func (d *Decoder) evidence() *Evidence {
	if d.seen == nil {
		var views []*View
		if d.Source == Guessed {
			views = d.Views
		}
		d.seen = NewEvidence(views, d.Now)
	}
	return d.seen
}

// Append appends the facts of a text, as lines or as one line of JSON.
func (d *Decoder) Append(b, s []byte) ([]byte, error) {
	c, object, err := d.answer(s)
	if err != nil {
		return b, err
	}
	if !d.JSON {
		return c.append(b), nil
	}
	line, err := json.Marshal(object)
	return append(append(b, line...), '\n'), err
}

// Cards returns the text that Append writes for people, as cards.
func (d *Decoder) Cards(s []byte) ([]Card, error) {
	d.Learn(s)
	c, _, err := d.answer(s)
	if err != nil {
		return nil, err
	}
	return []Card{c}, nil
}

// answer has the facts of a text, for people and for programs.
func (d *Decoder) answer(s []byte) (c Card, object any, err error) {
	texts, err := d.texts(s)
	if err != nil {
		return c, nil, err
	}
	list, err := d.readings(s, texts)
	if err != nil {
		return c, nil, err
	}
	r := list[0]
	c = r.view.card(r.id, r.parts, d.Now, d.about(r)...)
	if others := otherReadings(list); len(others) > 0 {
		c.More = "also fits: " + strings.Join(others, ", ")
	}
	return c, d.decoded(list), nil
}

// ID returns the ID that Append would take apart. It is safe for concurrent
// use.
func (d *Decoder) ID(s []byte) (snowfence.ID, error) {
	texts, err := d.texts(s)
	if err != nil {
		return 0, err
	}
	list, err := d.readings(s, texts)
	if err != nil {
		return 0, err
	}
	return list[0].id, nil
}
