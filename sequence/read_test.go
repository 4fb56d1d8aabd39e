package sequence_test

import (
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/sequence"
)

// A text is read as what it was made of, and no other text is.
func TestReaderReadsWhatPatternsWrite(t *testing.T) {
	for _, c := range []struct {
		pattern string
		period  int64
	}{
		{"RE-{year}-{n:6}", 2026},
		{"{n}/{yy}{month}", 202602},
		{"{day}{n:3+}{month}x{year}", 20240229},
		{"{year}{month}{day}{n}", 20261122},
		{"№{n:18}·{year}", 2026},
	} {
		d := sequence.Definition{Pattern: c.pattern}
		read := tests.Must(d.Reader())
		for _, n := range []int64{0, 1, 9, 10, 123, 999, 1000, 99_999} {
			r := tests.Must(sequence.Serials{Period: c.period, First: n, Count: 1}.Of(d))
			want := r.At(0)
			if got, err := read(want.Text); err != nil || got != want {
				t.Errorf("%s: %q is %+v, %v, not %+v", c.pattern, want.Text, got, err, want)
			}
			for i := range want.Text {
				for _, other := range []string{
					want.Text[:i] + "x" + want.Text[i+1:], want.Text[:i] + want.Text[i+1:],
					want.Text[:i] + "0" + want.Text[i:], want.Text[:i] + "+" + want.Text[i:],
				} {
					got, err := read(other)
					if got.Text = want.Text; err == nil && other != want.Text && got == want {
						t.Errorf("%s: %q is %+v", c.pattern, other, got)
					}
				}
			}
		}
	}
	for pattern, texts := range map[string][]string{
		"RE-{year}-{n:4}": {
			"", "RE-2026-", "RE-2026-00001", "RE-2026-001", "re-2026-0001", "RE-0000-0001", "RE-2026-000x",
			"RE-2026-00-1",
		},
		"RE-{year}-{n:4+}":  {"RE-2026-00001", "RE-2026-001", "RE-2026-9999999999999999999", "RE-2026-99999999999999999999"},
		"{year}-{n}":        {"2026-01", "2026--1", "2026-9007199254740992"},
		"{year}{month}-{n}": {"202600-1", "202613-1"},
		"{yy}{month}{day}{n}": {
			"2302291", "2300011", "2301001", "2301321",
		},
	} {
		read := tests.Must(sequence.Definition{Pattern: pattern}.Reader())
		for _, text := range texts {
			tests.Fails(t, tests.ErrOf(read(text)), "%s: %q", pattern, text)
		}
	}
	tests.Fails(t, tests.ErrOf((sequence.Definition{}).Reader()), "a plain sequence has texts")
}
