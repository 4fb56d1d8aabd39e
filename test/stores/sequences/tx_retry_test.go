package sequences

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
)

// meeting is two transactions that meet on the row of a sequence: what the
// first does comes before the number of the second one.
type meeting struct {
	kind, code string
	isolation  sql.IsolationLevel
	session    []string // settings of the second transaction's connection
	first      func(t *testing.T, m *met)
}

type met struct {
	d     database
	other *sql.DB
	tx    *sql.Tx // the second transaction
}

func (m *met) take(t *testing.T) *sql.Tx {
	t.Helper()
	tx := must(m.d.begin(t.Context(), m.other))
	t.Cleanup(func() { _ = tx.Rollback() })
	must(sqlstore.SequenceTx(t.Context(), tx, m.d.dialect(), "orders"))
	return tx
}

func run(t *testing.T, in interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, statements ...string,
) {
	t.Helper()
	for _, s := range statements {
		if _, err := in.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// takenSince is a number that another transaction took after this one
// looked at the database.
func takenSince(t *testing.T, m *met) {
	var n int
	noError(t, m.tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM invoice").Scan(&n))
	noError(t, m.take(t).Commit())
}

// heldNow is a number of another transaction that is open.
func heldNow(t *testing.T, m *met) { m.take(t) }

// deadlock is a transaction that has a number, and waits for a row of this
// one.
func deadlock(t *testing.T, m *met) {
	run(t, m.tx, "UPDATE invoice SET n = n + 1 WHERE n = 1")
	other := m.take(t)
	set, id := "SET innodb_lock_wait_timeout = 100", "SELECT CONNECTION_ID()"
	waits := "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' " +
		"AND trx_mysql_thread_id = "
	if m.d.driver == "pgx" {
		set = "SET deadlock_timeout = '1000s'" // so that it is the second that notices
		id = "SELECT pg_backend_pid()"
		waits = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND pid = "
	}
	var own int64
	noError(t, other.QueryRowContext(t.Context(), id).Scan(&own))
	run(t, other, set, "INSERT INTO invoice (n) VALUES (10), (11), (12), (13), (14), (15), (16), (17)")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = other.ExecContext(t.Context(), "UPDATE invoice SET n = n + 1 WHERE n = 1")
	}()
	t.Cleanup(func() { <-done })
	look := m.d.pool(t, 1)
	for n, end := 0, time.Now().Add(patience); n == 0; {
		if time.Now().After(end) {
			t.Fatalf("the other transaction does not wait for the row after %v", patience)
		}
		// InnoDB shows the same picture until no transaction has looked for
		// 100 ms.
		time.Sleep(200 * time.Millisecond)
		noError(t, look.QueryRowContext(t.Context(), waits+strconv.FormatInt(own, 10)).Scan(&n))
	}
}

// Each error with which a database ends a transaction for another one's
// sake is an ErrRetry, and the transaction can run again.
func transactionsThatMeet(t *testing.T, kinds map[string]func(testing.TB) database) {
	for _, m := range []meeting{
		{kind: "postgres", code: "40001", isolation: sql.LevelRepeatableRead, first: takenSince},
		{kind: "postgres", code: "40001", isolation: sql.LevelSerializable, first: takenSince},
		{kind: "postgres", code: "55P03", session: []string{"SET lock_timeout = '50ms'"}, first: heldNow},
		{kind: "postgres", code: "40P01", first: deadlock},
		{
			kind: "mariadb", code: "1020", isolation: sql.LevelRepeatableRead,
			session: []string{"SET innodb_snapshot_isolation = 1"}, first: takenSince,
		},
		{kind: "mariadb", code: "1205", session: []string{"SET innodb_lock_wait_timeout = 1"}, first: heldNow},
		{kind: "mariadb", code: "1213", first: deadlock},
		{kind: "sqlite", code: "SQLITE_BUSY", session: []string{"PRAGMA busy_timeout = 50"}, first: heldNow},
		{kind: "sqlite", code: "(517)", first: takenSince}, // SQLITE_BUSY_SNAPSHOT
	} {
		t.Run(m.kind+"/"+strings.Trim(m.code, "()")+"/"+m.isolation.String(), func(t *testing.T) {
			t.Parallel()
			d := kinds[m.kind](t)
			d.invoices(t, sequence.Definition{})
			second := d
			second.dsn = strings.ReplaceAll(d.dsn, "&_txlock=immediate", "")
			db := second.pool(t, 1)
			run(t, db, append(m.session, "INSERT INTO invoice (n) VALUES (1)")...)
			isolation := m.isolation
			if isolation == sql.LevelDefault && m.kind != "sqlite" {
				isolation = sql.LevelReadCommitted
			}
			tx := must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: isolation}))
			m.first(t, &met{d: d, other: d.pool(t, 1), tx: tx})
			n, err := sqlstore.SequenceTx(t.Context(), tx, d.dialect(), "orders")
			if !errors.Is(err, sequence.ErrRetry) || !strings.Contains(err.Error(), m.code) {
				t.Errorf("got %+v, %v", n, err)
			}
			if err := tx.Rollback(); err != nil && m.code != "1213" {
				t.Error(err)
			}
		})
	}
}
