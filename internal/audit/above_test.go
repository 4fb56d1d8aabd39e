package audit

import (
	"testing"

	"github.com/snowfence/snowfence"
)

// Below other fields, times are in order, and IDs need not be.
func TestOrderBelowOtherFields(t *testing.T) {
	for _, spec := range []string{
		"scatter=5,time=41,node=10,seq=7", "tag=5,time=41,node=10,seq=7", "node=10,time=41,seq=12",
		"time=41,node=10,seq=12",
	} {
		s := schemeOf(spec)
		compose := func(p snowfence.Parts) snowfence.ID {
			if s.Layout().Bits(snowfence.FieldTag) == 0 {
				p.Tag = 0
			}
			if s.Layout().Bits(snowfence.FieldScatter) == 0 {
				p.Scatter = 0
			}
			return must(s.Compose(p))
		}
		var ids []snowfence.ID
		for i := range int64(100) {
			n := (100 - i) % 5
			ids = append(ids, compose(snowfence.Parts{Tick: 1000 + i, Node: 3 + n, Scatter: n, Tag: n, Sequence: n}))
		}
		late := compose(snowfence.Parts{Tick: 1005, Node: 9, Scatter: 31, Tag: 31, Sequence: 9})
		ids = append(ids, late)
		r := result(t, Options{Scheme: s}, ids...)
		if r.Order.Violations != 1 || r.Order.List[0].ID != late || r.Fields.Foreign != 0 {
			t.Errorf("%s: %+v, %+v", spec, r.Order, r.Fields)
		}
		if f := r.Fields; f.Nodes.Seen != 6 || f.Sequence != 9 || !f.First.Equal(s.Layout().TimeOf(1000)) ||
			!f.Last.Equal(s.Layout().TimeOf(1099)) {
			t.Errorf("%s: %+v", spec, f)
		}
	}
}
