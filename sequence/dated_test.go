package sequence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// A clock that steps back by up to an hour changes nothing. One that is
// further behind has the earlier period again, where numbers go on.
func TestClockThatStepsBack(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, MinRange: 1, MaxRange: 1})
	j.takes(j.s, "20261122-001", "20261122-002")
	j.set(t, "2026-11-23T00:30:00Z")
	j.takes(j.s, "20261123-001")
	j.set(t, "2026-11-22T23:00:00Z")
	j.takes(j.s, "20261123-002")
	j.set(t, "2026-11-22T22:59:59Z")
	got, err := j.s.Next(j.ctx)
	if err != nil || got.Period != 20261122 || got.N < 3 {
		t.Errorf("%+v, %v", got, err)
	}
	j.set(t, "2026-11-23T00:30:00Z")
	if got, err = j.s.Next(j.ctx); err != nil || got.Period != 20261123 || got.N < 3 {
		t.Errorf("%+v, %v", got, err)
	}
	j.set(t, "2036-01-01T00:00:00Z") // a wrong clock, and it is mended
	j.takes(j.s, "20360101-001")
	j.set(t, "2026-11-23T01:00:00Z")
	if got, err = j.s.Next(j.ctx); err != nil || got.Period != 20261123 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A day is no period of a yearly sequence, however late a year it could be.
// The year after the last one of a pattern has ended.
func TestPeriodOfAnotherSize(t *testing.T) {
	j := opened(t, "2098-11-22T12:00:00Z", Definition{Pattern: "{yy}-{n:3}"})
	for period, want := range map[int64]error{
		98: ErrPeriod, 2098: nil, 2099: nil, 209811: ErrPeriod, 20981122: ErrPeriod,
	} {
		wantErr(t, errOf(j.s.Reserve(j.ctx, period, 1)), want, "%d", period)
	}
	j.set(t, "2099-11-22T12:00:00Z")
	wantErr(t, errOf(j.s.Reserve(j.ctx, 2100, 1)), ErrEnded, "")
}

// By name come exactly so many numbers, of any earlier period and of the
// next one.
func TestSerialsByName(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Zone: "Pacific/Apia"})
	j.set(t, "2011-12-29T12:00:00Z") // there it is 02:00
	for period, want := range map[int64]error{
		20111228: nil, 20111229: nil, 20111230: ErrPeriod, 20111231: nil, 20120101: ErrPeriod, 20121229: ErrPeriod,
		20101229: nil, 20101228: ErrPeriod, 20110229: ErrPeriod, 201112: ErrPeriod, 2011: ErrPeriod,
		-20111229: ErrPeriod,
		100000101: ErrPeriod,
	} {
		for n := int64(1); n <= 4; n += 3 {
			got, err := j.s.Reserve(j.ctx, period, n)
			if want != nil {
				wantErr(t, err, want, "%d: %+v", period, got)
				continue
			}
			if err != nil || got.Period != period || got.Count != n || got.First != n/4+1 {
				t.Errorf("%d: %d numbers: %+v, %v", period, n, got, err)
			}
			if from := j.record(period).From; period != 20111229 && from != n+n/4 {
				t.Errorf("%d: %d numbers are taken, not %d", period, from, n+n/4)
			}
		}
	}
	for _, o := range []*Options{{}, {Exact: true}, {AnyPeriod: true}} {
		if s := j.open(o); s.exact != o.Exact || s.anyPeriod != o.AnyPeriod {
			t.Errorf("%+v: %t, %t", o, s.exact, s.anyPeriod)
		}
	}
	any := j.open(&Options{AnyPeriod: true})
	j.takesIn(any, 20000229, "20000229-001")
	j.takesIn(j.s, 20000229, "20000229-002") // it was begun
	j.settled(j.s)
	if from := j.record(20111229).From; from < 100/rangesLeft {
		t.Errorf("of the present period %d numbers are taken: not ahead", from)
	}
	j.takes(j.s, "20111229-006")
	j.takesIn(j.s, 20111229, "20111229-007") // of the same range
	adds := j.st.count("add")
	j.takesIn(j.s, 20111229, "20111229-008")
	if n := j.st.count("add"); n > 0 || adds == 0 {
		t.Errorf("%d takes for a number that was there", n)
	}
	yy := opened(t, "2099-12-31T12:00:00Z", Definition{Pattern: "{yy}-{n}"})
	wantErr(t, errOf(yy.s.Reserve(yy.ctx, 2100, 1)), ErrEnded, "2100 by name")
	wantErr(t, errOf(yy.s.Reserve(yy.ctx, 1999, 1)), ErrPeriod, "1999 by name")
	yy.set(t, "2100-01-01T00:00:00Z")
	yy.refuses(yy.s, ErrEnded)
	wantErr(t, errOf(yy.s.Reserve(yy.ctx, 2099, 1)), ErrEnded, "2099 by name, after its end")
}

