package backfill_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// newPastOf is a namespace that allows none yet.
func newPastOf(t *testing.T, s *snowfence.Scheme) *past {
	t.Helper()
	w := &pastWorld{world.Real(), pastNow}
	p := &past{
		t: t, clock: w, ctx: world.With(t.Context(), w), st: newPastStore(), s: s, made: map[snowfence.ID]time.Time{},
	}
	must(scope.Namespaces(p.st).Create(p.ctx, "n", p.s, nil))
	return p
}

func (p *past) allow(last int64) {
	p.t.Helper()
	must(scope.Namespaces(p.st).AllowBackfill(p.ctx, "n", last))
}

// force changes the layout without a proof.
func (p *past) force(s *snowfence.Scheme) {
	p.t.Helper()
	must(scope.Namespaces(p.st).Change(p.ctx, "n", s, &scope.NamespaceOptions{Force: true}))
	p.s = s
}

// change is a proven one.
func (p *past) change(spec string) {
	p.t.Helper()
	s := schemeOf(p.t, spec)
	must(scope.Namespaces(p.st).Change(p.ctx, "n", s, nil))
	p.s = s
}

// all makes the IDs that a second has left.
func (p *past) all(b *backfill.Backfill, at time.Time) {
	p.t.Helper()
	for range 10_000 {
		id, err := newAt(p.ctx, b, at)
		if errors.Is(err, backfill.ErrFull) {
			return
		}
		noError(p.t, err)
		p.new(id, at)
	}
	p.t.Fatalf("%v never ends", at)
}

// A layout comes back before the next had a tick. The second in which it
// left and came back keeps its ticks when both spans are remembered.
func TestPastOfALayoutThatCameBack(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	const other = "time=41,node=9,seq=13,epoch=2025-01-01,first=5"
	p.clock.now = pastNow.Add(500 * time.Millisecond)
	p.change(other)
	p.change(pastLayout)
	p.clock.now = pastNow.Add(time.Hour)
	at := pastNow.Add(900 * time.Millisecond)
	b := p.open(0)
	for range 3 {
		p.id(b, at)
	}
	p.change(other)
	p.clock.now = pastNow.Add(2 * time.Hour)
	b = p.open(0)
	p.all(b, pastNow)
	p.all(b, at)
}

// The first layout has the times before its start too, also if it left
// before it had a tick of its own.
func TestPastOfAFirstLayoutWithoutATick(t *testing.T) {
	p := newPastOf(t, schemeOf(t, "time=41,node=10,seq=12,epoch=2026-07-01,first=5"))
	p.change(pastLayout) // begins with the epoch of the one before
	p.allow(0)
	at := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	before := p.s
	p.id(p.open(1), at)
	p.change("time=41,node=9,seq=13,epoch=2025-01-01,first=5")
	if parts, err := before.Decode(p.id(p.open(1), at)); err != nil || parts.Node != 1 {
		t.Errorf("not the layout of that time: %+v, %v", parts, err)
	}
}

// Ticks that are longer than a second begin within one: two times of the
// second have two ticks.
func TestPastTicksThatBeginWithinASecond(t *testing.T) {
	p := newPast(t, "time=30,node=17,seq=16,epoch=2025-01-01T00:00:00.3Z,tick=90s,first=5", 4)
	l := p.s.Layout()
	at := l.TimeOf(l.TickOf(pastNow) - 5)
	times := []time.Time{at.Add(-time.Millisecond), at}
	ids := make([]snowfence.ID, 2)
	noError(t, fillAt(p.ctx, p.open(0), ids, times))
	for i, id := range ids {
		if parts, err := p.s.Decode(id); err != nil || parts.Tick != l.TickOf(times[i]) {
			t.Errorf("%v has tick %d, not %d", times[i], parts.Tick, l.TickOf(times[i]))
		}
	}
	p = newPast(t, "time=30,node=17,seq=16,epoch=2025-01-01T00:00:00.5Z,tick=1s,first=5", 4)
	at = pastNow.Add(-time.Hour) // its tick began in the second before
	if parts, err := p.s.Decode(p.id(p.open(0), at)); err != nil || parts.Time.Truncate(time.Second) != at {
		t.Errorf("%v has the time %v: %v", at, parts.Time, err)
	}
}

