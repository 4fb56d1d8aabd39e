//go:build unix

package linear

import (
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/stores/journal"
)

// TestJournal has the store of docs/reference/adding-a-store.md behind a
// network that loses and delays requests.
func TestJournal(t *testing.T) {
	t.Parallel()
	st, err := journal.Open(filepath.Join(t.TempDir(), "leases"))
	must(t, err)
	t.Cleanup(func() { st.Close() })
	u := newUnreliable(t, slow{st})
	check(t, subject{open: func(*testing.T) store.Store { return u }})
}
