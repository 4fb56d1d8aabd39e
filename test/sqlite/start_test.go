package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/fleet"
)

func TestStartNumber(t *testing.T) {
	t.Parallel()
	db, st := openFile(t, filepath.Join(t.TempDir(), "ids.db"))
	found, err := st.Report(t.Context())
	if err != nil || len(found) < 2 {
		t.Errorf("%+v, %v", found, err)
	}
	fleet.StartNumbers(t, db, sqlstore.SQLite())
}
