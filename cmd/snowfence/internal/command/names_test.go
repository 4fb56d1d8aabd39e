package command

import (
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// The command line refuses the names that the library refuses, and no
// other.
func TestNamesAreThoseOfTheLibrary(t *testing.T) {
	s := tests.Must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	names := []string{"", "a\n", strings.Repeat("a", 64), strings.Repeat("a", 65), "ü", "..", "-"}
	for c := range 256 {
		names = append(names, "a"+string([]byte{byte(c)}))
	}
	for _, name := range names {
		_, want := scope.Namespaces(store.NewMemory()).Create(t.Context(), name, s, nil)
		if got := CheckName(name); (got == nil) != (want == nil) {
			t.Errorf("%q: %v, but the library says %v", name, got, want)
		}
	}
}

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
