package sequence

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// A confirmation closes the periods that were over an hour ago for good.
// Those that can be open start at the floor or above, and later ones at the
// start.
func TestConfirmPeriods(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takes(j.s, "20261122-001")
	j.takesIn(j.s, 20261121, "20261121-001")
	j.takesIn(j.s, 20261123, "20261123-001")
	j.st.become("promoted")
	for period := int64(20261121); period <= 20261123; period++ {
		wantErr(t, errOf(j.s.Reserve(j.ctx, period, 1)), ErrRolledBack, "%d", period)
	}
	j.confirms(Confirmation{Floor: new(int64(50))})
	other := j.open(nil)
	for _, s := range []*Dated{j.s, other} {
		for range 2 {
			wantErr(t, errOf(s.Reserve(j.ctx, 20261121, 1)), ErrPeriod, "a closed period")
			wantErr(t, errOf(s.Reserve(j.ctx, 20251121, 1)), ErrPeriod, "a closed period of which nothing was taken")
		}
	}
	j.takes(j.s, "20261122-050", "20261122-051")
	j.takesIn(other, 20261123, "20261123-050")
	j.takes(other, "20261122-052")
	j.set(t, "2026-11-23T12:00:00Z")
	j.takes(j.s, "20261123-051")
	j.takesIn(j.s, 20261122, "20261122-053") // it is over, and not closed
	j.set(t, "2026-11-24T12:00:00Z")
	j.takes(j.s, "20261124-050") // a clock that is a day ahead may have taken from it by name
	j.set(t, "2026-11-25T12:00:00Z")
	j.takes(j.s, "20261125-001")
	if r := j.st.record(t, name); r.From != 0 {
		t.Errorf("the record of the definition counts: %+v", r)
	}
	noError(t, Delete(j.ctx, j.st, name))
	wantErr(t, errOf(j.s.Reserve(j.ctx, 20261121, 1)), ErrNoSequence, "a closed period of a deleted sequence")
}

// A confirmation never lowers the floor of an earlier one, and opens no
// period that was closed. A floor of long ago is no floor of today.
func TestConfirmPeriodsAgain(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	expect := func(open, floor, through int64) {
		t.Helper()
		s, err := read(j.ctx, j.st, name)
		if err != nil || s.Open != open || s.Floor != floor || s.Through != through {
			t.Errorf("open from %d, through %d at %d, %v; want from %d, through %d at %d", s.Open, s.Through, s.Floor,
				err, open, through, floor)
		}
	}
	j.confirms(Confirmation{Floor: new(int64(51))})
	expect(20261122, 50, 20261124)
	j.confirms(Confirmation{Floor: new(int64(41))})
	expect(20261122, 50, 20261124)
	j.confirms(Confirmation{Floor: new(int64(61))})
	expect(20261122, 60, 20261124)
	j.set(t, "2026-11-20T12:00:00Z")
	j.confirms(Confirmation{Floor: new(int64(1))})
	expect(20261122, 60, 20261124)
	j.set(t, "2026-11-24T12:00:00Z")
	j.confirms(Confirmation{Floor: new(int64(11))})
	expect(20261124, 60, 20261126)
	j.set(t, "2026-11-27T12:00:00Z")
	j.confirms(Confirmation{Floor: new(int64(11))})
	expect(20261127, 10, 20261129)
	j.takes(j.s, "20261127-011")
	err := Confirm(j.ctx, j.st, name, Confirmation{Used: new(int64(20)), Programs: 0})
	wantErr(t, err, lease.ErrRefused, "100 programs could hold more than there is")
	j.takes(j.s, "20261127-012")
}

// A take that was under way when the sequence was confirmed is dropped,
// although the record of its period was not written.
func TestTakeDuringAConfirmation(t *testing.T) {
	for what, change := range map[string]func(j *diary){
		"confirmed": func(j *diary) { j.confirms(Confirmation{Floor: new(int64(50))}) },
		"changed": func(j *diary) {
			noError(t, Update(j.ctx, j.st, name, Changes{Max: new(int64(500))}))
		},
	} {
		j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
		j.takes(j.s, "20261122-001")
		for _, when := range []string{"before", "after"} {
			before := j.record(20261122)
			hook := first("add", nil, func() { change(j) })
			if when == "before" {
				j.st.fail(hook, nil)
			} else {
				j.st.fail(nil, hook)
			}
			got, err := j.s.Next(j.ctx)
			if err != nil || what == "confirmed" && got.N < 50 || got.N <= before.From+1 {
				t.Errorf("%s %s the take: %+v, %v", what, when, got, err)
			}
			j.st.fail(nil, nil)
			now := j.record(20261122).Generation
			if now != j.st.record(t, name).Generation || now == before.Generation {
				t.Errorf("%s: the record of the period is of generation %d", what, now)
			}
		}
	}
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takes(j.s, "20261122-001")
	j.st.fail(nil, first("add", nil, func() {
		noError(t, Delete(j.ctx, j.st, name))
	}))
	j.refuses(j.s, ErrNoSequence)
}