// A dated sequence is not opened as a plain one, nor the other way round.
func TestOpenOfTheOtherKind(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily})
	if st, d := j.s.Status(), j.s.Definition(); st != (Status{}) || d.Pattern != daily || d.Mode != Dense {
		t.Errorf("before the first number: %+v, %+v", st, d)
	}
	if _, err := Open(j.ctx, j.st, name, nil); !errors.Is(err, ErrDated) || j.st.pins != 1 {
		t.Errorf("%v, %d pins", err, j.st.pins)
	}
	st, _ := made(t, Definition{})
	if _, err := OpenDated(j.ctx, st, name, nil); !errors.Is(err, ErrDated) || st.pins != 1 {
		t.Errorf("%v, %d pins", err, st.pins)
	}
	wantErr(t, errOf(Periods(j.ctx, st, name)), ErrDated, "")
}

func TestSerialsThatAreRefused(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily})
	for _, n := range []int64{-1, 0, mostAtOnce + 1} {
		wantErr(t, errOf(j.s.Reserve(j.ctx, 0, n)), lease.ErrInvalid, "%d serials", n)
		wantErr(t, errOf(j.s.Reserve(j.ctx, 20261122, n)), lease.ErrInvalid, "%d serials", n)
	}
	wantErr(t, errOf(j.s.Fill(j.ctx, 20261301, make([]int64, 1))), ErrPeriod, "a month 13")
	big := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: "{year}{n}"})
	if r, err := big.s.Reserve(big.ctx, 0, mostAtOnce); err != nil || r.Count != mostAtOnce {
		t.Errorf("%+v, %v", r, err)
	}
	j.s.Close()
	j.refuses(j.s, ErrClosed)
	wantErr(t, errOf(j.s.Reserve(j.ctx, 20261121, 1)), ErrClosed, "a period that was not used before the end")
}

// A call that waits over midnight gets a number of the day on which it gets
// one.
func TestSerialThatWaitsOverMidnight(t *testing.T) {
	for _, mode := range []Mode{Fast, Dense, Strict} {
		j := opened(t, "2026-11-22T23:59:59Z", Definition{Pattern: daily, Mode: mode})
		j.st.fail(first("add", nil, func() { j.set(t, "2026-11-23T00:00:00Z") }), nil)
		j.takes(j.s, "20261123-001", "20261123-002")
		j.set(t, "2026-11-23T23:59:59Z")
		j.settled(j.s)
		j.st.fail(first("add", nil, func() { j.set(t, "2026-11-24T00:00:00Z") }), nil)
		if r, err := j.s.Reserve(j.ctx, 20261123, 900); err != nil || r.Period != 20261123 {
			t.Errorf("%s: by name: %+v, %v", mode, r, err)
		}
		j.st.fail(nil, nil)
		j.set(t, "2026-11-24T23:59:59Z")
		ctx, cancel := context.WithCancel(j.ctx)
		j.st.fail(func(op string) error { // it fails, and no call waits for the new day
			if op != "add" {
				return nil
			}
			j.set(t, "2026-11-25T00:00:00Z")
			cancel()
			return errFault
		}, nil)
		wantErr(t, errOf(j.s.Reserve(ctx, 0, 999)), context.Canceled, "%s", mode)
	}
}

