package claim

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// The tests here try the arithmetic of grants on all small
// cases, and compare it with the rules tick by tick.

const lastTick = 15

// small returns a ticks of a layout with 16 ticks of 10 ms.
func small(t *testing.T, ttl time.Duration) Ticks {
	t.Helper()
	l := must(snowfence.ParseLayout("time=4,node=3,seq=2,epoch=2025-01-01,tick=10ms"))
	s, err := snowfence.NewScheme(l)
	if err != nil || s.MaxTick() != lastTick {
		t.Fatal(s.MaxTick(), err)
	}
	return Ticks{l, lastTick, ttl}
}

// smallRecords are records with ends of few ticks. One was never
// leased, and one is of an earlier layout.
func smallRecords() (out []store.Record) {
	for _, until := range []int64{1, 3, 4, 9, lastTick, lastTick + 1} {
		out = append(out, store.Record{Nonce: "x", Generation: 2, Until: until})
	}
	return append(out, store.Record{Generation: 2, Until: 7}, store.Record{Nonce: "x", Generation: 1, Until: 7})
}

// wantGrant says what a grant is. It starts at the first tick above all
// floors, and not more than a ttl in the past. It ends a ttl ahead, and
// with the layout.
func wantGrant(t Ticks, floorOfAll int64, rs []store.Record, now time.Time) (from, until int64) {
	tick := t.Layout.TickOf(now)
	from = max(floorOfAll, t.Layout.TickOf(now.Add(-t.TTL)))
	for _, r := range rs {
		if r.Nonce == "x" && r.Generation == 2 {
			from = max(from, r.Until)
		}
	}
	until = from + 1
	for u := until; u <= lastTick+1; u++ {
		if u > from+1 && u > tick+1 && t.Layout.TimeOf(u).After(now.Add(t.TTL)) {
			break
		}
		until = u
	}
	return from, until
}

// times calls f with times in all ticks of the layout, at their beginning
// and inside.
func times(t Ticks, f func(now time.Time)) {
	for at := t.Layout.Epoch; t.Layout.TickOf(at) <= lastTick; at = at.Add(5 * time.Millisecond) {
		f(at)
	}
}

func TestGrantsOfSmallRecords(t *testing.T) {
	rs := smallRecords()
	for _, ttl := range []time.Duration{3 * time.Millisecond, 30 * time.Millisecond} {
		w := small(t, ttl)
		for _, floor := range []int64{0, 4} {
			ns := scope.Namespace{Terms: scope.Terms{Since: 2, Floor: floor}}
			for i, a := range rs {
				for _, b := range rs[i:] {
					times(w, func(now time.Time) {
						for _, block := range [][]store.Record{{a}, {a, b}, {b, a}} {
							from, until, err := w.grant(ns, block, now)
							wantFrom, wantUntil := wantGrant(w, ns.Floor, block, now)
							switch {
							case wantFrom > lastTick:
								if !errors.Is(err, snowfence.ErrLifetime) {
									t.Fatalf("at %v, from %+v: granted [%d, %d) after the last tick (%v)",
										now, block, from, until, err)
								}
							case err != nil || from != wantFrom || until != wantUntil:
								t.Fatalf("at %v, ttl %v, floor %d, from %+v: granted [%d, %d), %v, not [%d, %d)",
									now, ttl, ns.Floor, block, from, until, err, wantFrom, wantUntil)
							}
						}
					})
				}
			}
		}
	}
}

// A renewed grant ends a ttl ahead, never before its old end, and with
// the layout. One that ended more than a ttl ago becomes a new grant.
func TestRenewalsOfSmallRecords(t *testing.T) {
	rs := smallRecords()
	for _, ttl := range []time.Duration{3 * time.Millisecond, 30 * time.Millisecond} {
		w := small(t, ttl)
		for i, a := range rs {
			for _, b := range rs[i:] {
				times(w, func(now time.Time) {
					tick := w.Layout.TickOf(now)
					for _, block := range [][]store.Record{{a}, {a, b}, {b, a}} {
						until := max(w.Layout.TickOf(now.Add(ttl)), tick+1)
						lapsed := false
						for _, r := range block {
							until = max(until, r.Until)
							lapsed = lapsed || w.Layout.TickOf(now.Add(-ttl)) > r.Until
						}
						until = min(until, lastTick+1)
						if got := w.renewal(block, now); got != until {
							t.Fatalf("at %v, ttl %v: %+v is renewed to %d, not %d", now, ttl, block, got, until)
						}
						if got := w.lapsed(block, now); got != lapsed {
							t.Fatalf("at %v, ttl %v: %+v is lapsed: %t, not %t", now, ttl, block, got, lapsed)
						}
					}
				})
			}
		}
	}
}

// A record has the run of ticks that its grant belongs to. A
// run begins after ticks that were left out, and with a layout.
func TestGrantedRecords(t *testing.T) {
	ns := scope.Namespace{Terms: scope.Terms{Since: 2, Floor: 3}}
	known := store.Record{Nonce: "x", Generation: 2, Until: 5, From: 4, PrevUntil: 1}
	old, fresh := known, known
	old.Generation, fresh.Nonce = 1, ""
	for _, c := range []struct {
		name     string
		r        store.Record
		from     int64
		wantFrom int64
	}{
		{"at its end", known, 5, 4},
		{"above its end", known, 6, 6},
		{"of an earlier layout", old, 3, 3},
		{"of an earlier layout, above the floor", old, 6, 6},
		{"never leased", fresh, 3, 3},
		{"never leased, above the floor", fresh, 6, 6},
	} {
		got := granted(ns, c.r, c.from, 7)
		want := c.r
		want.From, want.Until = c.wantFrom, 7
		if got != want {
			t.Errorf("%s: %+v, not %+v", c.name, got, want)
		}
	}
}