// A record of a period that is older than one that the program saw stops
// all periods, and no other take hides it.
func TestPeriodThatWentBackStops(t *testing.T) {
	for what, back := range map[string]func(was, now store.Record) store.Record{
		"backup": func(was, _ store.Record) store.Record { return was },
		"revision of a take, with what was given out": func(_, now store.Record) store.Record {
			now.Nonce, now.Revision = "x", now.Revision-1
			return now
		},
		"revision, with another generation": func(_, now store.Record) store.Record {
			now.Nonce, now.Revision, now.Generation = "x", now.Revision-1, now.Generation-1
			return now
		},
		"what was given out, with a later revision": func(_, now store.Record) store.Record {
			now.Nonce, now.From, now.Revision = "x", now.From-1, now.Revision+10
			return now
		},
		"what was given out, with another generation": func(_, now store.Record) store.Record {
			now.Nonce, now.From, now.Revision, now.Generation = "x", now.From-1, now.Revision+10, now.Generation-1
			return now
		},
	} {
		for _, after := range []int64{Stop, Trust} {
			j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict, AfterFailover: after})
			j.takes(j.open(nil), "20261122-001")
			j.takes(j.s, "20261122-002")
			was := j.record(20261122)
			j.takes(j.s, "20261122-003", "20261122-004")
			j.puts(back(was, j.record(20261122)))
			err := j.refuses(j.s, ErrRolledBack)
			if text := err.Error(); !strings.Contains(text,
				"older than one that this program saw; this program knows of numbers up to 4 of period 20261122") {
				t.Errorf("%s: %v", what, err)
			}
			j.refuses(j.s, ErrRolledBack)
			wantErr(t, errOf(j.s.Reserve(j.ctx, 20261121, 1)), ErrRolledBack, "%s: another period goes on", what)
			j.set(t, "2026-11-23T12:00:00Z")
			if err := j.refuses(j.s, ErrRolledBack); strings.Contains(err.Error(), "knows of") {
				t.Errorf("%s: %v", what, err)
			}
			j.set(t, "2026-11-22T12:00:00Z")
			j.confirms(Confirmation{Floor: new(int64(9))})
			j.takes(j.s, "20261122-009")
			j.takesIn(j.s, 20261123, "20261123-009")
		}
	}
}

// What one period saw, all heed: nothing comes of what another one took
// ahead, nor of its take that is under way.
func TestPeriodThatWentBackStopsWhatOthersTook(t *testing.T) {
	const yesterday = 20261121
	for _, mode := range []Mode{Fast, Strict} {
		j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: mode, AfterFailover: Trust})
		j.takes(j.s, "20261122-001")
		j.settled(j.s)
		j.takesIn(j.s, yesterday, "20261121-001")
		was := j.record(yesterday)
		j.takesIn(j.s, yesterday, "20261121-002")
		j.puts(was)
		sees := func() {
			wantErr(t, errOf(j.s.Reserve(j.ctx, yesterday, 1)), ErrRolledBack, "%s: the period that went back", mode)
		}
		if mode == Fast {
			sees()
		} else {
			j.st.fail(first("get", nil, sees), nil)
		}
		j.refuses(j.s, ErrRolledBack)
	}
}

// A take that another server carried out than the one that answers after it
// is not used.
func TestTakeAndReadOfTwoServers(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takes(j.s, "20261122-001")
	j.st.fail(first("get", nil, func() { j.st.become("another") }), nil)
	j.refuses(j.s, ErrRolledBack)
	j.st.fail(nth("get", 2, nil, func() { j.st.become("a third one") }), nil)
	fails(t, errOf(j.s.present.Load().reread(j.ctx)), "a definition of another store")
	j.st.fail(nth("get", 2, errFault, func() {}), nil)
	wantErr(t, errOf(j.s.present.Load().reread(j.ctx)), errFault, "no definition")
}