// A period ends at the width of its number or at max, whichever is nearer,
// and the next one begins.
func TestPeriodsEnd(t *testing.T) {
	for _, c := range []struct {
		d     Definition
		count int64
	}{
		{Definition{Pattern: "{year}{month}{day}-{n:1}"}, 9},
		{Definition{Pattern: "{year}{month}{day}-{n:1}", Start: new(int64(0))}, 10},
		{Definition{Pattern: "{year}{month}{day}-{n:1}", Max: new(int64(9))}, 9},
		{Definition{Pattern: "{year}{month}{day}-{n:1}", Max: new(int64(7))}, 7},
		{Definition{Pattern: "{year}{month}{day}-{n:1+}", Max: new(int64(12))}, 12},
		{Definition{Pattern: "{year}{month}{day}-{n}", Max: new(int64(3))}, 3},
	} {
		j := opened(t, "2026-11-22T12:00:00Z", c.d)
		for day := range 2 {
			for range c.count {
				if _, err := j.s.Next(j.ctx); err != nil {
					t.Fatalf("%+v: %v", c.d, err)
				}
			}
			err := j.refuses(j.s, ErrEnded)
			if period := fmt.Sprint(20261122 + day); !strings.Contains(err.Error(), period) {
				t.Errorf("the error does not say which period ended: %v", err)
			}
			j.refuses(j.s, ErrEnded)
			j.set(t, "2026-11-23T12:00:00Z")
		}
	}
	if d, _, err := (Definition{Pattern: "{yy}{n:18}"}).withDefaults(); err != nil || *d.Max != exactInJavaScript {
		t.Errorf("a width beyond what JavaScript reads: max %d, %v", *d.Max, err)
	}
	st := newShaky()
	for what, d := range map[string]Definition{
		"max beyond the width": {Pattern: "{yy}{n:1}", Max: new(int64(10))},
		"start beyond it":      {Pattern: "{yy}{n:1}", Start: new(int64(10))},
		"step down":            {Pattern: "{yy}{n}", Step: -1},
		"negative start":       {Pattern: "{yy}{n}", Start: new(int64(-1))},
		"no pattern":           {Zone: "Asia/Shanghai"},
		"bad pattern":          {Pattern: "{n}"},
	} {
		wantErr(t, Create(t.Context(), st, name, d), lease.ErrInvalid, "%s", what)
	}
	create(t, st, Definition{Pattern: "{yy}{n:1}"})
	wantErr(t, Update(t.Context(), st, name, Changes{Max: new(int64(10))}), lease.ErrInvalid,
		"max raised beyond the width")
	for what, d := range map[string]Definition{
		"pattern": {Pattern: "{year}{n:1}"}, "zone": {Pattern: "{yy}{n:1}", Zone: "Asia/Shanghai"}, "plain": {},
	} {
		wantErr(t, Create(t.Context(), st, name, d), lease.ErrExists, "created again with another %s", what)
	}
	wantErr(t, Create(t.Context(), st, name, Definition{Pattern: "{yy}{n:1}", Zone: "UTC"}), nil, "created again alike")
}

// Two calls find at once that a period has begun: one of them begins it,
// and it takes ahead.
func TestPeriodThatTwoCallsBegin(t *testing.T) {
	j := opened(t, "2026-11-22T23:59:59Z", Definition{Pattern: daily})
	j.takes(j.s, "20261122-001")
	j.set(t, "2026-11-23T00:00:00Z")
	j.hook = func() { // after the first call has looked at the period in use
		j.hook = nil
		j.takes(j.s, "20261123-001")
	}
	j.takes(j.s, "20261123-002")
	j.settled(j.s)
	j.takes(j.s, "20261123-003")
	j.settled(j.s)
	if p := j.s.present.Load(); p.numbers.exact || j.record(20261123).From < 2*(999/rangesLeft) {
		t.Errorf("%d numbers are taken: not ahead", j.record(20261123).From)
	}
}

// A period that went back behind what was given back stops, and all learn
// of it: the store acknowledged the write.
func TestPeriodThatWentBackBehindAReturn(t *testing.T) {
	j := opened(t, "2026-11-22T23:59:59Z", Definition{Pattern: daily, Mode: Dense})
	j.takes(j.s, "20261122-001")
	j.settled(j.s)
	was := j.record(20261122)
	j.set(t, "2026-11-23T00:00:00Z")
	j.takes(j.s, "20261123-001")
	j.settled(j.s)
	j.goes.Wait()
	before, _ := store.Identity(j.ctx, j.st, "")
	j.puts(was)
	wantErr(t, errOf(j.s.Reserve(j.ctx, 20261122, 1)), ErrRolledBack, "a return that is lost")
	if after, _ := store.Identity(j.ctx, j.st, ""); after == before {
		t.Errorf("the store is still %q", after)
	}
}

