package sequences

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// TestSequenceTx tests numbers in transactions on each database.
func TestSequenceTx(t *testing.T) {
	kinds := databases(t)
	transactionsThatMeet(t, kinds)
	for name, on := range kinds {
		for what, test := range map[string]func(*testing.T, func(testing.TB) database){
			"invoices without gaps": invoicesWithoutGaps, "invoices beside Next": invoicesBesideNext,
			"one connection": oneConnection, "keeps the rules": keepsTheRules, "savepoints": savepoints,
			"after rows were put back": afterRowsWerePutBack, "serials without gaps": serialsWithoutGaps,
			"a period in a savepoint": periodInASavepoint, "a definition of before": definitionOfBefore,
			"commits last": commitsLast, "documented code": documentedInvoice,
			"prepared transactions": preparedTransactions, "identity put back": identityPutBack,
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				test(t, on)
			})
		}
	}
}

// dialect is the one of the database.
func (d database) dialect() sqlstore.Dialect {
	switch d.driver {
	case "pgx":
		return sqlstore.PostgreSQL()
	case "mysql":
		return sqlstore.MySQL()
	}
	return sqlstore.SQLite()
}

// pool opens the database as a program does that writes invoices.
func (d database) pool(t testing.TB, connections int) *sql.DB {
	t.Helper()
	db, _, err := d.open()
	noError(t, err)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	t.Cleanup(func() { db.Close() })
	return db
}

// begin begins a transaction as the documentation says.
func (d database) begin(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	if d.driver == "sqlite" {
		return db.BeginTx(ctx, nil) // the DSN makes it BEGIN IMMEDIATE
	}
	return db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

// invoices makes a strict sequence, and a table for invoices.
func (d database) invoices(t testing.TB, definition sequence.Definition) *sqlstore.Store {
	t.Helper()
	st := d.store(t)
	definition.Mode = sequence.Strict
	noError(t, sequence.Create(t.Context(), st, "orders", definition))
	must(d.pool(t, 1).ExecContext(t.Context(), "CREATE TABLE invoice (n BIGINT NOT NULL)"))
	return st
}

// invoice writes one invoice, and runs it again as often as it has to.
func (d database) invoice(ctx context.Context, db *sql.DB, end func(*sql.Tx) error) (n int64, err error) {
	for {
		n, err = d.tryInvoice(ctx, db, end)
		if !errors.Is(err, sequence.ErrRetry) {
			return n, err
		}
	}
}

func (d database) tryInvoice(ctx context.Context, db *sql.DB, end func(*sql.Tx) error) (n int64, err error) {
	tx, err := d.begin(ctx, db)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	s, err := sqlstore.SequenceTx(ctx, tx, d.dialect(), "orders")
	if err != nil {
		return 0, err
	}
	n = s.N
	if _, err := tx.ExecContext(ctx, fmt.Sprint("INSERT INTO invoice (n) VALUES (", n, ")")); err != nil {
		return n, err
	}
	return n, end(tx)
}

func commit(tx *sql.Tx) error { return tx.Commit() }

// kill ends the connection of a transaction from another one, or where
// there is no server, leaves it to the driver to end it.
func (d database) kill(ctx context.Context, t *testing.T, db *sql.DB) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		ask, by := "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%d)"
		switch d.driver {
		case "sqlite":
			return tx.Rollback()
		case "mysql":
			ask, by = "SELECT CONNECTION_ID()", "KILL %d"
		}
		var id int64
		if err := tx.QueryRowContext(ctx, ask).Scan(&id); err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, fmt.Sprintf(by, id)); err != nil {
			t.Errorf("killing a connection: %v", err)
		}
		if err := tx.Commit(); err == nil {
			t.Error("a killed connection has committed")
		}
		return nil
	}
}

// numbers returns the numbers of all invoices, in their order.
func numbers(t testing.TB, db *sql.DB) (all []int64) {
	t.Helper()
	rows := must(db.QueryContext(t.Context(), "SELECT n FROM invoice ORDER BY n"))
	defer rows.Close()
	for rows.Next() {
		var n int64
		noError(t, rows.Scan(&n))
		all = append(all, n)
	}
	noError(t, rows.Err())
	return all
}