// A program tells of a loss once: a later take that a confirmation
// overtakes shows no other one.
func TestLossIsToldOnce(t *testing.T) {
	const tomorrow = 20261123
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takesIn(j.s, tomorrow, "20261123-001")
	was := j.record(tomorrow)
	for _, text := range []string{"002", "003", "004", "005"} {
		j.takesIn(j.s, tomorrow, "20261123-"+text)
	}
	j.puts(was)
	wantErr(t, errOf(j.s.Reserve(j.ctx, tomorrow, 1)), ErrRolledBack, "the period that went back")
	j.confirms(Confirmation{Floor: new(int64(9))})
	j.takes(j.s, "20261122-009")
	before := must(store.Identity(j.ctx, j.st, keyOf(name).Namespace))
	j.st.fail(nil, first("add", nil, func() {
		j.confirms(Confirmation{Floor: new(int64(20))})
		j.takes(j.s, "20261122-020")
	}))
	j.takesIn(j.s, tomorrow, "20261123-020")
	if after, err := store.Identity(j.ctx, j.st, keyOf(name).Namespace); err != nil || after != before {
		t.Errorf("the store got another identity: %q, was %q (%v)", after, before, err)
	}
}

// What was seen is not forgotten when the definition is another one after
// the take, or not read.
func TestPeriodThatWentBackIsRemembered(t *testing.T) {
	for what, hook := range map[string]func(j *diary) func(string) error{
		"it cannot be read": func(*diary) func(string) error { return first("get", errFault) },
		"it was changed": func(j *diary) func(string) error {
			return first("add", nil, func() {
				noError(t, Update(j.ctx, j.st, name, Changes{MaxRange: 5000}))
			})
		},
	} {
		j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict, AfterFailover: Trust})
		j.takes(j.s, "20261122-001", "20261122-002")
		back := j.record(20261122)
		back.Nonce, back.From, back.Revision = "x", 1, back.Revision+100
		j.puts(back)
		if what == "it was changed" {
			j.st.fail(nil, hook(j))
		} else {
			j.st.fail(hook(j), nil)
		}
		j.refuses(j.s, ErrRolledBack)
		j.st.fail(nil, nil)
		must(j.open(nil).Reserve(j.ctx, 0, 3))
		j.st.count("add")
		j.refuses(j.s, ErrRolledBack)
		if n := j.st.count("add"); n > 0 {
			t.Errorf("%s: %d takes of what is doubted", what, n)
		}
	}
}

// The definition went back, with a confirmation in it or without.
func TestDefinitionOfPeriodsThatWentBack(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takes(j.s, "20261122-001")
	was := j.st.record(t, name)
	noError(t, Update(j.ctx, j.st, name, Changes{MaxRange: 5000}))
	j.takes(j.s, "20261122-003")
	j.st.put(t, was)
	j.refuses(j.s, ErrRolledBack)
	j.confirms(Confirmation{Floor: new(int64(1))})
	j.takes(j.s, "20261122-005")
	was = j.st.record(t, name)
	j.confirms(Confirmation{Floor: new(int64(1))})
	j.takes(j.s, "20261122-007")
	now := j.st.record(t, name)
	now.Nonce, now.Data, now.Revision, now.Generation = "x", was.Data, now.Revision+9, now.Generation+9
	j.st.put(t, now)
	j.refuses(j.s, ErrRolledBack)
	wantErr(t, errOf(j.s.Reserve(j.ctx, 20261123, 1)), ErrRolledBack, "a period that was not used before")
	j = opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takes(j.s, "20261122-001")
	now = j.st.record(t, name)
	now.Nonce, now.Revision, now.Generation = "x", now.Revision-1, now.Generation+1
	j.st.put(t, now)
	j.refuses(j.s, ErrRolledBack)
}

// With N, numbers are skipped once, above what the store and the program
// know of all open periods.
func TestSerialsAreSkipped(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{
		Pattern: "{year}{month}{day}-{n:5}", Mode: Strict, AfterFailover: 100,
	})
	other := j.open(nil)
	j.takes(j.s, "20261122-00001")
	must(other.Reserve(j.ctx, 20261123, 10))
	must(j.s.Reserve(j.ctx, 20261121, 5000)) // it is closed, so it does not count
	j.st.become("promoted")
	j.takes(j.s, "20261122-00111")
	j.takes(other, "20261122-00112")
	j.takesIn(other, 20261123, "20261123-00111")
	wantErr(t, errOf(j.s.Reserve(j.ctx, 20261121, 1)), ErrPeriod, "an earlier period")
	ahead := j.record(20261123)
	must(j.s.Reserve(j.ctx, 20261123, 20)) // up to 131
	j.puts(ahead)
	j.st.become("promoted again")
	j.takes(j.s, "20261122-00232") // this program knows better than the store
	j.st.become("a third time")
	j.takes(j.open(nil), "20261122-00333")
	dense := opened(t, "2026-11-22T12:00:00Z", Definition{
		Pattern: daily, Mode: Dense, AfterFailover: 100, MinRange: 20, MaxRange: 20,
	})
	dense.takes(dense.s, "20261122-001")
	dense.settled(dense.s)
	reached := dense.record(20261122).From
	noError(t, dense.s.Close())
	dense.st.become("promoted")
	if got, err := dense.open(nil).Next(dense.ctx); err != nil || got.N != reached+101 {
		t.Errorf("%+v, %v: numbers up to %d were taken before some were given back", got, err, reached)
	}
}

// What the program itself took counts in each open period, where the store
// is behind.
func TestSerialsAreSkippedAboveOnesOwn(t *testing.T) {
	for range 8 { // periods are looked at in any order
		for _, high := range []int64{20261122, 20261123} {
			j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict, AfterFailover: 100})
			for period := int64(20261122); period <= 20261123; period++ {
				j.takesIn(j.s, period, fmt.Sprintf("%d-001", period))
			}
			was := j.record(high)
			must(j.s.Reserve(j.ctx, high, 50))
			j.puts(was)
			j.st.become("promoted")
			j.takes(j.s, "20261122-152")
		}
	}
}

// A give-back never lowers what an earlier one noted.
func TestPeriodsRememberHowFarTheyReached(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Dense, MinRange: 10, MaxRange: 10})
	for i := int64(10); i > 0; i -= 8 {
		noError(t, Update(j.ctx, j.st, name, Changes{MinRange: i, MaxRange: i}))
		s := j.open(nil)
		must(s.Next(j.ctx))
		j.settled(s)
		if held := s.Status().Held; held < i/2 {
			t.Errorf("%d numbers are held", held)
		}
		noError(t, s.Close())
		if r := j.record(20261122); r.Until < 15 {
			t.Errorf("%d numbers were taken, says the record", r.Until)
		}
	}
}

// A failed look at the open periods skips nothing.
func TestSerialsAreNotSkippedBlindly(t *testing.T) {
	ctx, _ := clockAt(t, "2026-11-22T12:00:00Z")
	st := newShaky()
	noError(t, Create(ctx, st, name, Definition{Pattern: daily, AfterFailover: 5}))
	st.become("promoted")
	st.Store = listless{st.Store}
	wantErr(t, errOf(OpenDated(ctx, st, name, nil)), errFault, "")
	wantErr(t, Update(ctx, st, name, Changes{Max: new(int64(5))}), errFault, "")
	st = newShaky()
	noError(t, Create(ctx, st, name, Definition{Pattern: daily, AfterFailover: 5}))
	st.become("promoted")
	st.fail(first("swap", errFault), nil)
	wantErr(t, errOf(OpenDated(ctx, st, name, nil)), errFault, "the confirmation is not written")
	st.fail(nil, nil)
	was := st.record(t, name)
	wrong := &punctual{Store: st, now: time.Unix(0, 0)}
	if _, err := OpenDated(ctx, wrong, name, nil); !errors.Is(err, lease.ErrRefused) || st.record(t, name) != was {
		t.Errorf("with a wrong clock: %v", err)
	}
}

// punctual is a store with a clock.
type punctual struct {
	store.Store
	now  time.Time
	inTx bool // only writes tell the time
}

func (p *punctual) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	rs, reply, err := p.Store.Get(ctx, keys)
	if !p.inTx {
		reply.Now = p.now
	}
	return rs, reply, err
}

func (p *punctual) Swap(ctx context.Context, ws []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	errs, rs, reply := p.Store.Swap(ctx, ws)
	reply.Now = p.now
	return errs, rs, reply
}

