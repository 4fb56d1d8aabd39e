package nodes

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/sqlstore"
)

// TestNumberPerStart uses a number of its own for each start, as long as there are any.
func TestNumberPerStart(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "ids.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := snowfence.ParseLayout("time=41,node=2,seq=20")
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := snowfence.NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	seen := map[int64]bool{}
	for range scheme.Nodes() {
		node, err := sqlstore.StartNumber(ctx, db, sqlstore.SQLite(), "orders", scheme.Nodes())
		if err != nil || seen[node] || node < 0 || node >= scheme.Nodes() {
			t.Fatalf("got %d, %v, after %v", node, err, seen)
		}
		seen[node] = true
	}
	if node, err := sqlstore.StartNumber(ctx, db, sqlstore.SQLite(), "orders", scheme.Nodes()); err == nil {
		t.Errorf("the wrap-around gave %d", node)
	}
}
