package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

const pastLayout = "time=41,node=10,seq=12,epoch=2025-01-01,first=5"

// A second gives each pair of tick and reserved number once, on each node,
// and then none.
func TestPastSecond(t *testing.T) {
	for _, c := range []struct {
		spec string
		last int64
		want int           // of a second
		span time.Duration // how far after the time's second, or tick, an ID may be
	}{
		{pastLayout, 0, 1000, time.Second},
		{pastLayout, 4, 5000, time.Second},
		{"time=41,node=10,seq=12,epoch=2025-01-01,first=3", 4, 3000, time.Second},
		{"time=41,node=10,seq=12,epoch=2025-01-01T00:00:00.657Z,first=1", 0, 1000, time.Second},
		{"time=39,seq=8,node=16,epoch=2025-01-01,tick=10ms,first=5", 4, 500, time.Second},
		{"time=30,node=17,seq=17,epoch=2025-01-01,tick=1s,first=5", 4, 5, time.Second},
		{"time=30,node=17,seq=16,epoch=2025-01-01T00:00:00.5Z,tick=1s,first=5", 4, 5, time.Second},
		{"time=30,node=17,seq=16,epoch=2025-01-01,tick=700ms,first=1", 0, 2, time.Second},
		{"time=30,node=17,seq=16,epoch=2025-01-01T00:00:00.3Z,tick=90s,first=5", 4, 5, 0},
		{"time=20,node=17,seq=16,epoch=1960-01-01,tick=1h,first=2", 4, 2, 0},
		{"time=50,node=5,seq=6,epoch=2025-01-01,tick=1us,first=5", 4, 8191, time.Second},
		{"time=41,node=10,rollback=2,seq=10,epoch=2025-01-01,first=5", 4, 5000, time.Second},
		{"scatter=3,tag=4,time=41,node=5,seq=10,epoch=2025-01-01,first=5", 4, 5000, time.Second},
		{"node=5,time=41,tag=4,seq=10,epoch=2025-01-01,first=5", 4, 5000, time.Second},
	} {
		p := newPast(t, c.spec, c.last)
		l := p.s.Layout()
		at := time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC)
		from := at.Truncate(time.Second)
		if l.Tick > time.Second {
			from = l.TimeOf(l.TickOf(at))
		}
		times := slices.Repeat([]time.Time{at}, c.want)
		ids := make([]snowfence.ID, c.want)
		for node := range int64(2) {
			b := p.open(node)
			if err := fillAt(p.ctx, b, ids, times); err != nil {
				t.Errorf("%s: %v", c.spec, err)
				continue
			}
			last := map[int64]snowfence.ID{} // by scatter value
			for _, id := range ids {
				p.new(id, at)
				parts, err := p.s.Decode(id)
				if err != nil || parts.Node != node || parts.Sequence > c.last || parts.Sequence >= l.First ||
					parts.Time.Before(from) || parts.Time.Sub(from) >= max(c.span, 1) ||
					parts.Rollback != 0 || parts.Tag != 0 {
					t.Fatalf("%s: ID %d of %v: %+v, %v", c.spec, id, at, parts, err)
				}
				if was, ok := last[parts.Scatter]; ok && id <= was {
					t.Fatalf("%s: ID %d follows %d", c.spec, id, was)
				}
				last[parts.Scatter] = id
			}
			if len(last) != 1<<l.Bits(snowfence.FieldScatter) {
				t.Errorf("%s: %d scatter values", c.spec, len(last))
			}
			p.refused(b, at, backfill.ErrFull, "has room for")
			p.id(b, at.Add(max(time.Second, l.Tick)))
		}
	}
}

// The largest record: its counts have 13 bits each.
func TestPastFullHour(t *testing.T) {
	p := newPast(t, pastLayout, 4)
	b := p.open(1023)
	hour := time.Date(2026, 2, 3, 4, 0, 0, 0, time.UTC)
	var times []time.Time
	for _, second := range []int{0, 1, 1799, 3598, 3599} {
		times = append(times, slices.Repeat([]time.Time{hour.Add(time.Duration(second) * time.Second)}, 5000)...)
	}
	ids := make([]snowfence.ID, len(times))
	noError(t, fillAt(p.ctx, b, ids, times))
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != len(times) {
		t.Error("IDs of sorted times are not sorted, or repeat")
	}
	if p.st.swaps != 1 || p.st.largest > 8000 {
		t.Errorf("%d swaps, and a record of %d bytes", p.st.swaps, p.st.largest)
	}
	for _, at := range slices.CompactFunc(times, time.Time.Equal) {
		wantErr(t, errOf(newAt(p.ctx, b, at)), backfill.ErrFull, "%v", at)
	}
	p.refused(b, hour.Add(3599*time.Second), backfill.ErrFull, "2026-02-03T04:59:59Z")
	p.id(b, hour.Add(3597*time.Second))
	p.id(b, hour.Add(3600*time.Second))
	p.id(b, hour.Add(-time.Nanosecond))
	p.id(p.open(1022), hour)
}