// A dense sequence gives back what it took ahead of a period that ended,
// and at its own end.
func TestDensePeriodsGiveBack(t *testing.T) {
	j := opened(t, "2026-11-22T23:59:59Z", Definition{Pattern: daily, Mode: Dense})
	var log bytes.Buffer
	j.s = j.open(&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	j.takes(j.s, "20261122-001", "20261122-002")
	j.settled(j.s)
	if from := j.record(20261122).From; from <= 2 {
		t.Fatalf("%d numbers are taken: not ahead", from)
	}
	j.set(t, "2026-11-23T00:00:00Z")
	j.takes(j.s, "20261123-001")
	j.settled(j.s)
	j.goes.Wait()
	if from := j.record(20261122).From; from != 2 {
		t.Errorf("%d numbers are taken of a period that ended", from)
	}
	if text := log.String(); text != "" {
		t.Errorf("the log: %s", text)
	}
	j.takesIn(j.s, 20261122, "20261122-003")
	j.takesIn(j.open(nil), 20261122, "20261122-004")
	j.takesIn(j.s, 20261124, "20261124-001")
	noError(t, j.s.Close())
	for period, want := range map[int64]int64{20261122: 4, 20261123: 1, 20261124: 1} {
		if from := j.record(period).From; from != want {
			t.Errorf("%d: %d numbers are taken, not %d", period, from, want)
		}
	}
	j.takes(j.open(nil), "20261123-002")
}

// What cannot go back when a period ends is told, and a gap.
func TestDensePeriodThatCannotGiveBack(t *testing.T) {
	j := opened(t, "2026-11-22T23:59:59Z", Definition{Pattern: daily, Mode: Dense})
	var log bytes.Buffer
	j.s = j.open(&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	j.takes(j.s, "20261122-001")
	j.goes.Wait()
	j.takesIn(j.s, 20261123, "20261123-001") // so that its record is there
	from := j.record(20261122).From
	j.st.fail(always("swap", errFault), nil)
	j.set(t, "2026-11-23T00:00:00Z")
	j.takes(j.s, "20261123-002")
	j.goes.Wait()
	if text := log.String(); strings.Count(text, "ended are a gap") != 1 || !strings.Contains(text, "period=20261122") {
		t.Errorf("the log: %s", text)
	}
	j.st.fail(nil, nil)
	j.takesIn(j.s, 20261122, fmt.Sprintf("20261122-%03d", from+1))
}

// A program remembers some periods only, and those that it forgot go on
// where they were.
func TestPeriodsAreForgotten(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily})
	j.takes(j.s, "20261122-001")
	day := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := j.s
	j.goes.Wait()
	j.st.count("add")
	busy := make(chan struct{})
	j.st.fail(first("add", nil, func() { <-busy }), nil)
	served := make(chan error)
	go func() {
		_, err := j.s.Reserve(j.ctx, 20251231, 1)
		served <- err
	}()
	for end := time.Now().Add(time.Minute); j.st.count("add") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the call did not ask the store within a minute")
		}
	}
	for round := range 9 { // so that each is chosen sooner or later
		for i := range mostPeriods + 20 {
			period := c.calendar.periodAt(day.AddDate(0, 0, i))
			j.takesIn(j.s, period, fmt.Sprintf("%d-%03d", period, round+1))
			if n := len(c.periods); round == 0 && n != min(i+3, mostPeriods) {
				t.Fatalf("%d periods are remembered after %d", n, i+3)
			}
		}
	}
	if c.periods[20251231] == nil {
		t.Error("a period was forgotten while a call waited for it")
	}
	close(busy)
	noError(t, <-served)
	if n := len(c.periods); n > mostPeriods {
		t.Errorf("%d periods are remembered", n)
	}
	j.takes(j.s, "20261122-002")
	if c.periods[20261122] != c.present.Load() {
		t.Error("the present period was forgotten")
	}
}

// The definition is what was read last, in whatever period.
func TestDefinitionOfAnOpenSequence(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	if d := j.s.Definition(); d.Pattern != daily || d.Zone != "UTC" || *d.Max != 999 {
		t.Errorf("%+v", d)
	}
	*j.s.Definition().Max, *j.s.Definition().Start = 5, 5
	j.takes(j.s, "20261122-001")
	for _, most := range []int64{500, 400} {
		noError(t, Update(j.ctx, j.st, name, Changes{Max: &most}))
		if d := j.s.Definition(); *d.Max == most {
			t.Error("the definition is known before it was read")
		}
		must(j.s.Next(j.ctx))
		if d := j.s.Definition(); *d.Max != most || *d.Start != 1 {
			t.Errorf("%d, want %d", *d.Max, most)
		}
	}
	wantErr(t, errOf(j.s.Reserve(j.ctx, 20261121, 401)), ErrEnded, "401 of 400 numbers")
	was := j.record(20261122).Revision
	noError(t, Update(j.ctx, j.st, name, Changes{MaxRange: 5000}))
	must(j.s.Next(j.ctx))
	if now := j.record(20261122).Revision; now != was+3 { // a take that meets the change, the change, a take
		t.Errorf("the revision is %d after %d", now, was)
	}
}

