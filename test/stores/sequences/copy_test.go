package sequences

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/sequence"
)

// An SQLite file of before is copied back while no program runs, and the witness beside it stays:
// the next program gets no number before the sequence is confirmed.
func TestFileThatIsCopiedBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	d := database{"sqlite", "file:" + path + "?_pragma=busy_timeout(10000)&_txlock=immediate"}
	run := func(count int) error {
		db, st, err := d.open()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := sequence.Create(t.Context(), st, "orders", sequence.Definition{Mode: sequence.Strict}); err != nil {
			t.Fatal(err)
		}
		s, err := sequence.Open(t.Context(), st, "orders", nil)
		if err != nil {
			return err
		}
		defer s.Close()
		for range count {
			if _, err := next(t.Context(), s); err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(2); err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile(path) // the last program to close writes its log back
	if err != nil {
		t.Fatal(err)
	}
	if err := run(3); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(1); !errors.Is(err, sequence.ErrRolledBack) {
		t.Errorf("after a copy was put back: %v", err)
	}
}
