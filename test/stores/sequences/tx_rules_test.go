package sequences

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
)

// inTx takes a number in a transaction of its own, which it commits.
func inTx(t *testing.T, d database, db *sql.DB) (int64, error) {
	t.Helper()
	return d.tryInvoice(t.Context(), db, commit)
}

func want(t *testing.T, d database, db *sql.DB, number int64) {
	t.Helper()
	if n, err := inTx(t, d, db); n != number || err != nil {
		t.Errorf("got %d, %v, not %d", n, err, number)
	}
}

func wantErr(t *testing.T, d database, db *sql.DB, kind error, text string) {
	t.Helper()
	n, err := inTx(t, d, db)
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %d, %v, not %v with %q", n, err, kind, text)
	}
}

// A pool of one connection is enough for a transaction that takes a number,
// also twice.
func oneConnection(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	d.invoices(t, sequence.Definition{Start: new(int64(100)), Step: 10})
	db := d.pool(t, 1)
	want(t, d, db, 100)
	tx := must(d.begin(t.Context(), db))
	for _, number := range []int64{110, 120} {
		n, err := sqlstore.SequenceTx(t.Context(), tx, d.dialect(), "orders")
		if n.N != number || err != nil {
			t.Errorf("%+v, %v", n, err)
		}
	}
	noError(t, tx.Rollback())
	want(t, d, db, 110)
}

// What a sequence refuses is refused in a transaction too, and names the
// cure. Nothing is locked then: the sequence can be mended while the
// transaction is open.
func keepsTheRules(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	db := d.pool(t, 2)
	run(t, db, "CREATE TABLE invoice (n BIGINT NOT NULL)")
	wantErr(t, d, db, sequence.ErrNoSequence, "create it")
	st := d.store(t)
	noError(t, sequence.Create(t.Context(), st, "others", sequence.Definition{}))
	wantErr(t, d, db, sequence.ErrNoSequence, "create it")
	tx := must(d.begin(t.Context(), db))
	_, err := sqlstore.SequenceTx(t.Context(), tx, d.dialect(), "orders")
	tests.WantErr(t, err, sequence.ErrNoSequence, "before there is a sequence")
	_, err = sqlstore.SequenceTx(t.Context(), tx, d.dialect(), "others")
	if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "strict") {
		t.Error(err)
	}
	if d.driver == "sqlite" { // whose transaction excludes all others
		noError(t, tx.Rollback())
	}
	definition := sequence.Definition{Mode: sequence.Strict, Max: new(int64(2))}
	noError(t, sequence.Create(t.Context(), st, "orders", definition))
	if d.driver != "sqlite" {
		noError(t, tx.Rollback())
	}
	want(t, d, db, 1)
	want(t, d, db, 2)
	wantErr(t, d, db, sequence.ErrEnded, "raise max")
	noError(t, sequence.Update(t.Context(), st, "orders", sequence.Changes{Max: new(int64(9))}))
	want(t, d, db, 3)
	noError(t, sequence.Delete(t.Context(), st, "orders"))
	wantErr(t, d, db, sequence.ErrNoSequence, "create it again")
	definition.Max = new(int64(9))
	noError(t, sequence.Create(t.Context(), st, "orders", definition))
	want(t, d, db, 4)
	noError(t, sequence.Confirm(t.Context(), st, "orders", sequence.Confirmation{Floor: new(int64(7))}))
	want(t, d, db, 7)
	if _, err := sqlstore.SequenceTx(t.Context(), nil, d.dialect(), "orders"); !errors.Is(err, lease.ErrInvalid) {
		t.Error(err)
	}
}

// Rows that were put back give no number in a transaction. At the next use
// of the store the sequence follows after_failover of its definition.
func afterRowsWerePutBack(t *testing.T, on func(testing.TB) database) {
	for _, after := range []int64{sequence.Stop, sequence.Trust, 50} {
		t.Run(map[int64]string{0: "stop", -1: "trust", 50: "skip"}[after], func(t *testing.T) {
			d := on(t)
			st := d.invoices(t, sequence.Definition{AfterFailover: after})
			db := d.pool(t, 1)
			want(t, d, db, 1)
			run(t, db, "CREATE TABLE saved AS SELECT * FROM snowfence_lease")
			if _, err := sequence.Show(t.Context(), st, "orders"); err != nil { // the witness sees number 2
				t.Fatal(err)
			}
			want(t, d, db, 2)
			must(sequence.Show(t.Context(), st, "orders"))
			run(t, db, "DELETE FROM snowfence_lease", "INSERT INTO snowfence_lease SELECT * FROM saved")
			if d.driver != "mysql" { // where a trigger has given the data another identity
				wantErr(t, d, db, sequence.ErrRolledBack, "sequence.Open")
			}
			info, err := sequence.Show(t.Context(), d.store(t), "orders")
			if err != nil || info.RolledBack != (after == sequence.Stop) {
				t.Errorf("%+v, %v", info, err)
			}
			switch after {
			case sequence.Trust:
				want(t, d, db, 2)
			case sequence.Stop:
				wantErr(t, d, db, sequence.ErrRolledBack, "confirm the sequence with it")
				floor := sequence.Confirmation{Floor: new(int64(3))}
				noError(t, sequence.Confirm(t.Context(), st, "orders", floor))
				want(t, d, db, 3)
			default:
				if n, err := d.tryInvoice(t.Context(), db, (*sql.Tx).Rollback); n != 53 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				want(t, d, db, 53)
				want(t, d, db, 54)
				looksOwn(t, d, d.store(t), 55)
			}
		})
	}
}

