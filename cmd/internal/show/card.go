package show

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowfence/snowfence"
)

// Card is an answer in parts, for a page.
type Card struct {
	Title  string  `json:"title"`
	Note   string  `json:"note,omitempty"`
	Groups []Group `json:"groups,omitempty"` // the bits of an ID, or of a layout without digits
	Rows   Rows    `json:"rows,omitempty"`
	More   string  `json:"more,omitempty"`
}

// append appends an answer as lines:
//
//	2104672976770170879  twitter
//	┌─┬─────────────────────────────────────────┬──────────┬──────┬────────────┐
//	│ │time                                     │datacenter│worker│sequence    │
//	│0│00111010011010101110001110001110001110001│11111     │11111 │111111111111│
//	└─┴─────────────────────────────────────────┴──────────┴──────┴────────────┘
//	time        2026-09-28T20:01:55.251Z  (8 weeks ago, tick 501793140594)
//	datacenter  31
func (c Card) append(b []byte) []byte {
	b = append(b, c.Title...)
	if c.Note != "" {
		at := utf8.RuneCountInString(c.Title) + 2
		b = append(b, "  "+Wrap(c.Note, at, at)...)
	}
	b = append(b, '\n')
	if len(c.Groups) > 0 {
		b = appendBoxes(b, c.Groups)
	}
	b = c.Rows.Append(b)
	if c.More != "" {
		b = append(b, Wrap(c.More, 0, 2)+"\n"...)
	}
	return b
}

// AppendPicture appends an ID for people. Notes stand in the first line.
func (v *View) AppendPicture(b []byte, id snowfence.ID, p snowfence.Parts, now time.Time, notes ...string) []byte {
	return v.card(id, p, now, notes...).append(b)
}

func (v *View) card(id snowfence.ID, p snowfence.Parts, now time.Time, notes ...string) Card {
	c := Card{Title: snowfence.Decimal.Encode(id), Groups: v.Groups(id), Rows: v.Rows(p, now)}
	c.Note = cmp.Or(v.maker, v.Name)
	if len(notes) > 0 {
		c.Note += "  (" + strings.Join(notes, "; ") + ")"
	}
	if len(c.Groups) == 0 {
		c.Note += ", encrypted"
		c.Rows = append(Rows{{"text", snowfence.Base32Hex.Encode(id)}}, c.Rows...)
	}
	return c
}
