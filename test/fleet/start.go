package fleet

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence"
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

// OneLine starts generators with the one-line function of a store that programs share: in the namespace default, which it
// makes, and in another one, which has to exist.
func OneLine(t *testing.T, st lease.Store, door func(*lease.GeneratorOptions) (*snowfence.Generator, error)) {
	t.Helper()
	through := func(o *lease.GeneratorOptions) {
		t.Helper()
		g, err := door(o)
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
	through(nil)
	if ns, err := lease.ShowNamespace(t.Context(), st, "default"); err != nil || ns.Layout != snowfence.Default().String() {
		t.Errorf("it made %+v, %v", ns, err)
	}
	orders := &lease.GeneratorOptions{Namespace: "orders"}
	if _, err := door(orders); !errors.Is(err, lease.ErrNoNamespace) {
		t.Fatalf("without a namespace: %v", err)
	}
	s, err := snowfence.NewScheme(snowfence.Sonyflake())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(t.Context(), st, "orders", s, nil); err != nil {
		t.Fatal(err)
	}
	through(orders) // with the layout that it has
}
