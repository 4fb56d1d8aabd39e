package show

import (
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// Card is an answer in parts, for a page.
type Card struct {
	Title  string      `json:"title"`
	Note   string      `json:"note,omitempty"`
	Groups []Group     `json:"groups,omitempty"` // the bits of an ID, or of a layout without digits
	Rows   [][2]string `json:"rows,omitempty"`
	More   string      `json:"more,omitempty"`
}

// Cards returns what Append writes for people.
func (d *Decoder) Cards(s []byte) ([]Card, error) {
	texts, err := d.texts(s)
	if err != nil {
		a, err := d.kind(s, err)
		if err != nil {
			return nil, err
		}
		return []Card{{Title: a.Text, Note: a.Name, Rows: kindRows(a, d.Now)}}, nil
	}
	if d.Guess {
		c := Card{Title: snowfence.Decimal.Encode(texts[0].id)}
		if texts[0].guessed {
			c.Note = "read as " + texts[0].form.Name() + ", a guess"
		}
		if c.Rows = guessRows(d.guesses(texts[0].id)); len(c.Rows) == 0 {
			c.More = noGuess
		}
		return []Card{c}, nil
	}
	list, err := d.readings(s, texts)
	if err != nil {
		return nil, err
	}
	r := list[0]
	c := r.view.card(r.id, r.parts, d.Now, d.about(r)...)
	if others := otherReadings(list); len(others) > 0 {
		c.More = "also fits: " + strings.Join(others, ", ")
	}
	return []Card{c}, nil
}

// card is AppendPicture for a page.
func (v *View) card(id snowfence.ID, p snowfence.Parts, now time.Time, notes ...string) Card {
	c := Card{Title: snowfence.Decimal.Encode(id), Note: v.Name, Groups: v.Groups(id), Rows: v.Rows(p, now)}
	if len(notes) > 0 {
		c.Note += "  (" + strings.Join(notes, "; ") + ")"
	}
	if len(c.Groups) == 0 {
		c.Note += ", encrypted"
	}
	return c
}

// Cards returns what Append writes. The first one says whether the change is safe.
func (p *Proof) Cards(now time.Time) []Card {
	list := []Card{{Title: p.title()}}
	if p.Collision == nil {
		list[0].Rows = p.rows()
		return list
	}
	for _, r := range p.readings() {
		c := r.view.card(p.Collision.ID, r.parts, now)
		c.Title, c.Note = r.when, c.Note+": "+c.Title
		list = append(list, c)
	}
	return list
}