func TestPastTimes(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(3)
	epoch := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	p.refused(b, epoch.Add(-1), lease.ErrInvalid, "begins with its epoch")
	p.refused(b, time.Time{}, lease.ErrInvalid, "begins with its epoch")
	p.refused(b, time.Unix(math.MinInt64/2, 0), lease.ErrInvalid, "begins with its epoch")
	p.refused(b, pastNow.Add(1), lease.ErrInvalid, "in the future")
	p.refused(b, time.Unix(math.MaxInt64/2, 0), lease.ErrInvalid, "in the future")
	p.id(b, epoch)
	p.id(b, pastNow)
	p.refused(b, pastNow, backfill.ErrFull, "has room for 1") // the second has just begun
	p.clock.now = pastNow.Add(2 * time.Millisecond)
	p.id(b, pastNow)
	p.id(b, pastNow)
	p.refused(b, pastNow, backfill.ErrFull, "has room for 3")
	for id, at := range p.made {
		if parts, _ := p.s.Decode(id); parts.Time.After(p.clock.now) || parts.Tick == 0 {
			t.Errorf("an ID of %v for %v", parts.Time, at)
		}
	}
	tests.Fails(t, errOf(backfill.Open(p.ctx, nil, "n", p.s, 0)), "no store")
	wantErr(t, errOf(backfill.Open(p.ctx, p.st, "no", p.s, 0)), lease.ErrNoNamespace, "no namespace")
	if ids, err := b.NewAt(p.ctx); err != nil || len(ids) != 0 {
		t.Errorf("no time: %v, %v", ids, err)
	}
	short := newPast(t, "time=20,node=10,seq=12,epoch=2026-06-01T11:50:00Z,first=1", 0)
	end := short.s.Layout().EndOfLife()
	short.clock.now = end.Add(time.Hour)
	short.refused(short.open(0), end, snowfence.ErrLifetime, "ended at")
	short.id(short.open(0), end.Add(-1))
	for _, node := range []int64{-1, 1024, 1 << 38, math.MaxInt64} {
		b, err := backfill.Open(p.ctx, p.st, "n", p.s, node)
		if err == nil {
			_, err = newAt(p.ctx, b, epoch.Add(time.Hour))
		}
		wantErr(t, err, lease.ErrInvalid, "node %d", node)
	}
}

// An error anywhere in a batch takes nothing.
func TestPastErrorTakesNothing(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	b := p.open(0)
	at := pastNow.Add(-time.Hour)
	ids := make([]snowfence.ID, 3)
	err := fillAt(p.ctx, b, ids, []time.Time{at, at.Add(-2 * time.Hour), pastNow.Add(time.Hour)})
	if !errors.Is(err, lease.ErrInvalid) || p.st.swaps != 0 || ids[0] != 0 {
		t.Errorf("%v after %d swaps: %v", err, p.st.swaps, ids)
	}
}

func TestAllowPast(t *testing.T) {
	ctx := t.Context()
	st := newPastStore()
	s, all := schemeOf(t, pastLayout), schemeOf(t, "default")
	for name, s := range map[string]*snowfence.Scheme{"n": s, "all": all, "drift": s, "five": s} {
		must(scope.Namespaces(st).Create(ctx, name, s, nil))
	}
	allow := func(name string, last int64, want error, words string) {
		t.Helper()
		_, err := scope.Namespaces(st).AllowBackfill(ctx, name, last)
		if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("%s, 0 to %d: %v; want %v with %q", name, last, err, want, words)
		}
	}
	_, err := backfill.Open(ctx, st, "n", s, 0)
	tests.Refuses(t, err, lease.ErrRefused, "--backfill")
	allow("n", 1, lease.ErrInvalid, "choose 0")
	allow("all", 0, lease.ErrRefused, "first=1")
	allow("n", 0, nil, "")
	allow("n", 0, nil, "") // it is so already
	allow("n", 4, lease.ErrRefused, "cannot be changed")
	allow("no", 4, lease.ErrNoNamespace, "")
	for range 2 {
		must(scope.Namespaces(st).NoteOthers(ctx, "drift"))
	}
	allow("drift", 4, lease.ErrRefused, "choose 0")
	allow("drift", 0, nil, "")
	allow("five", 4, nil, "")
	wantErr(t, errOf(scope.Namespaces(st).NoteOthers(ctx, "five")), lease.ErrRefused, "others beside 0 to 4")
	if ns, err := scope.Namespaces(st).NoteOthers(ctx, "n"); err != nil || ns.Backfill != 1 {
		t.Errorf("others beside 0: %v, %v", ns, err)
	}
	wantErr(t, errOf(backfill.Open(ctx, st, "n", all, 0)), lease.ErrMismatch, "another scheme")
}