// A program whose clock is more than a year from the store's begins no
// period, also in a transaction, in which only writes tell the time.
func TestPeriodFarFromTheStoresClock(t *testing.T) {
	ctx, clock := clockAt(t, "2026-11-22T12:00:00Z")
	for at, want := range map[string]error{
		"2025-11-22T12:00:00Z": nil, "2027-11-22T12:00:00Z": nil,
		"2025-11-21T12:00:00Z": ErrPeriod, "2027-11-23T12:00:00Z": ErrPeriod,
	} {
		for _, inTx := range []bool{false, true} {
			st := &punctual{newShaky(), must(time.Parse(time.RFC3339, at)), inTx}
			noError(t, Create(ctx, st, name, Definition{Mode: Strict, Pattern: daily}))
			wantErr(t, errOf(NextTx(ctx, st, name, 0)), want, "%s, in a transaction: %v", at, inTx)
			if all := must(Periods(ctx, st, name)); len(all) > 0 && want != nil && !inTx {
				t.Errorf("%s: %+v", at, all)
			}
		}
	}
	st := &punctual{newShaky(), clock.Now(), false}
	noError(t, Create(ctx, st, name, Definition{Mode: Strict, Pattern: daily}))
	noError(t, errOf(NextTx(ctx, st, name, 0)))
	noError(t, Confirm(ctx, st, name, Confirmation{Floor: new(int64(5))}))
	st.now = st.now.AddDate(2, 0, 0)
	wantErr(t, errOf(NextTx(ctx, st, name, 20261122)), nil, "a period that has a record goes on")
}

// A fast sequence keeps what it took ahead of a period that ended, for
// calls by name.
func TestFastPeriodKeepsItsRange(t *testing.T) {
	j := opened(t, "2026-11-22T23:59:59Z", Definition{Mode: Fast, Pattern: daily})
	j.takes(j.s, "20261122-001")
	j.goes.Wait()
	j.set(t, "2026-11-23T00:00:00Z")
	j.takes(j.s, "20261123-001")
	j.goes.Wait()
	j.st.count("add")
	j.takesIn(j.s, 20261122, "20261122-002")
	if n := j.st.count("add"); n > 0 {
		t.Errorf("%d takes", n)
	}
}

// Parts that are shown only are of the day on which a number was taken, or
// of the nearest one in its period. They begin no period, and stay with
// their number.
func TestPartsThatAreShownOnly(t *testing.T) {
	d := Definition{
		Mode: Strict, Pattern: "{fy:4}-{quarter:shown}-{month:shown}-{day:shown}-{n:3}{luhn}", Zone: "Asia/Tokyo",
	}
	j := opened(t, "2026-11-30T12:00:00Z", d)
	j.takes(j.s, "2026-3-11-30-0019")
	kept := must(j.s.Reserve(j.ctx, 0, 1))
	j.set(t, "2026-11-30T15:00:00Z")
	j.takes(j.s, "2026-3-12-01-0039")
	if got := kept.At(0).Text; got != "2026-3-11-30-0027" {
		t.Errorf("a day later it is %s", got)
	}
	j.set(t, "2027-03-31T15:00:00Z") // there the next year began
	j.takes(j.s, "2027-1-04-01-0013")
	j.takesIn(j.s, 2026, "2026-4-03-31-0041")
	j.takesIn(j.s, 2028, "2028-1-04-01-0011")
	if got, err := NextTx(j.ctx, j.st, name, 2026); err != nil || got.Text != "2026-4-03-31-0058" {
		t.Errorf("in a transaction: %+v, %v", got, err)
	}
	if r, err := (Serials{Period: 2026, First: 7, Count: 1}).Of(d); err != nil || r.At(0).Text != "2026-?-??-??-007?" {
		t.Errorf("without a day: %+v, %v", r.At(0), err)
	}
	for pattern, want := range map[string]int64{
		"{year}-{n}": 0, "{year}{quarter:shown}{n}": 20270331, "{year}{month:shown}{n}": 20270331,
		"{year}{day:shown}{n}": 20270331,
	} {
		c := must(Definition{Pattern: pattern}.calendar())
		if got := c.dayIn(2027, time.Date(2027, 3, 31, 15, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("%s: day %d", pattern, got)
		}
	}
	read := must(d.Reader())
	if got, err := read("2026-4-03-31-0058"); err != nil || got.Period != 2026 || got.N != 5 {
		t.Errorf("read %+v, %v", got, err)
	}
	for _, text := range []string{
		"2026-5-03-31-0057", "2026-4-13-31-0056", "2026-4-03-32-0057", "2026-4-00-31-0051", "2026-?-??-??-007?",
		"2026-4-03-31-0059",
	} {
		fails(t, errOf(read(text)), "%s was read", text)
	}
}
