//go:build unix

package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/test/harness/kinds"
)

var must = tests.NoError

func TestStore(t *testing.T) {
	open := func(t *testing.T) store.Store {
		s, err := Open(filepath.Join(t.TempDir(), "leases"))
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

func record(node int64, nonce string) store.Record {
	return store.Record{Key: store.Key{Namespace: "journal", Node: node}, Nonce: nonce, Until: 7, Label: "a\nb"}
}

// TestOpenAgain opens a file whose last line was cut off in the middle:
// acknowledged records are there, and new lines go after them.
func TestOpenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases")
	id := ""
	for i, nonce := range []string{"", "n1", "n2"} {
		s, err := Open(path)
		must(t, err)
		if i == 0 {
			id = s.id
		}
		rs, _, err := s.Get(t.Context(), []store.Key{record(1, "").Key})
		if err != nil || rs[0].Nonce != nonce || nonce != "" && rs[0] != record(1, nonce) {
			t.Fatalf("opened %d times before: %+v, %v", i, rs, err)
		}
		if now, err := store.Identity(t.Context(), s, ""); now != id || err != nil {
			t.Errorf("it became another: %q, %v, was %q", now, err, id)
		}
		next := record(1, []string{"n1", "n2", "n3"}[i])
		kinds.Put(t, s, store.Write{Old: nonce, New: next})
		must(t, s.appendLines(line{Record: &store.Record{}}))
		info, err := s.f.Stat()
		must(t, err)
		must(t, errors.Join(s.f.Truncate(info.Size()-1), s.Close()))
	}
}

// TestRefused opens files whose content must not be guessed: one in use, a
// damaged one, and one after a failed write.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases")
	s, err := Open(path)
	must(t, err)
	tests.Says(t, tests.ErrOf(Open(path)), "another process has it", "opened twice")
	must(t, s.f.Close())
	s.f, err = os.Open(path) // so that the write fails
	must(t, err)
	if _, err := store.Put(t.Context(), s, store.Write{New: record(1, "n")}); err == nil ||
		errors.Is(err, store.ErrLost) {
		t.Errorf("a write that failed: %v", err)
	}
	if rs, _, err := s.Get(t.Context(), []store.Key{record(1, "").Key}); err == nil {
		t.Errorf("read after a write that may be done or not: %+v", rs)
	}
	must(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	tests.Says(t, tests.ErrOf(Open(path)), "damaged", "a damaged file")
}

// TestReplaced puts another file in the place of an open one.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases")
	s, err := Open(path)
	must(t, err)
	defer s.Close()
	must(t, os.Remove(path))
	other, err := Open(path)
	must(t, err)
	defer other.Close()
	if _, err := store.Identity(context.Background(), s, ""); !errors.Is(err, store.ErrReplaced) {
		t.Errorf("a file that was replaced: %v", err)
	}
}