// A time gets the layout that the namespace had then, with ticks of that
// layout's own span.
func TestPastLayouts(t *testing.T) {
	p := newPast(t, pastLayout, 4)
	p.clock.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	specs := []string{
		pastLayout,
		"time=41,node=10,seq=12,epoch=2020-01-01,first=5",
		"time=41,node=9,seq=13,epoch=2010-01-01,first=1",
		"time=41,node=9,seq=13,epoch=2009-01-01,first=6",
	}
	type moment struct {
		at   time.Time
		spec string
	}
	moments := []moment{{time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), specs[0]}}
	for i, spec := range specs[1:] {
		p.id(p.open(5), p.clock.now) // in each layout's own time
		b := p.open(5)
		change := p.clock.now.Add(time.Duration(i+1) * 777 * time.Millisecond)
		p.clock.now = change
		s := schemeOf(t, spec)
		must(scope.Namespaces(p.st).Change(p.ctx, "n", s, nil))
		wantErr(t, errOf(newAt(p.ctx, b, moments[0].at)), lease.ErrMismatch, "a maker of the layout before")
		p.s = s
		moments = append(moments, moment{change.Add(-time.Minute), specs[i]},
			moment{change.Add(-time.Millisecond), specs[i]}, moment{change.Add(time.Second), spec})
		p.clock.now = change.Add(24 * time.Hour)
	}
	b := p.open(5)
	for _, m := range moments {
		for range 3 {
			id := p.id(b, m.at)
			parts, err := schemeOf(t, m.spec).Decode(id)
			off := parts.Time.Sub(m.at.Truncate(time.Second))
			if err != nil || parts.Node != 5 || off < 0 || off > time.Second || parts.Sequence > 4 {
				t.Errorf("%v has not the layout %s: %+v, %v", m.at, m.spec, parts, err)
			}
		}
	}
	// Around each change, IDs of both layouts fill the second.
	for _, m := range moments {
		for _, at := range []time.Time{m.at, m.at.Add(time.Second)} {
			var err error
			for _, size := range []int{500, 50, 5, 1} {
				ids, times := make([]snowfence.ID, size), slices.Repeat([]time.Time{at}, size)
				for err = fillAt(p.ctx, b, ids, times); err == nil; err = fillAt(p.ctx, b, ids, times) {
					for _, id := range ids {
						p.new(id, at)
					}
				}
			}
			if !errors.Is(err, backfill.ErrFull) && !strings.Contains(err.Error(), "no tick") {
				t.Fatal(err)
			}
		}
	}
}

// A change of layout is proven with the reserved numbers, from when they
// are in use on.
func TestReservedNumbersInChanges(t *testing.T) {
	const old, next = "time=41,node=10,seq=12,epoch=2025-01-01,first=5",
		"time=41,node=10,seq=12,epoch=2025-03-01,last=4" // later epoch: its ticks come again
	for name, c := range map[string]struct {
		use     func(p *past) error
		collide bool
	}{
		"no numbers": {func(*past) error { return nil }, false},
		"past":       {func(p *past) error { _, err := scope.Namespaces(p.st).AllowBackfill(p.ctx, "n", 0); return err }, true},
		"others":     {func(p *past) error { _, err := scope.Namespaces(p.st).NoteOthers(p.ctx, "n"); return err }, true},
	} {
		w := &pastWorld{world.Real(), pastNow}
		p := &past{t: t, clock: w, ctx: world.With(t.Context(), w), st: newPastStore(), s: schemeOf(t, old)}
		must(scope.Namespaces(p.st).Create(p.ctx, "n", p.s, nil))
		l := must(lease.Open(p.ctx, p.st, "n", p.s, &lease.Options{Time: w.source()}))
		noError(t, errors.Join(l.Close(), c.use(p)))
		_, err := scope.Namespaces(p.st).Change(p.ctx, "n", schemeOf(t, next), nil)
		if got := errors.As(err, new(*scope.CollisionError)); got != c.collide || !got && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "no numbers" { // and now it is too late
			_, err := scope.Namespaces(p.st).AllowBackfill(p.ctx, "n", 0)
			wantErr(t, err, lease.ErrRefused, "allowed after a change that was proven without")
		}
	}
}

