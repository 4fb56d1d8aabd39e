package tests

import (
	"cmp"
	"slices"
	"testing"
)

// Increasing ends a test where an ID is not above the one before.
func Increasing[T cmp.Ordered](t testing.TB, ids []T) {
	t.Helper()
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Fatalf("ID %d is %v, not above %v before it", i, ids[i], ids[i-1])
		}
	}
}

// Unique ends a test where an ID is there twice. It sorts ids.
func Unique[T cmp.Ordered](t testing.TB, ids []T) {
	t.Helper()
	slices.Sort(ids)
	Increasing(t, ids)
}
