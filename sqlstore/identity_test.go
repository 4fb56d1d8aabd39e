package sqlstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
)

// TestNoteServer lets servers answer in turn.
func TestNoteServer(t *testing.T) {
	s := &Store{dialect: PostgreSQL()}
	use := func() int64 { s.uses++; return s.uses }
	noteServer := func(began int64, id, system string, term int64, want string) {
		t.Helper()
		err := s.noteServer(serverInfo{id: id, system: system, term: term}, began)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	noteServer(use(), "a:1", "a", 1, "")
	late := use()
	noteServer(use(), "a:2", "a", 2, "")
	noteServer(late, "a:1", "a", 1, "changed from a:1 to a:2 meanwhile")
	noteServer(use(), "a:1", "a", 1, "server a:1 of timeline 1 answers")
	if s.lastInfo.id != "a:2" {
		t.Errorf("the identity is %s", s.lastInfo.id)
	}
	noteServer(use(), "b:1", "b", 1, "") // another system
	noteServer(use(), "a:2", "a", 2, "")
	if err := s.noteServer(serverInfo{id: "a:3", refusal: "a standby"}, use()); err == nil || s.lastInfo.id != "a:2" {
		t.Errorf("a refusal: %v, %s", err, s.lastInfo.id)
	}
}

// A server does not count while another one answers, unless it is that one
// under another identity.
func TestTwoServersAnswer(t *testing.T) {
	s := &Store{dialect: MySQL()}
	note := func(id string, mark int64) error {
		s.uses++
		return s.noteServer(serverInfo{id: id, mark: mark}, s.uses)
	}
	for _, id := range []string{"a", "a, restored"} {
		noError(t, note(id, 1))
	}
	s.answeredAt = time.Now().Add(-callTimeout)
	noError(t, note("a, restored", 1))
	if err := note("b", 2); err != errDivided || s.lastInfo.id != "a, restored" {
		t.Errorf("two answer: %v, and %s counts", err, s.lastInfo.id)
	}
	s.answeredAt = time.Now().Add(-callTimeout)
	if err := note("b", 2); err != nil || s.lastInfo.id != "b" {
		t.Errorf("a failover: %v, and %s counts", err, s.lastInfo.id)
	}
	if err := note("a, restored", 1); err != errDivided {
		t.Errorf("the first one is back: %v", err)
	}
	b := serverInfo{mark: 2}
	if err := b.answersAs(1); err != errDivided {
		t.Errorf("another one answers after a write: %v", err)
	}
	noError(t, b.answersAs(2))
}

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