// A number that is taken in a savepoint goes back with it, and its row
// looks like every other.
func savepoints(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	st := d.invoices(t, sequence.Definition{})
	db := d.pool(t, 1)
	tx := must(d.begin(t.Context(), db))
	for _, step := range []struct {
		before string
		number int64
	}{{"SAVEPOINT a", 1}, {"SAVEPOINT b", 2}, {"ROLLBACK TO SAVEPOINT b", 2}, {"RELEASE SAVEPOINT b", 3}} {
		run(t, tx, step.before)
		n, err := sqlstore.SequenceTx(t.Context(), tx, d.dialect(), "orders")
		if n.N != step.number || err != nil {
			t.Errorf("after %s: %+v, %v", step.before, n, err)
		}
	}
	noError(t, tx.Commit())
	looksOwn(t, d, st, 4)
}

// serial takes a serial of a period in a transaction of its own.
func serial(t *testing.T, d database, db *sql.DB, period int64, end func(*sql.Tx) error) (sequence.Serial, error) {
	t.Helper()
	tx, err := d.begin(t.Context(), db)
	if err != nil {
		return sequence.Serial{}, err
	}
	defer tx.Rollback()
	s, err := sqlstore.SequenceTxIn(t.Context(), tx, d.dialect(), "orders", period)
	if err != nil {
		return s, err
	}
	return s, end(tx)
}

// Sixteen connections begin a period at once, and the one before: the
// serials of both have no gap, also when the first transaction is rolled
// back.
func serialsWithoutGaps(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	st := d.invoices(t, sequence.Definition{Pattern: "RE-{year}-{n:6}"})
	db := d.pool(t, 16)
	must(serial(t, d, db, 0, (*sql.Tx).Rollback))
	var mu sync.Mutex
	all := map[int64][]int64{}
	lastYear := int64(time.Now().UTC().Year() - 1)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for done := 0; done < 8; {
				s, err := serial(t, d, db, int64(done%2)*lastYear, commit)
				switch {
				case errors.Is(err, sequence.ErrRetry):
				case err != nil || s.Text != fmt.Sprintf("RE-%d-%06d", s.Period, s.N):
					t.Errorf("%+v, %v", s, err)
					return
				default:
					done++
					mu.Lock()
					all[s.Period] = append(all[s.Period], s.N)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for period, numbers := range all {
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != int64(i+1) {
				t.Fatalf("serial %d of %d has the number %d", i+1, period, n)
			}
		}
	}
	if len(all[lastYear]) != 64 {
		t.Errorf("%d numbers of %d", len(all[lastYear]), lastYear)
	}
	noError(t, sequence.Confirm(t.Context(), st, "orders", sequence.Confirmation{Floor: new(int64(100))}))
	if s, err := serial(t, d, db, 0, commit); err != nil || s.N != 100 {
		t.Errorf("after a confirmation: %+v, %v", s, err)
	}
	before := must(store.Identity(t.Context(), st, ""))
	fresh := d.store(t)
	s := must(sequence.OpenDated(t.Context(), fresh, "orders", nil))
	defer s.Close()
	if next, err := s.Next(t.Context()); err != nil || next.N != 101 {
		t.Errorf("Next gave %+v, %v", next, err)
	}
	if now, err := store.Identity(t.Context(), fresh, ""); err != nil || now != before {
		t.Errorf("the database was %s, and is %s: %v", before, now, err)
	}
}

// A period that begins in a savepoint looks like every other.
func periodInASavepoint(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	st := d.invoices(t, sequence.Definition{Pattern: "RE-{year}-{n:6}"})
	db := d.pool(t, 1)
	for _, want := range []int64{1, 2} {
		tx := must(d.begin(t.Context(), db))
		run(t, tx, "SAVEPOINT a")
		s, err := sqlstore.SequenceTx(t.Context(), tx, d.dialect(), "orders")
		if err != nil || s.N != want {
			t.Errorf("%+v, %v", s, err)
		}
		noError(t, tx.Commit())
	}
	before := must(store.Identity(t.Context(), st, ""))
	if now, err := store.Identity(t.Context(), d.store(t), ""); err != nil || now != before {
		t.Errorf("the database was %s, and is %s: %v", before, now, err)
	}
}

// What a transaction has read of a definition is not used if it was changed
// since, also where the transaction still sees the old one.
func definitionOfBefore(t *testing.T, on func(testing.TB) database) {
	for _, pattern := range []string{"", "RE-{year}-{n:6}"} {
		t.Run(pattern, func(t *testing.T) {
			d := on(t)
			if d.driver == "sqlite" {
				return // a transaction that sees an old state cannot write
			}
			st := d.invoices(t, sequence.Definition{Pattern: pattern})
			db := d.pool(t, 1)
			take := func(tx *sql.Tx) error {
				_, err := sqlstore.SequenceTx(t.Context(), tx, d.dialect(), "orders")
				return err
			}
			tx := must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead}))
			if err := take(tx); err != nil { // so that the period is there
				t.Fatal(err)
			}
			noError(t, tx.Commit())
			tx = must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead}))
			defer tx.Rollback()
			var n int
			noError(t, tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM snowfence_lease").Scan(&n))
			noError(t, sequence.Confirm(t.Context(), st, "orders", sequence.Confirmation{Floor: new(int64(100))}))
			tests.WantErr(t, take(tx), sequence.ErrRetry, "a definition of before was used")
		})
	}
}