// pastSide can follow pastLayout, and be followed by it.
const pastSide = "time=41,node=9,seq=13,epoch=2025-01-01,first=5"

// Times of one second that belong to two layouts come in any order.
func TestPastTimesAroundAChange(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	change := pastNow.Add(500 * time.Millisecond)
	p.clock.now = change
	old := p.s
	p.change(pastSide)
	p.clock.now = pastNow.Add(time.Hour)
	times := []time.Time{change.Add(9 * time.Millisecond), change.Add(-time.Millisecond), pastNow}
	ids := make([]snowfence.ID, len(times))
	noError(t, fillAt(p.ctx, p.open(1), ids, times))
	for i, s := range []*snowfence.Scheme{p.s, old, old} {
		if parts, err := s.Decode(ids[i]); err != nil || parts.Node != 1 {
			t.Errorf("%v has not the layout %v: %+v, %v", times[i], s.Layout(), parts, err)
		}
	}
}

// An error after IDs of the first hours leaves none of them.
func TestPastErrorOfALaterHour(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	at := pastNow.Add(-200 * time.Hour)
	var times []time.Time
	for n := range 199 {
		times = append(times, at.Add(time.Duration(n)*time.Hour))
	}
	times = append(times, slices.Repeat([]time.Time{times[198]}, 1000)...)
	ids := make([]snowfence.ID, len(times))
	if err := fillAt(p.ctx, p.open(0), ids, times); !errors.Is(err, backfill.ErrFull) || p.st.swaps == 0 {
		t.Errorf("after %d swaps: %v", p.st.swaps, err)
	}
	if slices.Max(ids) != 0 {
		t.Error("it leaves IDs")
	}
}

// The namespace had another layout and its own again since it was read.
// Times between belong to the other one.
func TestPastLayoutThatCameBackUnseen(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(1)
	side := schemeOf(t, pastSide)
	p.change(pastSide)
	p.clock.now = pastNow.Add(time.Hour)
	p.change(pastLayout)
	p.clock.now = pastNow.Add(2 * time.Hour)
	if parts, err := side.Decode(p.id(b, pastNow.Add(time.Minute))); err != nil || parts.Node != 1 {
		t.Errorf("not the layout of that time: %+v, %v", parts, err)
	}
}

// Another process was faster: what it took is not used.
func TestPastLostSwap(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	at := pastNow.Add(-time.Hour)
	b, other := p.open(0), p.open(0)
	p.st.before = func(ws []store.Write) {
		if ws[0].New.Node < store.NamespaceNode {
			p.st.before = nil
			p.id(other, at)
		}
	}
	ids := make([]snowfence.ID, 2)
	noError(t, fillAt(p.ctx, b, ids, []time.Time{at, at}))
	p.new(ids[0], at)
	p.new(ids[1], at)
}

// An operator writes the namespace while the end of what was used is
// raised.
func TestPastMeetsAnOperator(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	p.st.before = func(ws []store.Write) {
		if ws[0].New.Node == store.NamespaceNode {
			p.st.before = nil
			must(scope.Namespaces(p.st).NoteOthers(p.ctx, "n"))
		}
	}
	p.id(b, pastNow)
}

// What happens between the count of an ID and its use.
func TestPastBeforeUse(t *testing.T) {
	at := pastNow.Add(-time.Hour)
	for name, c := range map[string]struct {
		event func(p *past, backup map[store.Key]store.Record)
		want  error
	}{
		"a store that lost it gets other nodes": {func(p *past, backup map[store.Key]store.Record) {
			p.st.restore(backup, "two")
			p.nodes(1, 2)
		}, lease.ErrRefused},
		"other counts": {func(p *past, _ map[store.Key]store.Record) { p.nodes(0, 1) }, backfill.ErrFull},
		"two changes without a proof": {func(p *past, _ map[store.Key]store.Record) {
			old := p.s
			p.force(schemeOf(p.t, "time=41,node=10,seq=12,epoch=2025-01-02,first=5"))
			p.force(old)
		}, lease.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t, pastLayout, 0)
			b := p.open(0)
			p.id(b, at.Add(-time.Hour))
			backup := p.st.backup()
			p.st.after = func(ws []store.Write) {
				if ws[0].New.Node < store.NamespaceNode {
					p.st.after = nil
					c.event(p, backup)
				}
			}
			id, err := newAt(p.ctx, b, at)
			if !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			if err == nil {
				p.new(id, at)
			}
		})
	}
}

// Layouts without a reserved number or without the node make none, and a
// change begins with a tick.
func TestPastTimesWithoutAnID(t *testing.T) {
	p := newPastOf(t, schemeOf(t, "time=41,node=9,seq=13,epoch=2025-01-01"))
	p.id0()
	p.change("time=42,node=9,seq=12,epoch=2020-01-01,first=5")
	p.allow(0)
	p.refused(p.open(0), pastNow.Add(-time.Hour), lease.ErrInvalid, "take a later one")
	p.clock.now = pastNow.Add(time.Hour)
	p.id(p.open(0), p.clock.now)

	p = newPast(t, "time=30,node=17,seq=16,epoch=2025-01-01T00:00:00.5Z,tick=1s,first=5", 4)
	p.refused(p.open(0), p.s.Layout().Epoch, lease.ErrInvalid, "no tick")

	p = newPast(t, "time=30,node=17,seq=16,epoch=2200-01-01,tick=1h,first=5", 4)
	p.clock.now = time.Date(3900, 1, 1, 0, 0, 0, 0, time.UTC)
	p.refused(p.open(0), p.clock.now, lease.ErrInvalid, "3813")
	last := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).Unix() + 1<<24*3600
	p.refused(p.open(0), time.Unix(last, 0), lease.ErrInvalid, "3813")
	p.id(p.open(0), time.Unix(last-1, 0))

	p = newPast(t, "time=33,node=17,seq=13,epoch=1900-01-01,tick=1s,first=5", 4)
	p.refused(p.open(0), p.s.Layout().Epoch, lease.ErrInvalid, "no tick")

	p = newPast(t, pastLayout, 0)
	p.id0()
	p.change("time=42,node=9,seq=12,epoch=2020-01-01")
	p.clock.now = pastNow.Add(time.Hour)
	p.refused(p.open(0), p.clock.now, lease.ErrInvalid, "use all sequence numbers")

	p = newPast(t, "time=17,node=40,seq=5,epoch=2025-01-01,tick=1h,first=5", 4)
	wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 1<<38)), lease.ErrInvalid, "a node without room for hours")
	p.id(p.open(1<<38-1), pastNow)

	p = newPast(t, "time=31,node=17,seq=15,epoch=1960-01-01,tick=1s,first=5", 4)
	p.id(p.open(0), time.Date(1960, 1, 1, 0, 0, 1, 0, time.UTC))
}

// A clock that is wrong makes no ID of the present second.
func TestPastWithAWrongClock(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	p.st.clock = func() time.Time { return pastNow.Add(-time.Minute) }
	p.refused(p.open(0), pastNow, lease.ErrSkew, "ahead")
}

// A store with another identity is refused, also by a program that has not
// seen the one before.
func TestPastOpenedInAnotherStore(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	p.st.restore(p.st.backup(), "two")
	wantErr(t, errOf(backfill.Open(p.ctx, p.st, "n", p.s, 0)), backfill.ErrRolledBack, "")
}

// A store that was rolled back with its identity: it shows less than it has
// shown.
func TestPastOfAnOlderStore(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	at := pastNow.Add(-time.Hour)
	backup := p.st.backup()
	must(scope.Namespaces(p.st).Delete(p.ctx, "n"))
	must(scope.Namespaces(p.st).Create(p.ctx, "n", p.s, nil))
	b := p.open(0)
	p.st.restore(backup, "one:-")
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithTimeout(p.ctx, 30*time.Second) // it must not try for ever
	defer cancel()
	p.refused(b, at, backfill.ErrRolledBack, "--backfill-nodes") // an older namespace

	p = newPast(t, pastLayout, 0)
	backup = p.st.backup()
	b = p.open(0)
	p.id(b, at)
	p.st.restore(backup, "one:-")
	must(newAt(p.ctx, p.open(0), at))
	p.refused(b, at, backfill.ErrRolledBack, "--backfill-nodes") // another write in place of its own

	p = newPast(t, pastLayout, 0)
	b = p.open(0)
	p.id(b, at)
	backup = p.st.backup()
	p.id(b, at)
	p.id(b, at)
	p.st.restore(backup, "one:-")
	p.refused(b, at, backfill.ErrRolledBack, "--backfill-nodes") // writes before it
}

