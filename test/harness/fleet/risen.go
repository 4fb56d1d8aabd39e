package fleet

import (
	"slices"
	"testing"
)

// Call is a number, and when it was asked for and given.
type Call struct{ Began, Ended, Number int64 }

// Risen compares each call with the highest number of those that ended
// before it began. Equal times tell nothing.
func Risen(t testing.TB, name string, calls []Call) {
	t.Helper()
	byBegin, byEnd := slices.Clone(calls), slices.Clone(calls)
	slices.SortFunc(byBegin, func(a, b Call) int { return int(a.Began - b.Began) })
	slices.SortFunc(byEnd, func(a, b Call) int { return int(a.Ended - b.Ended) })
	var highest int64
	for _, c := range byBegin {
		for len(byEnd) > 0 && byEnd[0].Ended < c.Began {
			highest = max(highest, byEnd[0].Number)
			byEnd = byEnd[1:]
		}
		if c.Number <= highest {
			t.Errorf("a call for a number of %s began after %d had been given, and got %d", name, highest, c.Number)
		}
	}
}
