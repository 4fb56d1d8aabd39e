package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// reading is one way to read a text as an ID.
type reading struct {
	ID        string      `json:"id"`
	Encodings []string    `json:"encodings"` // in which the text is this ID
	Name      string      `json:"name"`      // of the layout: that of a preset, or of a namespace
	Space     bool        `json:"space"`     // it is a namespace
	Layout    string      `json:"layout"`
	Time      time.Time   `json:"time"`
	Fields    []bitField  `json:"fields"`
	Forms     [][2]string `json:"forms"` // the ID in all encodings
	Encrypted bool        `json:"encrypted"`
	Odd       string      `json:"odd,omitempty"` // why it is not likely

	rank int
}

// bitField is a field with its value, as text since pages have numbers of 53 bits.
type bitField struct {
	Name  string `json:"name"`
	Bits  int    `json:"bits"`
	Value string `json:"value"`
}

const (
	// How far in the future a time may lie and still be listed: clocks are off, and
	// people make test data.
	maxAhead    = 90 * 24 * time.Hour
	maxReadings = 12
)

// decode is POST /dashboard/api/decode {"text":"…","namespace":"…","layout":"…"}: the
// readings of a text, the most likely first. With neither a namespace nor a layout all
// that are known are tried.
func (d *Dashboard) decode(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Text      string `json:"text"`
		Namespace string `json:"namespace"`
		Layout    string `json:"layout"`
	}
	id, err := d.authorize(r, "")
	if err != nil {
		return err
	}
	if err := readBody(w, r, &q); err != nil {
		return err
	}
	texts, err := parse(q.Text)
	if err != nil {
		return err
	}
	schemes, err := d.schemes(r, id, q.Namespace, q.Layout)
	if err != nil {
		return err
	}
	guess := q.Namespace == "" && q.Layout == ""
	out := []reading{}
	for _, t := range texts {
		for _, s := range schemes {
			if got, ok := s.read(t, time.Now(), guess); ok {
				out = append(out, got)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), b.Time.Compare(a.Time))
	})
	n := min(len(out), maxReadings)
	return writeJSON(w, map[string]any{"readings": out[:n], "more": len(out) - n})
}

// parsed is an ID that a text may mean.
type parsed struct {
	id        snowfence.ID
	encodings []string
	rank      int // the order of the encodings, as likely as they are
}

// parse reads a text in every encoding. The part up to the last _ is taken for a prefix
// where the whole is no ID.
func parse(text string) ([]parsed, error) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	if text == "" || len(text) > 200 {
		return nil, server.Errorf(server.Invalid, "type an ID: decimal, hexadecimal, base32, base58, base62, …")
	}
	var list []parsed
	add := func(text string, encodings []snowfence.Encoding) {
		for rank, e := range encodings {
			for _, form := range []snowfence.Encoding{e, e.Fixed()} {
				id, err := form.Parse(text)
				if err != nil {
					continue
				}
				i := slices.IndexFunc(list, func(p parsed) bool { return p.id == id })
				if i < 0 {
					if form.Encode(id) != text {
						// It is not how the ID is written, only how it may be read: in
						// capitals, with zeros in front.
						rank += len(encodings)
					}
					list = append(list, parsed{id, []string{form.Name()}, rank})
				} else if !slices.Contains(list[i].encodings, e.Name()) {
					list[i].encodings = append(list[i].encodings, form.Name())
				}
			}
		}
	}
	if digits, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		add(digits, []snowfence.Encoding{snowfence.Hex})
	} else {
		// Above 2^63 too: negative IDs as others write them.
		if n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64); err == nil {
			list = append(list, parsed{snowfence.ID(n), []string{snowfence.Decimal.Name()}, 0})
		}
		add(text, snowfence.Encodings())
	}
	if i := strings.LastIndexByte(text, '_'); i >= 0 && len(list) == 0 {
		add(text[i+1:], snowfence.Encodings())
	}
	if len(list) == 0 {
		return nil, server.Errorf(server.Invalid, "this is no ID in any form known: an ID has 64 bits, at most 20 "+
			"decimal or 16 hexadecimal digits")
	}
	return list, nil
}

// namedScheme is a scheme by the name that people know.
type namedScheme struct {
	name  string
	space bool
	s     *snowfence.Scheme
}

// schemes returns the layouts to try.
func (d *Dashboard) schemes(
	r *http.Request, id *server.Identity, namespace, layout string,
) (list []namedScheme, err error) {
	if namespace != "" {
		if err := id.May(server.VerbRead, namespace); err != nil {
			return nil, err
		}
		sp, err := d.cfg.Service.Space(r.Context(), namespace)
		if err != nil {
			return nil, err
		}
		return []namedScheme{{namespace, true, sp.Scheme()}}, nil
	}
	if layout != "" {
		l, err := snowfence.ParseLayout(layout)
		if err != nil {
			return nil, server.NewError(server.Invalid, err)
		}
		s, err := snowfence.NewScheme(l)
		if err != nil {
			return nil, server.NewError(server.Invalid, err)
		}
		return []namedScheme{{layout, false, s}}, nil
	}
	for _, sp := range d.cfg.Service.Spaces() { // those that are open: no store is asked for a guess
		if id.Sees(sp.Name) {
			list = append(list, namedScheme{sp.Name, true, sp.Scheme()})
		}
	}
	for _, p := range snowfence.Presets() {
		if p.Layout.Cipher != snowfence.Plain {
			continue // every number is one of its IDs under some secret
		}
		if s, err := snowfence.NewScheme(p.Layout); err == nil {
			list = append(list, namedScheme{p.Name, false, s})
		}
	}
	return list, nil
}

// read takes an ID apart. With guess it leaves out what has no likely time.
func (n namedScheme) read(p parsed, now time.Time, guess bool) (reading, bool) {
	parts, err := n.s.Decode(p.id)
	if err != nil || guess && parts.Time.After(now.Add(maxAhead)) {
		return reading{}, false
	}
	l := n.s.Layout()
	out := reading{
		ID: strconv.FormatInt(int64(p.id), 10), Encodings: p.encodings, Name: n.name, Space: n.space,
		Layout: l.String(), Time: parts.Time, Encrypted: n.s.Encrypted(), rank: p.rank,
	}
	last := l.Last
	if last == 0 {
		last = 1<<l.Bits(snowfence.FieldSequence) - 1
	}
	switch {
	case parts.Sequence < l.First || parts.Sequence > last:
		out.Odd, out.rank = "generators of this layout do not make its sequence number", out.rank+40
	case parts.Time.After(now):
		out.Odd, out.rank = "its time lies in the future", out.rank+20
	}
	if n.space {
		out.rank -= 10
	}
	nodeParts, at := n.s.NodeParts(parts.Node), 0
	for _, f := range l.Fields {
		v := int64(0)
		switch f.Name {
		case snowfence.FieldTime:
			v = parts.Tick
		case snowfence.FieldSequence:
			v = parts.Sequence
		case snowfence.FieldRollback:
			v = parts.Rollback
		case snowfence.FieldKey:
			v = int64(parts.Key)
		default:
			v, at = nodeParts[at], at+1
		}
		out.Fields = append(out.Fields, bitField{f.Name, f.Bits, strconv.FormatInt(v, 10)})
	}
	for _, e := range snowfence.Encodings() {
		out.Forms = append(out.Forms, [2]string{e.Name(), e.Encode(p.id)})
	}
	return out, true
}