// A confirmation needs the present period: it is refused where the clock
// differs from the store's.
func TestConfirmWithAWrongClock(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily})
	st := &punctual{Store: j.st}
	c := Confirmation{Floor: new(int64(5))}
	for off, want := range map[time.Duration]error{
		0: nil, time.Hour: nil, -time.Hour: nil, time.Hour + 1: lease.ErrRefused, -time.Hour - 1: lease.ErrRefused,
	} {
		st.now = j.Now().Add(off)
		if err := Confirm(j.ctx, st, name, c); !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("off by %v: %v", off, err)
		}
	}
	st.now = time.Time{} // a store without a clock
	noError(t, Confirm(j.ctx, st, name, c))
	create(t, store.NewMemory(), Definition{})
	plain := newShaky()
	create(t, plain, Definition{})
	wantErr(t, Confirm(j.ctx, &punctual{Store: plain, now: time.Unix(0, 0)}, name, c), nil,
		"a plain sequence has no periods")
}

func TestShowPeriods(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict, Start: new(int64(10)), Step: 10})
	show := func(period, next, left int64) {
		t.Helper()
		i, err := Show(j.ctx, j.st, name)
		if err != nil || i.Period != period || i.Next != next || i.Left != left {
			t.Errorf("%+v, %v, want %d of %d, %d left", i, err, next, period, left)
		}
		all, err := List(j.ctx, j.st)
		if err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], i) {
			t.Errorf("%+v, %v", all, err)
		}
	}
	show(20261122, 10, 99)
	j.takes(j.s, "20261122-010")
	j.takesIn(j.s, 20261121, "20261121-010")
	j.takesIn(j.s, 20261123, "20261123-010")
	show(20261122, 20, 98)
	must(j.s.Reserve(j.ctx, 20261123, 98))
	j.confirms(Confirmation{Floor: new(int64(500))})
	show(20261122, 500, 50)
	got, err := Periods(j.ctx, j.st, name)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []Info{
		{Period: 20261121, Closed: true}, {Period: 20261122, Next: 500, Left: 50}, {Period: 20261123},
	} {
		want.Name, want.Definition = name, j.s.Definition()
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("%+v, want %+v", got[i], want)
		}
	}
	wantErr(t, Update(j.ctx, j.st, name, Changes{Max: new(int64(980))}), lease.ErrRefused,
		"max below what was given out of a period")
	j.set(t, "2026-11-21T12:00:00Z")
	show(20261121, 0, 0)
	j.set(t, "2026-11-24T12:00:00Z")
	show(20261124, 500, 50)
	j.set(t, "2026-11-25T12:00:00Z")
	show(20261125, 10, 99)
	wantErr(t, errOf(Periods(j.ctx, j.st, "nothing")), ErrNoSequence, "")
	wantErr(t, errOf(Periods(j.ctx, listless{j.st}, name)), errFault, "")
	j.st.fail(func(op string) error {
		if op == "get" {
			j.st.fail(always("get", errFault), nil)
		}
		return nil
	}, nil)
	wantErr(t, errOf(Show(j.ctx, j.st, name)), errFault, "the record of the period cannot be read")
}

// A zone that this machine does not know is said to be that.
func TestUnknownZoneOfARecord(t *testing.T) {
	st := newShaky()
	create(t, st, Definition{Pattern: daily})
	r := st.record(t, name)
	r.Data, r.Nonce = strings.Replace(r.Data, "UTC", "Mars/Olympus", 1), "x"
	st.put(t, r)
	confirming := func() error { return Confirm(t.Context(), st, name, Confirmation{Floor: new(int64(1))}) }
	for what, try := range map[string]func() error{
		"open": func() error { _, err := OpenDated(t.Context(), st, name, nil); return err },
		"show": func() error { _, err := Show(t.Context(), st, name); return err }, "confirm": confirming,
	} {
		if err := try(); !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), "Mars/Olympus") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if st.pins != 0 {
		t.Errorf("%d pins are left", st.pins)
	}
	noError(t, Update(t.Context(), st, name, Changes{AfterFailover: new(int64(5))}))
	st.become("promoted")
	wantErr(t, errOf(OpenDated(t.Context(), st, name, nil)), lease.ErrInvalid, "numbers cannot be skipped")
	wantErr(t, Delete(t.Context(), st, name), nil, "it can be deleted all the same")
}
