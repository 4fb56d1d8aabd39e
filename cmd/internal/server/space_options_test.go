package server

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// A quiet namespace of a server put all rows into one of 16 shards, and no
// setting helped.
func TestSpreadOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		st := store.NewMemory()
		create(t, st, "even", "snowfence")
		create(t, st, "quiet", "snowfence")
		create(t, st, "changed", "sonyflake") // since the server began
		var logs bytes.Buffer
		s := New(st, Options{
			Spread: map[string]int64{"even": 16, "changed": 16}, Logger: slog.New(slog.NewTextHandler(&logs, nil)),
		})
		defer s.Close(t.Context())
		shards := func(name string) int {
			t.Helper()
			all := map[int64]bool{}
			for range 200 {
				time.Sleep(time.Millisecond)
				id := must(s.one(t.Context(), name))
				all[int64(id)%16] = true
			}
			return len(all)
		}
		if n := shards("even"); n != 16 {
			t.Errorf("with a spread, %d of 16 shards have rows", n)
		}
		if n := shards("quiet"); n > 3 { // the clock is read about once a millisecond
			t.Errorf("another namespace has a spread too: %d shards", n)
		}
		shards("changed")
		text := logs.String()
		if strings.Count(text, "without the spread") != 1 || !strings.Contains(text, "follows them") {
			t.Error(text)
		}
	})
}

// A ttl above the longest of the namespace is cut, and the log says so,
// with the cure.
func TestLogOfCutTTL(t *testing.T) {
	for ttl, want := range map[time.Duration]int{15 * time.Second: 0, time.Hour: 1} {
		st := store.NewMemory()
		create(t, st, "orders", "snowfence")
		var log bytes.Buffer
		s := New(st, Options{Label: "a", TTL: ttl, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		sp, err := s.Spaces.Find(t.Context(), "orders")
		if err == nil {
			_, err = sp.Next(t.Context())
		}
		noError(t, err)
		noError(t, s.Close(t.Context()))
		if got := strings.Count(log.String(), "snowfence namespace change orders --max-ttl 1h0m0s"); got != want {
			t.Errorf("ttl %v: %d warnings\n%s", ttl, got, &log)
		}
	}
}

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
