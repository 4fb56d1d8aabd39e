package sqlstore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// TestWitnessKeepsTheHighest notes counts in all orders, and by programs
// that are late.
func TestWitnessKeepsTheHighest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	noError(t, os.WriteFile(path, nil, 0o640))
	info, err := os.Stat(path)
	noError(t, err)
	w, other := newFile(path, info), newFile(path, info)
	check := func(id string, want int64, wantKnown bool) {
		t.Helper()
		for _, w := range []*file{w, other} {
			if count, known, err := w.highestNote(id); count != want || known != wantKnown || err != nil {
				t.Errorf("%d, %v, %v; it should be %d, %v", count, known, err, want, wantKnown)
			}
		}
	}
	note := func(w *file, id string, count int64) {
		t.Helper()
		noError(t, w.noteCount(id, count))
	}
	check("a", 0, false)
	noError(t, w.beginWitness("a", 5))
	check("a", 5, true)
	for _, count := range []int64{8, 7, 6, 9, 10} {
		note(w, "a", count)
	}
	check("a", 10, true)
	note(other, "a", 9) // late
	check("a", 10, true)
	for count := int64(11); count < 60; count++ {
		note(other, "a", count)
		check("a", count, true)
	}
	check("b", 0, false)
	noError(t, other.beginWitness("b", 3))
	note(w, "a", 60) // of the database of before
	check("b", 3, true)
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says
