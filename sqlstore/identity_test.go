package sqlstore

import (
	"strings"
	"testing"
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