// Sixteen connections write invoices, and some transactions are rolled back
// or lose their connection: the numbers have no gap, come once, and rise in
// the order of the commits. A reader never sees a gap either.
func invoicesWithoutGaps(t *testing.T, on func(testing.TB) database) {
	const connections, rounds = 16, 12
	d := on(t)
	st := d.invoices(t, sequence.Definition{})
	db, other := d.pool(t, connections), d.pool(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { neverAGap(ctx, t, d.pool(t, 1), stop) })
	start := time.Now()
	var mu sync.Mutex
	var calls []fleet.Call
	var wg sync.WaitGroup
	for c := range connections {
		wg.Go(func() {
			for round := range rounds {
				end := commit
				switch (c + round) % 6 {
				case 0:
					end = (*sql.Tx).Rollback
				case 1:
					end = d.kill(ctx, t, other)
				}
				began := time.Since(start)
				n, err := d.invoice(ctx, db, end)
				done := fleet.Call{Began: int64(began), Ended: int64(time.Since(start)), Number: n}
				if err != nil {
					t.Error(err)
					return
				}
				if (c+round)%6 > 1 {
					mu.Lock()
					calls = append(calls, done)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	watch.Wait()
	fleet.Risen(t, "orders", calls)
	all := numbers(t, db)
	if len(all) != len(calls) {
		t.Errorf("%d invoices for %d commits", len(all), len(calls))
	}
	for i, n := range all {
		if n != int64(i+1) {
			t.Fatalf("invoice %d has the number %d", i+1, n)
		}
	}
	looksOwn(t, d, st, int64(len(all))+1)
}

// neverAGap looks at the table until it is stopped.
func neverAGap(ctx context.Context, t *testing.T, db *sql.DB, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		var count, highest int64
		const ask = "SELECT COUNT(*), COALESCE(MAX(n), 0) FROM invoice"
		if err := db.QueryRowContext(ctx, ask).Scan(&count, &highest); err != nil {
			t.Errorf("looking at the invoices: %v", err)
			return
		}
		if count != highest {
			t.Errorf("%d invoices, and the highest is %d", count, highest)
			return
		}
	}
}

// looksOwn checks that a program which opens the database sees nothing that
// was put back, and goes on with the number given.
func looksOwn(t *testing.T, d database, st *sqlstore.Store, want int64) {
	t.Helper()
	before := must(store.Identity(t.Context(), st, ""))
	fresh := d.store(t)
	s := must(sequence.Open(t.Context(), fresh, "orders", nil))
	defer s.Close()
	n, err := next(t.Context(), s)
	if err != nil || n != want {
		t.Errorf("Next gave %d, %v, not %d", n, err, want)
	}
	if now, err := store.Identity(t.Context(), fresh, ""); err != nil || now != before {
		t.Errorf("the database was %s, and is %s: %v", before, now, err)
	}
}

// Numbers of transactions and of programs that call Next meet on one
// sequence, while it is changed and confirmed: none comes twice.
func invoicesBesideNext(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	st := d.invoices(t, sequence.Definition{})
	db := d.pool(t, 4)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	var all []int64
	add := func(n int64, err error) {
		mu.Lock()
		defer mu.Unlock()
		if all = append(all, n); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				add(d.invoice(ctx, db, commit))
			}
		})
	}
	for range 2 {
		s := must(sequence.Open(ctx, d.store(t), "orders", nil))
		defer s.Close()
		wg.Go(func() {
			for range 20 {
				add(s.Next(ctx))
			}
		})
	}
	wg.Go(func() {
		for i := range int64(5) {
			noError(t, sequence.Update(ctx, st, "orders", sequence.Changes{Max: new(1000 + i)}))
			c := sequence.Confirmation{Floor: new(10 * i)}
			noError(t, sequence.Confirm(ctx, st, "orders", c))
		}
	})
	wg.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != 6*20 {
		t.Errorf("%d different numbers of %d: %v", n, len(all), all)
	}
}
