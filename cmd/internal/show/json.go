package show

import (
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// Decoded is an ID taken apart, with the names that the protocol has for
// its parts, and what speaks for this layout.
type Decoded struct {
	ID       snowfence.ID `json:"id"`
	Time     time.Time    `json:"time"`
	Tick     int64        `json:"tick,string"`
	Node     int64        `json:"node,string"`
	Sequence int64        `json:"sequence,string"`
	Fields   []Field      `json:"fields"`
	Layout   string       `json:"layout"`
	Name     string       `json:"name,omitempty"` // of the layout, if it has one
	Reserved bool         `json:"reserved,omitempty"`
	Source   Source       `json:"source,omitempty"`
	written
	Others []other `json:"others,omitempty"`
}

// Field is a value in an ID.
type Field struct {
	Name  string `json:"name"`
	Value int64  `json:"value,string"`
}

// written says how an ID was written, where that was not in decimals.
type written struct {
	Encoding string `json:"encoding,omitempty"`
	Guessed  bool   `json:"encoding_guessed,omitempty"`
	Prefix   string `json:"prefix,omitempty"`
}

// other is a reading that is as likely.
type other struct {
	ID     snowfence.ID `json:"id"`
	Layout string       `json:"layout"`
	Name   string       `json:"name,omitempty"`
	Time   time.Time    `json:"time"`
	written
}

// Fields lists the values in an ID, parts of its node too.
func Fields(s *snowfence.Scheme, p snowfence.Parts) (list []Field) {
	add := func(name string, value int64) { list = append(list, Field{name, value}) }
	l := s.Layout()
	add("unix_ms", p.Time.UnixMilli())
	add("tick", p.Tick)
	add(snowfence.FieldNode, p.Node)
	if parts := l.NodeParts(); len(parts) != 1 || parts[0].Name != snowfence.FieldNode {
		for i, v := range s.NodeParts(p.Node) {
			add(parts[i].Name, v)
		}
	}
	add(snowfence.FieldSequence, p.Sequence)
	return append(list, fieldsBeside(l, p)...)
}

// fieldsBeside lists the values of the fields that few layouts have.
func fieldsBeside(l snowfence.Layout, p snowfence.Parts) []Field {
	return slices.DeleteFunc([]Field{
		{snowfence.FieldKey, int64(p.Key)},
		{snowfence.FieldRollback, p.Rollback},
		{snowfence.FieldScatter, p.Scatter},
		{snowfence.FieldTag, p.Tag},
	}, func(f Field) bool { return l.Bits(f.Name) == 0 })
}

// Decoded describes an ID for programs.
func (v *View) Decoded(id snowfence.ID, p snowfence.Parts) Decoded {
	return Decoded{
		ID: id, Time: p.Time, Tick: p.Tick, Node: p.Node, Sequence: p.Sequence, Fields: Fields(v.Scheme, p),
		Layout: v.Layout.String(), Name: v.preset(), Reserved: v.reserved(p),
	}
}

// preset is the name of the layout; "" if it has none.
func (v *View) preset() string {
	if strings.Contains(v.Name, "=") {
		return ""
	}
	return v.Name
}

func (t text) written() (w written) {
	w.Guessed, w.Prefix = t.isGuess, strings.TrimSuffix(t.prefix, "_")
	if t.form != snowfence.Decimal {
		w.Encoding = t.form.Name()
	}
	return w
}

// decoded describes the first reading, and the others that are as likely.
func (d *Decoder) decoded(list []reading) Decoded {
	r := list[0]
	out := r.view.Decoded(r.id, r.parts)
	out.written = r.text.written()
	out.Source = d.Source
	for _, o := range list[1:min(len(list), mostOthers+1)] {
		out.Others = append(out.Others, other{
			o.id, o.view.Layout.String(), o.view.preset(), o.parts.Time, o.text.written(),
		})
	}
	return out
}
