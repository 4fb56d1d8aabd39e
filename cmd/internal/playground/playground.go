// Package playground answers the questions of the playground on the
// project's site. It runs in the reader's browser, as WebAssembly, and asks
// no server.
package playground

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/plan"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

// question is the page's question. Ask says which of the other fields
// count.
type question struct {
	Ask    string `json:"ask"`
	Text   string `json:"text"`   // decode, guess: the ID
	From   string `json:"from"`   // decode: the form of the text; "" for a guess
	Layout string `json:"layout"` // decode, plan; change: the old one
	To     string `json:"to"`     // change: the new layout
	At     string `json:"at"`     // change: from when on the new layout is used; "" for now
	Floor  string `json:"floor"`  // change: up to when the old one may have run ahead; "" for At
	Rate   string `json:"rate"`   // find: IDs a second of all nodes together
	Nodes  string `json:"nodes"`
	Years  string `json:"years"`
	JSSafe bool   `json:"jsSafe"`
}

// Answer is the text for the page.
type Answer struct {
	Error   string      `json:"error,omitempty"`
	Refused bool        `json:"refused,omitempty"` // a change that is not safe, a need that no layout meets
	Cards   []show.Card `json:"cards,omitempty"`
	Command []string    `json:"command,omitempty"` // what asks the same in a shell
	Layouts []Layout    `json:"layouts,omitempty"`
	Forms   []string    `json:"forms,omitempty"`
}

// Layout is a layout that has a name.
type Layout struct {
	Name      string       `json:"name"`
	About     string       `json:"about"`
	Spec      string       `json:"spec"`
	Encrypted bool         `json:"encrypted,omitempty"`
	Fields    []plan.Field `json:"fields"`
}

// Ask answers a question. Both are JSON.
func Ask(text string, now time.Time) string {
	var q question
	err := json.Unmarshal([]byte(text), &q)
	var a Answer
	if err == nil {
		a, err = q.answer(now)
	}
	if err != nil {
		a = Answer{Error: err.Error(), Command: a.Command}
	}
	out, err := json.Marshal(a)
	if err != nil {
		return `{"error":"the answer has no text"}`
	}
	return string(out)
}

func (q *question) answer(now time.Time) (Answer, error) {
	switch q.Ask {
	case "decode", "guess":
		return q.decode(now)
	case "plan":
		return q.plan(now)
	case "find":
		return q.find(now)
	case "change":
		return q.change(now)
	case "layouts":
		return layouts(), nil
	}
	return Answer{}, fmt.Errorf("%q is no question", q.Ask)
}

// layouts returns the layouts that people can choose from.
func layouts() (a Answer) {
	for _, p := range snowfence.Presets() {
		a.Layouts = append(a.Layouts, Layout{
			p.Name, p.About, p.Layout.String(), p.Layout.Cipher != snowfence.Plain,
			plan.Of(p.Layout, p.Layout.Epoch).Fields,
		})
	}
	for _, f := range show.Forms() {
		a.Forms = append(a.Forms, f.Name())
	}
	return a
}

func (q *question) decode(now time.Time) (a Answer, err error) {
	d := show.Decoder{Source: show.Guessed, Guess: q.Ask == "guess", Now: now}
	a.Command = []string{"snowfence", "decode"}
	if d.Guess {
		a.Command = append(a.Command, "--guess")
	}
	if d.Views, err = show.Known(); err != nil {
		return a, err
	}
	if q.From != "" && !d.Guess {
		a.Command = append(a.Command, "--from", q.From)
		if d.Form, err = show.ParseForm(q.From); err != nil {
			return a, err
		}
	}
	if q.Layout != "" && !d.Guess {
		a.Command = append(a.Command, "--layout", q.Layout)
		v, err := show.NewPlainView(q.Layout)
		if err != nil {
			return a, err
		}
		d.Views, d.Source = []*show.View{v}, show.Given
	}
	text := strings.TrimSpace(q.Text)
	if text == "" {
		return a, errors.New("an ID is missing")
	}
	a.Command = append(a.Command, text)
	a.Cards, err = d.Cards([]byte(text))
	return a, err
}

func (q *question) plan(now time.Time) (a Answer, err error) {
	a.Command = []string{"snowfence", "plan", "--layout", q.Layout}
	v, err := show.NewView(q.Layout)
	if err != nil {
		return a, err
	}
	s := plan.Of(v.Layout, now)
	c := show.Card{Title: v.Name, Rows: v.Holds(s, now)}
	for _, f := range s.Fields {
		c.Groups = append(c.Groups, show.Group{Name: f.Name, Digits: strings.Repeat("·", f.Bits)})
	}
	a.Cards = []show.Card{c}
	return a, nil
}

func (q *question) find(now time.Time) (a Answer, err error) {
	a.Command = []string{"snowfence", "plan", "--rate", q.Rate, "--nodes", q.Nodes, "--years", q.Years}
	if q.JSSafe {
		a.Command = append(a.Command, "--js-safe")
	}
	need := plan.Need{JSSafe: q.JSSafe, Epoch: now.UTC().Truncate(24 * time.Hour)}
	if need.Rate, err = plan.ParseRate(q.Rate); err != nil {
		return a, err
	}
	if need.Nodes, err = plan.ParseNodes(q.Nodes); err != nil {
		return a, err
	}
	if need.Years, err = strconv.ParseFloat(q.Years, 64); err != nil {
		return a, fmt.Errorf("%q is not a number of years", q.Years)
	}
	if err := need.Check(); err != nil {
		return a, err
	}
	proposals, refusals := plan.Propose(need)
	for _, p := range proposals {
		rows := show.Proposal(p, now)
		c := show.Card{Title: rows[0][0], Note: rows[0][1], Rows: rows[1:]}
		for _, f := range p.Layout.Fields {
			c.Groups = append(c.Groups, show.Group{Name: f.Name, Digits: strings.Repeat("·", f.Bits)})
		}
		a.Cards = append(a.Cards, c)
	}
	if a.Refused = len(proposals) == 0; a.Refused {
		a.Cards = append(a.Cards, show.Card{Title: show.NoProposal(need)})
	}
	for _, r := range refusals {
		a.Cards = append(a.Cards, show.Card{More: show.Refusal(r)})
	}
	return a, nil
}

func (q *question) change(now time.Time) (a Answer, err error) {
	a.Command = []string{"snowfence", "plan", "--change", q.Layout, q.To}
	from, err := show.NewView(q.Layout)
	if err != nil {
		return a, fmt.Errorf("the old layout: %w", err)
	}
	s := show.Step{At: now.UTC()}
	if s.To, err = show.NewView(q.To); err != nil {
		return a, fmt.Errorf("the new layout: %w", err)
	}
	if q.At != "" {
		a.Command = append(a.Command, "--at", q.At)
		if s.At, err = show.ParseTime(q.At); err != nil {
			return a, err
		}
	}
	s.Floor = s.At
	if q.Floor != "" {
		a.Command = append(a.Command, "--floor", q.Floor)
		if s.Floor, err = show.ParseTime(q.Floor); err != nil {
			return a, err
		}
	}
	list, err := show.Changes(from, []show.Step{s}, false, false)
	if err != nil {
		return a, err
	}
	if err := list[0].Check(); err != nil {
		return a, err
	}
	a.Cards, a.Refused = list[0].Cards(now), list[0].Collision != nil
	return a, nil
}
