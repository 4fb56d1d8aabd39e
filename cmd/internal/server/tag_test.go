package server

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// The room of an answer with ranges is bounded, however many bits are above
// the time.
func TestRangesRoom(t *testing.T) {
	s := newService(t, newStore(t), Options{})
	for spec, want := range map[string]int64{
		"twitter": 160, "tag=3,time=41,seq=9": 160 << 3, "scatter=12,time=41,seq=9": 160 << 12,
		"tag=63,time=1,tick=438000h": 160 << 12, "tag=12,region=51,time=1,tick=438000h": 160 << 12,
	} {
		name := "n" + strconv.Itoa(len(spec))
		create(t, s.Store(), name, spec)
		sp, err := s.Spaces.Find(t.Context(), name)
		if err != nil || sp.RangesRoom() != want {
			t.Errorf("%s: %d bytes, want %d, %v", spec, sp.RangesRoom(), want, err)
		}
	}
}

// Each way to get IDs gives all of them the tag. A tag that they cannot
// have takes nothing.
func TestTags(t *testing.T) {
	s := newService(t, newStore(t, "plain"), Options{Lead: 1 << 20})
	create(t, s.Store(), "tagged", "tag=3,time=41,node=6,seq=6")
	create(t, s.Store(), "last", "scatter=2,time=41,node=6,seq=2,tag=3")
	caller := CallerOf(anyone(t.Context()))
	for name, c := range map[string]struct {
		tag int64
		why string
	}{"plain": {0, "leave tag out"}, "tagged": {8, "from 0 to 7"}, "last": {-1, "from 0 to 7"}} {
		sp := must(s.Spaces.Find(t.Context(), name))
		o := Order{Namespace: name, Count: 10, Tag: &c.tag}
		_, runs := s.IDs.Runs(t.Context(), caller, o)
		_, past := s.IDs.Backfill(t.Context(), caller, o, time.Now(), 0)
		stream := s.IDs.Stream(t.Context(), caller, o, 0, nil)
		for _, err := range []error{runs, past, stream, s.IDs.Batch(t.Context(), caller, o, nil)} {
			if KindOf(err) != Invalid || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: tag %d: %v", name, c.tag, err)
			}
		}
		if sp.Own.gen.Load() != nil {
			t.Errorf("%s: a generator was asked", name)
		}
	}
	for _, name := range []string{"tagged", "last"} {
		sp := must(s.Spaces.Find(t.Context(), name))
		seen := map[snowfence.ID]bool{}
		check := func(ids []snowfence.ID, tag int64) {
			for _, id := range ids {
				p, err := sp.Decode(id)
				bare, err2 := sp.Scheme().Tag(id, 0)
				if err != nil || err2 != nil || p.Tag != tag || seen[bare] {
					t.Fatalf("%s: %d with the tag %d: %+v, %v, %v", name, id, tag, p, err, err2)
				}
				seen[bare] = true
			}
		}
		for tag := range int64(8) {
			o := Order{Namespace: name, Tag: &tag}
			for _, o.Count = range []int64{1, 300} {
				use := func(ids []snowfence.ID) { check(ids, tag) }
				noError(t, s.IDs.Batch(t.Context(), caller, o, use))
			}
			runs := must(s.IDs.Runs(t.Context(), caller, o))
			for _, r := range runs {
				for id := range r.All() {
					check([]snowfence.ID{id}, tag)
				}
			}
		}
	}
}
