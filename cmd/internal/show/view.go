// Package show writes what IDs and layouts mean, for people and as JSON.
package show

import (
	"cmp"
	"strings"

	"github.com/snowfence/snowfence"
)

// View shows IDs of one layout.
type View struct {
	Name   string // as asked for, if it is the name of a preset; else the spec
	Scheme *snowfence.Scheme
	Layout snowfence.Layout
	From   int64 // first tick that a namespace had this layout for
	Until  int64 // first tick after the last; 0 for no end
	Unit   int64 // how many nodes a lease has at least; 0 where that is not known

	parts []snowfence.Field // named parts of the node; none when the node has no parts but itself
	same  []string          // other presets with the same bits, in a list of guesses
	maker string            // of a layout that has no name
}

// NewView returns the view of a layout that may be encrypted: it then has a
// random secret, to plan with and not to decode.
func NewView(spec string) (*View, error) {
	return NewViewWith(spec, func(l snowfence.Layout) (*snowfence.Scheme, error) {
		if l.Cipher != snowfence.Plain {
			return snowfence.NewScheme(l, snowfence.GenerateSecret())
		}
		return snowfence.NewScheme(l)
	})
}

// NewPlainView returns the view of a layout that is not encrypted.
func NewPlainView(spec string) (*View, error) {
	return NewViewWith(spec, func(l snowfence.Layout) (*snowfence.Scheme, error) { return snowfence.NewScheme(l) })
}

// NewViewWith returns the view of a layout with a scheme of the caller.
func NewViewWith(spec string, scheme func(snowfence.Layout) (*snowfence.Scheme, error)) (*View, error) {
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		return nil, err
	}
	if strings.Contains(spec, "=") {
		spec = l.String()
	}
	s, err := scheme(l)
	if err != nil {
		return nil, err
	}
	return ViewOf(spec, s), nil
}

// ViewOf returns the view of a scheme, by the name that people know.
func ViewOf(name string, s *snowfence.Scheme) *View {
	v := &View{Name: name, Scheme: s, Layout: s.Layout()}
	if parts := v.Layout.NodeParts(); len(parts) != 1 || parts[0].Name != snowfence.FieldNode {
		v.parts = parts
	}
	return v
}

// LayoutName returns the name of a preset, or the spec of another layout.
func LayoutName(l snowfence.Layout) string {
	for _, preset := range snowfence.Presets() {
		if preset.Layout.Equal(l) {
			return preset.Name
		}
	}
	return l.String()
}

// title is what people call the layout.
func (v *View) title() string {
	return strings.Join(append([]string{cmp.Or(v.maker, v.Name)}, v.same...), ", ")
}

// unused reports whether no generator of the layout makes a sequence
// number.
func (v *View) unused(p snowfence.Parts) bool { return p.Sequence > v.Layout.Last }

// reserved reports whether a sequence number is below those that generators
// make. IDs made by hand have it, and IDs of snow-drift after the clock
// stepped back.
func (v *View) reserved(p snowfence.Parts) bool { return p.Sequence < v.Layout.First }

// reservedNote explains a reserved number.
const reservedNote = "reserved: made by hand, or after the clock stepped back"
