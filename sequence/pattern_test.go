package sequence

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease"
)

func TestPatterns(t *testing.T) {
	for text, want := range map[string]struct {
		period, n int64
		is        string
		most      int64
	}{
		"{year}/{n}":                        {2026, 7, "2026/7", exactInJavaScript},
		"RE-{year}-{n:6}":                   {2026, 7, "RE-2026-000007", 999_999},
		"{n:6}{yy}":                         {2026, 999_999, "99999926", 999_999},
		"{n:6+}{yy}":                        {2005, 1_000_000, "100000005", exactInJavaScript},
		"{n:3+}.{year}":                     {1000, 12, "012.1000", exactInJavaScript},
		"{month}{yy}-{n:1}":                 {202611, 9, "1126-9", 9},
		"{day}.{month}.{year} №{n:2}":       {20260203, 42, "03.02.2026 №42", 99},
		"INV/{fy:4}-{fyyend:4}/{n:4}":       {2025, 7, "INV/2025-26/0007", 9999},
		"{fyend:7}-{month}-{n}":             {202512, 7, "2026-12-7", exactInJavaScript},
		"{year}W{week}-{n:4}":               {202653, 7, "2026W53-0007", 9999},
		"{yy}Q{quarter}-{n}":                {20264, 7, "26Q4-7", exactInJavaScript},
		"R{year}{n:6}{luhn}":                {2026, 1, "R20260000011", 999_999},
		"{year}{n}{luhn}":                   {7992, 739871, "79927398713", exactInJavaScript}, // the example of ISO/IEC 7812
		"{year}{month}{day}{n:18}":          {99991231, 5, "99991231000000000000000005", 999_999_999_999_999_999},
		"{yy}{month}{day}{n}":               {20990101, math.MaxInt64, "9901019223372036854775807", exactInJavaScript},
		strings.Repeat("x", 91) + "{yy}{n}": {2000, 1, strings.Repeat("x", 91) + "001", exactInJavaScript},
		strings.Repeat("x", 93) + "{yy}{n}": {2000, 1, strings.Repeat("x", 93) + "001", exactInJavaScript},
	} {
		p, err := parsePattern(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.textOf(want.period, 0, want.n); got != want.is || p.most != want.most {
			t.Errorf("%s: %q, up to %d; want %q, up to %d", text, got, p.most, want.is, want.most)
		}
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		"":                                  "no {n}",
		"{year}":                            "no {n}",
		"{n}":                               "no date",
		"{month}{n}":                        "a {day} needs",
		"{day}{n}":                          "a {day} needs",
		"{year}{day}{n}":                    "a {day} needs",
		"{month}{day}{n}":                   "a {day} needs",
		"{year}{n}{n:6}":                    "twice",
		"{year}{yy}{n}":                     "twice",
		"{year}{month}{month}{n}":           "twice",
		"{year}{n":                          "has no '}'",
		"{year}{n}}":                        "printable",
		"a}{year}{n}":                       "printable",
		"{year}\n{n}":                       "printable",
		"{year}\xff{n}":                     "printable",
		"{year}\ufffd{n}":                   "printable",
		"{year}{N}":                         "no field",
		"{year}{}{n}":                       "no field",
		"{year}{6}":                         "no field",
		"{year}{{n}}":                       "no field",
		"{year}{n:}":                        "no field",
		"{year}{n:0}":                       "no field",
		"{year}{n:-1}":                      "no field",
		"{year}{n:06}":                      "no field",
		"{year}{n:+6}":                      "no field",
		"{year}{n:6++}":                     "no field",
		"{year}{n:19}":                      "no field",
		"{year}{n:19+}":                     "no field",
		"{year:shown}{year}{n}":             "no field",
		"{hour}{year}{month}{day}{n}":       "no field",
		"{fy}{n}":                           "no field",
		"{fy:0}{n}":                         "no field",
		"{fy:13}{n}":                        "no field",
		"{fy:04}{n}":                        "no field",
		"{fy:4}{fyend:5}{n}":                "different times",
		"{fy:4}{year}{n}":                   "different times",
		"{fy:4}{fyy:4}{n}":                  "twice",
		"{fy:4}{week}{n}":                   "weeks lie across",
		"{year}{month}{week}{n}":            "weeks lie across",
		"{year}{quarter}{week}{n}":          "weeks lie across",
		"{week}{n}":                         "else a text",
		"{quarter}{n}":                      "else a text",
		"{year}{luhn}{n}":                   "after {luhn}",
		"{year}{n}{luhn}.":                  "end of a text",
		strings.Repeat("x", 94) + "{yy}{n}": "100 bytes",
	} {
		_, err := parsePattern(text)
		unit := Definition{Pattern: text}.PeriodUnit()
		if !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), why) || unit != "" {
			t.Errorf("%q: %v, %q", text, err, unit)
		}
	}
}

// A text has one period and one number: all texts of short patterns are
// compared.
func TestTextsDetermineTheirPeriodAndNumber(t *testing.T) {
	fields := []string{
		"{yy}", "{year}", "{month}", "{day}", "{n}", "{n:2}", "{n:2+}", "1",
		"{fyy:4}", "{fyend:4}", "{quarter}", "{week}", "{month:shown}",
	}
	periods := map[field][]int64{
		year:    {2000, 2001, 2010, 2011, 2012, 2020, 2099},
		month:   {200001, 200010, 200011, 200012, 200101, 201101, 201111},
		week:    {200001, 200010, 200011, 200052, 200101, 202053},
		quarter: {20001, 20004, 20011, 20111, 20201},
		day:     {20000101, 20000102, 20000110, 20000111, 20000112, 20000121, 20001101, 20001111, 20010101, 20110111},
	}
	numbers := []int64{
		0, 1, 2, 9, 10, 11, 12, 20, 99, 100, 101, 110, 111, 112, 120, 999, 1000, 1001, 1111, 11111, 200101,
	}
	patterns := 0
	try := func(text string) {
		p, err := parsePattern(text)
		if err != nil {
			return
		}
		patterns++
		seen := map[string][2]int64{}
		for _, period := range periods[p.finest] {
			for _, n := range numbers {
				if n > p.most {
					break
				}
				s := p.textOf(period, 20000101+n%12*100, n) // whichever day it was taken
				if other, twice := seen[s]; twice {
					t.Fatalf("%s: %q is both number %d of %d and number %d of %d", text, s, n, period, other[1],
						other[0])
				}
				seen[s] = [2]int64{period, n}
			}
		}
	}
	var build func(text string, more int)
	build = func(text string, more int) {
		try(text)
		if more == 0 {
			return
		}
		for _, f := range fields {
			build(text+f, more-1)
		}
	}
	build("", 5)
	if patterns < 1600 {
		t.Errorf("only %d patterns", patterns)
	}
}

// Whatever a pattern is, either it is refused, or two numbers of two
// periods have different texts.
func FuzzPattern(f *testing.F) {
	f.Add("RE-{year}-{n:6}", int64(2026), int64(1), int64(2027), int64(1))
	f.Add("{yy}{month}{n:2+}", int64(202611), int64(100), int64(202612), int64(10))
	f.Add("{n}{day}{month}{year}", int64(20261122), int64(5), int64(20261122), int64(52))
	f.Add("{{n}}{n:06}", int64(1), int64(2), int64(3), int64(4))
	f.Fuzz(func(t *testing.T, text string, period, n, otherPeriod, other int64) {
		d := Definition{Pattern: text}
		full, _, err := d.withDefaults()
		if err != nil {
			if !errors.Is(err, lease.ErrInvalid) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		one, err := Serials{Period: period, First: n, Count: 1}.Of(d)
		if err != nil {
			return
		}
		two, err := Serials{Period: otherPeriod, First: other, Count: 1}.Of(d)
		if err != nil || n > *full.Max || other > *full.Max {
			return
		}
		a, b := one.At(0), two.At(0)
		if a.Text == b.Text && (period != otherPeriod || n != other) {
			t.Errorf("%q: %q is both number %d of %d and number %d of %d", text, a.Text, n, period, other, otherPeriod)
		}
	})
}
