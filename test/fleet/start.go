package fleet

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
)

// StartNumbers has many starts count themselves at the same time: each gets a number of its own, and none is given twice after the last.
func StartNumbers(t *testing.T, db *sql.DB, d sqlstore.Dialect) {
	t.Helper()
	var wg sync.WaitGroup
	numbers := make([]int64, 20)
	for i := range numbers {
		wg.Go(func() {
			var err error
			if numbers[i], err = sqlstore.StartNumber(t.Context(), db, d, "starts", int64(len(numbers))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != int64(i) {
			t.Fatalf("start numbers %v", numbers)
		}
	}
	if n, err := sqlstore.StartNumber(t.Context(), db, d, "starts", int64(len(numbers))); err == nil || !strings.Contains(err.Error(), "lease a node") {
		t.Errorf("after the last: %d, %v", n, err)
	}
	if n, err := sqlstore.StartNumber(t.Context(), db, d, "others", 1); n != 0 || err != nil {
		t.Errorf("of another name: %d, %v", n, err)
	}
	id, err := db.Exec("UPDATE snowfence_meta SET value = 'restored' WHERE name = 'id'")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := id.RowsAffected(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := sqlstore.StartNumber(t.Context(), db, d, "others", 9); err == nil || !strings.Contains(err.Error(), "may have forgotten starts") {
		t.Errorf("of another database: %d, %v", n, err)
	}
}

// OneLine starts a generator in one line: on a server the namespace has to exist, and the error says how to make it.
func OneLine(t *testing.T, db *sql.DB, st lease.Store, d sqlstore.Dialect) {
	t.Helper()
	if _, err := sqlstore.Generator(t.Context(), db, d); !errors.Is(err, lease.ErrNoNamespace) || !strings.Contains(err.Error(), "snowfence namespace create default") {
		t.Errorf("without a namespace: %v", err)
	}
	if _, err := lease.CreateNamespace(t.Context(), st, "default", Default(t), nil); err != nil {
		t.Fatal(err)
	}
	g, err := sqlstore.Generator(t.Context(), db, d)
	if err != nil {
		t.Fatal(err)
	}
	a, err := g.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := g.Next(t.Context()); err != nil || b <= a {
		t.Errorf("second ID %d after %d, error %v", b, a, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
