package databases

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// endOthers are the statements that end all sessions but some. They are the
// application's, which uses the same *sql.DB as a lease.
var endOthers = map[string]func(d database, except []string){
	"PostgreSQL": func(d database, except []string) {
		d.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + d.name +
			"' AND pid NOT IN (pg_backend_pid(), " + strings.Join(except, ",") + ")")
	},
	"MariaDB": func(d database, except []string) {
		others := d.sql("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id NOT IN (" +
			"CONNECTION_ID(), " + strings.Join(except, ",") + ")")
		for id := range strings.FieldsSeq(others) {
			d.sql("KILL " + id)
		}
	},
}

// begin holds a connection of the pool, and returns its number.
func begin(t *testing.T, kind string, db *sql.DB) (id string) {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	must(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	own := map[string]string{"PostgreSQL": "SELECT pg_backend_pid()", "MariaDB": "SELECT CONNECTION_ID()"}[kind]
	must(t, tx.QueryRow(own).Scan(&id))
	return id
}

// renewed waits until the lease was renewed from now on.
func renewed(t *testing.T, l *lease.Lease, what string) {
	t.Helper()
	began := time.Now()
	fleet.Eventually(t, what, func() error {
		if s := l.Status(); !s.Renewed.After(began) || s.Trouble != nil {
			return fmt.Errorf("renewed at %v, now %v: %w", s.Renewed, time.Now(), s.Trouble)
		}
		return nil
	})
}

// In TestFullPool transactions hold all connections but the lease's. Then
// the database ends that one.
func TestFullPool(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string, open func(testing.TB) database) {
		d := open(t)
		db, st := connect(t, d.dsn)
		db.SetMaxOpenConns(3)
		o := &lease.Options{Create: true, TTL: 3 * time.Second}
		l, err := lease.Open(t.Context(), st, "default", fleet.Default(t), o)
		must(t, err)
		keep := []string{begin(t, kind, db), begin(t, kind, db)}
		if n := db.Stats(); n.InUse != 3 {
			t.Fatalf("the pool is not full: %+v", n)
		}
		for range 3 {
			renewed(t, l, "a renewal waits for a transaction")
		}
		endOthers[kind](d, keep)
		renewed(t, l, "the connection of the lease is gone")
		renewed(t, l, "the connection of the lease is gone")
		must(t, l.Close())
		if n := db.Stats().InUse; n != 2 {
			t.Errorf("%d connections are in use after the lease", n)
		}
	})
}

// TestPoolOfOne: a lease would leave nothing of the pool to the
// application.
func TestPoolOfOne(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string, open func(testing.TB) database) {
		db, st := connect(t, open(t).dsn)
		db.SetMaxOpenConns(1)
		_, err := lease.Generator(t.Context(), st, &lease.Options{Create: true})
		tests.Refuses(t, err, lease.ErrInvalid, "allow 2 or more")
		db.SetMaxOpenConns(2) // as the error says
		ids, err := lease.Generator(t.Context(), st, &lease.Options{Create: true})
		must(t, err)
		begin(t, kind, db)
		must(t, ids.Close())
	})
}

// In TestSQLiteBesideTransactions a transaction of the application blocks a
// lease in the same file. The error says what blocks it, and how to end
// that.
func TestSQLiteBesideTransactions(t *testing.T) {
	for name, c := range map[string]struct {
		pool int
		lock bool
		want string
	}{
		"the write lock":               {0, true, "has the write lock of the file"},
		"the last connection":          {2, false, "all connections of the pool are in use"},
		"the last connection and lock": {1, true, "all connections of the pool are in use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := opened(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "app.db")+
				"?_pragma=busy_timeout(10000)&_txlock=immediate")
			db.SetMaxOpenConns(c.pool)
			ids, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite(),
				&lease.Options{TTL: 2 * time.Second, MaxWait: 10 * time.Millisecond})
			must(t, err)
			must(t, tests.ErrOf(ids.Next(t.Context())))
			var tx *sql.Tx
			if c.lock {
				tx, err = db.BeginTx(t.Context(), nil)
			} else {
				tx, err = db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
			}
			must(t, err)
			fleet.Eventually(t, "no error names "+c.want, func() error {
				_, err := ids.Next(t.Context())
				if err != nil && strings.Contains(err.Error(), c.want) {
					return nil
				}
				return cmp.Or(err, errors.New("IDs go on"))
			})
			must(t, tx.Rollback())
			fleet.Eventually(t, "no IDs after the transaction", func() error {
				_, err := ids.Next(t.Context())
				return err
			})
			must(t, ids.Close())
		})
	}
}

func opened(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}