// The layout before had another secret. The change was forced, so earlier
// times get no ID.
func TestPastAfterAnotherSecret(t *testing.T) {
	const spec = "time=33,node=13,seq=14,epoch=2025-01-01,tick=1s,first=5,cipher=ff1"
	one := must(snowfence.NewSecret([]byte("0123456789abcdef")))
	two := must(snowfence.NewSecret([]byte("abcdef0123456789")))
	p := newPastOf(t, schemeOf(t, spec, one))
	p.allow(0)
	p.force(schemeOf(t, spec, two))
	p.clock.now = pastNow.Add(time.Hour)
	p.refused(p.open(0), pastNow.Add(-time.Hour), lease.ErrInvalid, "take a later one")
	parts, err := p.s.Decode(p.id(p.open(0), pastNow.Add(time.Minute)))
	if err != nil || !parts.Time.Equal(pastNow.Add(time.Minute)) {
		t.Errorf("%+v, %v", parts, err)
	}
	p = newPastOf(t, schemeOf(t, spec, one))
	p.id0()
	p.force(schemeOf(t, spec, two))
	wantErr(t, errOf(scope.Namespaces(p.st).AllowBackfill(p.ctx, "n", 0)), lease.ErrRefused,
		"allowed after a change without a proof")
}

// id0 has a generator make an ID.
func (p *past) id0() {
	p.t.Helper()
	l, err := lease.Open(p.ctx, p.st, "n", p.s, &lease.Options{Time: p.clock.source()})
	if err == nil {
		err = l.Close()
	}
	noError(p.t, err)
}

// Deleted namespaces keep what they say, and say nothing new.
func TestReservedOfADeletedNamespace(t *testing.T) {
	p := newPastOf(t, schemeOf(t, pastLayout))
	must(scope.Namespaces(p.st).Delete(p.ctx, "n"))
	wantErr(t, errOf(scope.Namespaces(p.st).AllowBackfill(p.ctx, "n", 0)), lease.ErrNoNamespace, "allowed")
	wantErr(t, errOf(scope.Namespaces(p.st).NoteOthers(p.ctx, "n")), lease.ErrNoNamespace, "noted")
}

// Who allows IDs keeps what is noted of others.
func TestAllowPastKeepsOthers(t *testing.T) {
	p := newPastOf(t, schemeOf(t, pastLayout))
	must(scope.Namespaces(p.st).NoteOthers(p.ctx, "n"))
	p.allow(0)
	if r := p.namespace(); !r.Others || r.Backfill != 1 || r.BackfillStopped {
		t.Errorf("%+v", r)
	}
	p.st.id = ""
	wantErr(t, errOf(scope.Namespaces(p.st).AllowBackfill(p.ctx, "n", 0)), lease.ErrRefused, "without an identity")
	wantErr(t, p.namespace().Fills(p.s, 0, ""), lease.ErrRefused, "made without an identity")
}

// In the second of a change, each layout has ticks of its own span alone.
func TestPastTicksOfEachLayout(t *testing.T) {
	for name, after := range map[string]bool{"before": false, "after": true} {
		p := newPast(t, pastLayout, 0)
		p.clock.now = pastNow.Add(500 * time.Millisecond)
		s, at := p.s, pastNow
		p.change(pastSide)
		start := p.s.Layout().TimeOf(p.namespace().Start)
		if after {
			s, at = p.s, pastNow.Add(900*time.Millisecond)
		}
		p.clock.now = pastNow.Add(time.Hour)
		p.all(p.open(1), at)
		for id := range p.made {
			parts, err := s.Decode(id)
			if err != nil || parts.Node != 1 || parts.Time.Before(start) == after {
				t.Fatalf("%s the change at %v: %+v, %v", name, start, parts, err)
			}
		}
	}
}

// The end of what was used is written once for all times below it.
func TestPastEndIsWrittenOnce(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	p.id(b, pastNow.Add(-time.Hour))
	once := p.namespace().Revision()
	if p.id(b, pastNow.Add(-time.Minute)); p.namespace().Revision() != once {
		t.Errorf("revision %d, before %d", p.namespace().Revision(), once)
	}
}