// Numbers are allowed only if all layouts that the namespace has had are
// apart with them: they are compared with the numbers that an earlier
// layout used, and with layouts before the last change.
func TestReservedNumbersOfLayoutsBefore(t *testing.T) {
	const first = "time=41,node=10,seq=12,epoch=2025-01-01,first=5"
	const last = "time=41,node=10,seq=12,epoch=2025-01-01,last=4"
	for name, c := range map[string]struct {
		layouts []string
		free    bool
	}{
		// A later epoch: its ticks come again. The reserved numbers of one
		// are the others' own.
		"numbers of the layout before": {[]string{last, "time=41,node=10,seq=12,epoch=2025-03-01,first=5"}, false},
		// The one between is far above both, and the last ends before it
		// gets there.
		"reserved numbers before the last change": {[]string{
			first, "time=41,node=10,seq=12,epoch=2015-01-01", "time=36,node=10,seq=12,epoch=2025-03-01,last=4",
		}, false},
		"layouts that are apart": {[]string{
			first, "time=41,node=10,seq=12,epoch=2015-01-01", "time=36,node=10,seq=12,epoch=2024-06-01,last=4",
		}, true},
	} {
		w := &pastWorld{world.Real(), pastNow}
		ctx, st := world.With(t.Context(), w), newPastStore()
		for i, spec := range c.layouts {
			s := schemeOf(t, spec)
			var err error
			if i == 0 {
				_, err = scope.Namespaces(st).Create(ctx, "n", s, nil)
			} else {
				_, err = scope.Namespaces(st).Change(ctx, "n", s, nil)
			}
			if err != nil {
				t.Fatalf("%s: %s: %v", name, spec, err)
			}
			useOnce(t, ctx, st, s, w)
		}
		_, err := scope.Namespaces(st).AllowBackfill(ctx, "n", 0)
		if got := errors.As(err, new(*scope.CollisionError)); got == c.free || c.free && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// useOnce makes an ID of a namespace.
func useOnce(t *testing.T, ctx context.Context, st store.Store, s *snowfence.Scheme, w *pastWorld) {
	t.Helper()
	w.now = w.now.Add(time.Second)
	l := must(lease.Open(ctx, st, "n", s, &lease.Options{Time: w.source()}))
	g := must(snowfence.New(snowfence.Config{Fence: l, Time: w.source()}))
	must(g.TryNext())
	noError(t, errors.Join(g.Close(), l.Close()))
}

// The clock of an operator is behind the clock of a program that made IDs
// for the present second.
func TestPastBeforeAChangeWithAClockBehind(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	p.id(p.open(0), pastNow)
	last := pastNow.Add(time.Millisecond)
	p.clock.now = last
	p.id(p.open(0), last) // the tick that begins as the noted time ends
	p.clock.now = pastNow.Add(-time.Hour)
	next := schemeOf(t, "time=42,node=9,seq=12,epoch=2020-01-01,first=5")
	ns := must(scope.Namespaces(p.st).Change(p.ctx, "n", next, nil))
	if start := next.Layout().TimeOf(ns.Start); !start.After(last) {
		t.Errorf("the new layout starts at %v", start)
	}
}

// Processes share a node.
func TestPastShared(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	const makers, batches, size = 4, 10, 50
	var mu sync.Mutex
	var wg sync.WaitGroup
	for m := range makers {
		b := p.open(0)
		wg.Go(func() {
			for n := range batches {
				times, ids := make([]time.Time, size), make([]snowfence.ID, size)
				for i := range times { // out of order, two hours
					times[i] = pastNow.Add(-3 * time.Hour).Add(time.Duration((i*37+n*11+m)%90) * time.Minute)
				}
				if err := fillAt(p.ctx, b, ids, times); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for i, id := range ids {
					if _, twice := p.made[id]; twice {
						t.Errorf("ID %d came twice", id)
					}
					p.made[id] = times[i]
					if parts, err := p.s.Decode(id); err != nil || parts.Time.Truncate(time.Second) != times[i] {
						t.Errorf("%v for %v", parts.Time, times[i])
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// A change that was forced is not proven: no ID is made of the times
// before.
func TestPastBeforeAForcedChange(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	p.id(p.open(0), pastNow)
	p.clock.now = pastNow.Add(time.Minute)
	worse := schemeOf(t, "time=41,node=10,seq=12,epoch=2025-01-02,first=5")
	if _, err := scope.Namespaces(p.st).Change(p.ctx, "n", worse, nil); err == nil {
		t.Fatal("the layouts of the test do not meet")
	}
	p.force(worse)
	b := p.open(0)
	p.clock.now = pastNow.Add(time.Hour)
	p.refused(b, pastNow, lease.ErrInvalid, "take a later one")
	p.id(b, pastNow.Add(2*time.Minute))
	good := schemeOf(t, "time=42,node=9,seq=12,epoch=2010-01-01,first=5")
	must(scope.Namespaces(p.st).Change(p.ctx, "n", good, nil))
	p.s = good
	p.refused(p.open(0), pastNow, lease.ErrInvalid, "take a later one")
}

// An encrypted layout has reserved numbers too.
func TestPastEncrypted(t *testing.T) {
	secret := must(snowfence.NewSecret([]byte("0123456789abcdef")))
	ctx := world.With(t.Context(), &pastWorld{world.Real(), pastNow})
	st := newPastStore()
	s := schemeOf(t, "key=4,time=32,node=13,seq=14,epoch=2025-01-01,tick=1s,first=5,cipher=ff1", secret)
	must(scope.Namespaces(st).Create(ctx, "n", s, nil))
	must(scope.Namespaces(st).AllowBackfill(ctx, "n", 4))
	b := must(backfill.Open(ctx, st, "n", s, 7))
	at := pastNow.Add(-time.Hour)
	id, err := newAt(ctx, b, at)
	parts, bad := s.Decode(id)
	if err := errors.Join(err, bad); err != nil || !parts.Time.Equal(at) || parts.Node != 7 || parts.Sequence != 0 {
		t.Errorf("%+v, %v", parts, err)
	}
	second := must(snowfence.NewSecret([]byte("abcdef0123456789")))
	both := schemeOf(t, s.Layout().String(), secret, second)
	wantErr(t, errOf(backfill.Open(ctx, st, "n", both, 7)), snowfence.ErrKey,
		"a secret that the namespace does not know")
	other := schemeOf(t, s.Layout().String(), second)
	wantErr(t, errOf(backfill.Open(ctx, st, "n", other, 7)), snowfence.ErrKey, "another secret of the same number")
}

// Counts are no nodes: no list, count or lease sees them.
func TestPastIsNoNode(t *testing.T) {
	p := newPast(t, pastLayout, 0)
	at := pastNow.Add(-time.Hour)
	p.id(p.open(0), at)
	p.id(p.open(1023), at)
	if rs, err := scope.Namespaces(p.st).Leases(p.ctx, "n"); err != nil || len(rs) != 0 {
		t.Errorf("leases %v, %v", rs, err)
	}
	if ns, err := scope.Namespaces(p.st).List(p.ctx); err != nil || len(ns) != 1 {
		t.Errorf("namespaces %v, %v", ns, err)
	}
	every := snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}
	rs, _, err := p.st.List(p.ctx, "n", every, 1<<20)
	if err != nil || len(rs) != 3 {
		t.Fatalf("%v, %v", rs, err)
	}
	for _, r := range rs[:2] {
		hour := (at.Unix() + 25_567*86_400) / 3600
		if !slices.Contains([]int64{-1<<48 - hour, -1<<48 - 1023<<24 - hour}, r.Node) {
			t.Errorf("record %d", r.Node)
		}
		tests.Fails(t, errOf(scope.Namespaces(p.st).Release(p.ctx, "n", r.Node)), "a count was released")
		tests.Fails(t, errOf(scope.Namespaces(p.st).Veto(p.ctx, "n", r.Node, "no")), "a count got a veto")
	}
}

func ExampleBackfill() {
	ctx := context.Background()
	layout, _ := snowfence.ParseLayout("time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,first=1")
	scheme, _ := snowfence.NewScheme(layout)
	st := store.NewMemory()
	scope.Namespaces(st).Create(ctx, "orders", scheme, nil)
	scope.Namespaces(st).AllowBackfill(ctx, "orders", 0)

	b, err := backfill.Open(ctx, st, "orders", scheme, 0)
	if err != nil {
		panic(err)
	}
	ids, err := b.NewAt(ctx, time.Date(2019, 5, 17, 8, 30, 0, 0, time.UTC))
	fmt.Println(ids, err)
	// Output: [1129303036523446272] <nil>
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr
