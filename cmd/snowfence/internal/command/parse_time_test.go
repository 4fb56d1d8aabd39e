package command

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
)

// psql prints a timestamptz with a space, and with an offset that can have
// no minutes.
func TestTimesAsDatabasesPrintThem(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2019-05-17 08:30:00":           time.Date(2019, 5, 17, 8, 30, 0, 0, time.UTC),
		"2019-05-17 08:30:01.5":         time.Date(2019, 5, 17, 8, 30, 1, 500e6, time.UTC),
		"2019-05-17 08:30:00+00":        time.Date(2019, 5, 17, 8, 30, 0, 0, time.UTC),
		"2019-05-17 08:30:00.123456+02": time.Date(2019, 5, 17, 6, 30, 0, 123456e3, time.UTC),
		"2019-05-17 08:30:00+05:30":     time.Date(2019, 5, 17, 3, 0, 0, 0, time.UTC),
		"2019-05-17T08:30:00-03:00":     time.Date(2019, 5, 17, 11, 30, 0, 0, time.UTC),
	} {
		if got, err := ParseTime("at", text); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "NULL", "1558081800", "2019-05-17 08:30:00+", "2019-05-17 08:30:00 UTC"} {
		tests.Fails(t, tests.ErrOf(ParseTime("at", text)), "%q", text)
	}
}
