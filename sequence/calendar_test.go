package sequence

import (
	"errors"
	"fmt"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/snowfence/snowfence/lease"
)

func calendarOf(t testing.TB, pattern, zone string) *calendar {
	t.Helper()
	c := must(Definition{Pattern: pattern, Zone: zone}.calendar())
	return c
}

const (
	daily   = "{year}{month}{day}-{n:3}"
	monthly = "{year}{month}-{n:3}"
	yearly  = "{year}-{n:3}"
	weekly  = "{year}W{week}-{n:3}"
)

// The period of an instant is the civil date of the zone, whatever its
// clocks do.
func TestPeriodsOfInstants(t *testing.T) {
	for _, c := range []struct {
		zone, instant string
		day           int64
	}{
		{"", "2026-11-22T23:59:59Z", 20261122},
		{"UTC", "2026-11-23T00:00:00Z", 20261123},
		{"Asia/Shanghai", "2026-12-31T15:59:59Z", 20261231},
		{"Asia/Shanghai", "2026-12-31T16:00:00Z", 20270101},
		{"America/New_York", "2026-11-01T03:59:59Z", 20261031}, // summer time
		{"America/New_York", "2026-11-01T04:00:00Z", 20261101},
		{"America/New_York", "2026-11-02T04:59:59Z", 20261101}, // a day of 25 hours
		{"America/New_York", "2026-11-02T05:00:00Z", 20261102},
		{"America/New_York", "2026-03-09T03:59:59Z", 20260308}, // a day of 23 hours
		{"America/New_York", "2026-03-09T04:00:00Z", 20260309},
		{"Australia/Lord_Howe", "2026-04-04T12:59:59Z", 20260404}, // 11 hours ahead, and then 10 and a half
		{"Australia/Lord_Howe", "2026-04-04T13:00:00Z", 20260405},
		{"Australia/Lord_Howe", "2026-04-05T13:29:59Z", 20260405},
		{"Australia/Lord_Howe", "2026-04-05T13:30:00Z", 20260406},
		{"America/St_Johns", "2010-11-07T02:29:59Z", 20101106},
		{"America/St_Johns", "2010-11-07T02:30:59Z", 20101107},
		{"America/St_Johns", "2010-11-07T02:31:00Z", 20101106}, // at 00:01 it is 23:01 again
		{"America/St_Johns", "2010-11-07T03:29:59Z", 20101106},
		{"America/St_Johns", "2010-11-07T03:30:00Z", 20101107},
		{"Pacific/Apia", "2011-12-30T09:59:59Z", 20111229},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", 20111231},
	} {
		instant := must(time.Parse(time.RFC3339, c.instant))
		for pattern, want := range map[string]int64{daily: c.day, monthly: c.day / 100, yearly: c.day / 10_000} {
			d := Definition{Pattern: pattern, Zone: c.zone}
			if got, err := d.Period(instant); err != nil || got != want {
				t.Errorf("%s at %s, %s: %d, %v, want %d", c.zone, c.instant, pattern, got, err, want)
			}
		}
	}
}

// Each day of 40 years is in the period of its week, quarter or fiscal
// year, and the text of a number shows it.
func TestPeriodsOfDays(t *testing.T) {
	c := map[string]*calendar{}
	patterns := []string{
		weekly, "{year}{quarter}{n}", "{fy:4}{n}", "{fyend:10}{n}",
		"{fyy:4}{fyyend:4}Q{quarter}-{n}", "{fy:1}{fyend:1}{n}",
	}
	for _, p := range patterns {
		c[p] = calendarOf(t, p, "")
	}
	for day := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2050; day = day.AddDate(0, 0, 1) {
		y, m := day.Year(), int(day.Month())
		iso, week := day.ISOWeek()
		fiscal, months := y, m-4
		if m < 4 {
			fiscal, months = y-1, m+8
		}
		end := y
		if m >= 10 {
			end++
		}
		for i, want := range []string{
			fmt.Sprintf("%dW%02d-007", iso, week), fmt.Sprintf("%d%d7", y, (m+2)/3), fmt.Sprintf("%d7", fiscal),
			fmt.Sprintf("%d7", end), fmt.Sprintf("%02d%02dQ%d-7", fiscal%100, (fiscal+1)%100, months/3+1),
			fmt.Sprintf("%d%d7", y, y),
		} {
			c := c[patterns[i]]
			period := c.periodAt(day)
			got := c.textOf(period, 0, 7)
			back, ok := c.readText(got)
			if got != want || !ok || back.Period != period || !c.exists(period) {
				t.Fatalf("%s, %s: %q, read as %+v, %t; want %q of %d", day.Format(time.DateOnly), patterns[i], got,
					back, ok, want, period)
			}
		}
	}
}

func TestPeriodsThatExist(t *testing.T) {
	for _, c := range []struct {
		pattern, zone string
		period, next  int64 // 0: there is no such period
	}{
		{yearly, "", 2026, 2027},
		{monthly, "", 202611, 202612},
		{monthly, "", 202612, 202701},
		{monthly, "", 202600, 0},
		{monthly, "", 202613, 0},
		{monthly, "", -202611, 0},
		{weekly, "", 202553, 0},
		{weekly, "", 202652, 202653},
		{weekly, "", 202653, 202701},
		{weekly, "", 202600, 0},
		{weekly, "Pacific/Apia", 201152, 201201},
		{"{year}Q{quarter}{n}", "", 20264, 20271},
		{"{year}Q{quarter}{n}", "", 20260, 0},
		{"{year}Q{quarter}{n}", "", 20265, 0},
		{"{fy:4}Q{quarter}{n}", "", 20254, 20261},
		{"{fy:4}Q{quarter}{n}", "", 20255, 0},
		{"{fy:10}{n}", "", 2025, 2026},
		{"{fy:12}{month}{n}", "", 202512, 202601},
		{daily, "", 20261130, 20261201},
		{daily, "", 20261131, 0},
		{daily, "", 20261100, 0},
		{daily, "", 20261231, 20270101},
		{daily, "", 20260228, 20260301},
		{daily, "", 20280228, 20280229},
		{daily, "", 20260229, 0},
		{daily, "", -20261122, 0},
		{daily, "America/St_Johns", 20101106, 20101107},
		{daily, "America/St_Johns", 20101107, 20101108},
		{daily, "Australia/Lord_Howe", 20260404, 20260405},
		{daily, "America/New_York", 20261101, 20261102},
		{daily, "Pacific/Apia", 20111229, 20111231},
		{daily, "Pacific/Apia", 20111230, 0},
		{daily, "Pacific/Apia", 20111231, 20120101},
		{monthly, "Pacific/Apia", 201112, 201201},
		{yearly, "Pacific/Kiritimati", 1994, 1995}, // one of them lacks a day at the turn
		{yearly, "Pacific/Kiritimati", 1995, 1996},
		{monthly, "Pacific/Kiritimati", 199412, 199501},
		{monthly, "Pacific/Kiritimati", 199501, 199502},
	} {
		cal := calendarOf(t, c.pattern, c.zone)
		if got := cal.exists(c.period); got != (c.next != 0) {
			t.Errorf("%s: %d exists: %t", c.zone, c.period, got)
		}
		if c.next != 0 && cal.periodAfter(c.period) != c.next {
			t.Errorf("%s: after %d is %d, want %d", c.zone, c.period, cal.periodAfter(c.period), c.next)
		}
	}
}

// A pattern has place for some years only.
func TestYearsOfPatterns(t *testing.T) {
	for _, c := range []struct {
		year int
		d    Definition
		want error
	}{
		{1999, Definition{Pattern: "{yy}{n}"}, ErrPeriod},
		{2000, Definition{Pattern: "{yy}{n}"}, nil},
		{2099, Definition{Pattern: "{yy}{n}"}, nil},
		{2100, Definition{Pattern: "{yy}{n}"}, ErrEnded},
		{999, Definition{Pattern: "{year}{n}"}, ErrPeriod},
		{1000, Definition{Pattern: "{year}{n}"}, nil},
		{9999, Definition{Pattern: "{year}{n}"}, nil},
		{10000, Definition{Pattern: "{year}{n}"}, ErrEnded},
		{1998, Definition{Pattern: "{fyyend:4}{n}"}, ErrPeriod}, // in June
		{1999, Definition{Pattern: "{fyyend:4}{n}"}, nil},
		{2099, Definition{Pattern: "{fyyend:4}{n}"}, ErrEnded},
		{2099, Definition{Pattern: "{fyy:4}{n}{luhn}"}, nil},
		{2100, Definition{Pattern: "{fyy:4}{n}{luhn}"}, ErrEnded},
		{9999, Definition{Pattern: "{fy:4}{fyyend:4}{n}"}, nil}, // the other year tells the century
		{1000, Definition{Pattern: "{fyy:4}{fyend:4}{n}"}, nil},
	} {
		_, err := c.d.Period(time.Date(c.year, 6, 1, 0, 0, 0, 0, time.UTC))
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: %d: %v, want %v", c.d.Pattern, c.year, err, c.want)
		}
		r, err := Serials{Period: int64(c.year), First: 5, Count: 2}.Of(c.d)
		if !errors.Is(err, c.want) || err == nil && r.At(1).N != 6 {
			t.Errorf("%s: %d: %+v, %v", c.d.Pattern, c.year, r, err)
		}
	}
}

func TestZonesThatAreRefused(t *testing.T) {
	for _, zone := range []string{"Local", "Mars/Olympus", "../etc/passwd", "+01:00"} {
		d := Definition{Pattern: daily, Zone: zone}
		wantErr(t, Create(t.Context(), newShaky(), name, d), lease.ErrInvalid, "zone %q", zone)
		wantErr(t, errOf(d.Period(time.Now())), lease.ErrInvalid, "zone %q", zone)
	}
	wantErr(t, errOf((Definition{}).Period(time.Now())), ErrDated, "a plain sequence has no periods")
	wantErr(t, errOf((Definition{Pattern: "{n}"}).Period(time.Now())), lease.ErrInvalid, "a pattern without a date")
}

// Numbers that were got in another way have the texts of the definition.
func TestSerialsOfOthers(t *testing.T) {
	d := Definition{Pattern: "A{year}{month}{day}-{n:3}", Step: 5, Zone: "Pacific/Apia"}
	r, err := Serials{Period: 20260228, First: 10, Count: 3}.Of(d)
	if err != nil || r.At(2) != (Serial{"A20260228-020", 20260228, 20}) {
		t.Errorf("%+v, %v", r, err)
	}
	for what, r := range map[string]Serials{
		"no date":         {Period: 20260229, First: 1, Count: 1},
		"a day left out":  {Period: 20111230, First: 1, Count: 1},
		"negative number": {Period: 20260228, First: -1, Count: 1},
		"nothing":         {Period: 20260228, First: 1},
	} {
		wantErr(t, errOf(r.Of(d)), ErrPeriod, "%s", what)
	}
	wantErr(t, errOf((Serials{Period: 20260228, First: 1, Count: 1}).Of(Definition{})), ErrDated, "a plain sequence")
	if r, err := (Serials{Period: 20260228, First: 0, Count: 1}).Of(d); err != nil || r.At(0).N != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Serials{Period: 20260228, First: 1, Count: 2}.Of(Definition{Pattern: daily})
	if err != nil || r.At(1).N != 2 {
		t.Errorf("a definition without a step: %+v, %v", r, err)
	}
}