// A connection on which commits would not last is refused, or mended for
// the transaction.
func commitsLast(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	d.invoices(t, sequence.Definition{})
	db := d.pool(t, 1)
	switch d.driver {
	case "sqlite":
		run(t, db, "PRAGMA synchronous = NORMAL")
		tests.Says(t, tests.ErrOf(inTx(t, d, db)), "synchronous(FULL)", "a number was taken")
	case "pgx":
		run(t, db, "SET synchronous_commit = off")
		level := ""
		n, err := d.tryInvoice(t.Context(), db, func(tx *sql.Tx) error {
			return tx.QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&level)
		})
		if err != nil || level != "on" {
			t.Errorf("%d, %v: synchronous_commit is %s", n, err, level)
		}
	case "mysql":
		run(t, db, "SET autocommit = 0")
		tests.Says(t, tests.ErrOf(inTx(t, d, db)), "leave autocommit on", "a number was taken")
	}
}

// A transaction that is prepared keeps its number: others wait for it, and
// get the same one if it is rolled back.
func preparedTransactions(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	if d.driver != "pgx" {
		return // a *sql.Tx cannot be part of MySQL's XA
	}
	st := d.invoices(t, sequence.Definition{})
	db, other := d.pool(t, 1), d.pool(t, 1)
	for _, c := range []struct {
		end  string
		next int64
	}{{"ROLLBACK PREPARED", 1}, {"COMMIT PREPARED", 3}} {
		n, err := d.tryInvoice(t.Context(), db, func(tx *sql.Tx) error {
			run(t, tx, "PREPARE TRANSACTION 'a'")
			_ = tx.Commit() // there is nothing left to commit
			return nil
		})
		if n < 1 || err != nil {
			t.Fatal(n, err)
		}
		run(t, other, "SET lock_timeout = '20ms'")
		wantErr(t, d, other, sequence.ErrRetry, "55P03")
		run(t, other, c.end+" 'a'")
		want(t, d, other, c.next)
	}
	looksOwn(t, d, st, 4)
}

// A row of the identity that was put back, a witness that is gone: such a
// database gives no number in a transaction. What the store sets on a
// connection for itself does not stay there.
func identityPutBack(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	d.invoices(t, sequence.Definition{Pattern: "{year}-{n}"})
	db := d.pool(t, 1)
	must(serial(t, d, db, 0, commit))
	switch d.driver {
	case "pgx":
		run(t, db, "UPDATE snowfence_meta SET value = value WHERE name = 'id'")
	case "sqlite":
		path, _, _ := strings.Cut(strings.TrimPrefix(d.dsn, "file:"), "?")
		noError(t, os.Remove(path+"-witness"))
	case "mysql":
		run(t, db, "REPLACE INTO snowfence_lease SELECT * FROM snowfence_lease")
	}
	for _, end := range []func(*sql.Tx) error{commit, (*sql.Tx).Rollback} {
		if s, err := serial(t, d, db, 0, end); !errors.Is(err, sequence.ErrRolledBack) {
			t.Errorf("%+v, %v", s, err)
		}
	}
	info, err := sequence.Show(t.Context(), d.store(t), "orders")
	if err != nil || !info.RolledBack {
		t.Errorf("%+v, %v", info, err)
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError
