// Package pool tests leases beside an application that uses the same
// *sql.DB.
package pool

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// server is a database that many machines share.
type server struct {
	driver, dsn string
	dialect     sqlstore.Dialect
	own         string                              // SELECT of a connection's number
	kill        func(t *testing.T, except ...int64) // ends the other connections of the database
}

func postgres(t *testing.T) server {
	t.Helper()
	p := servers.StartPostgres(t)
	name := p.NewDatabase(t)
	kill := func(t *testing.T, except ...int64) {
		t.Helper()
		p.SQL(t, "postgres", fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'"+
			" AND NOT pid = ANY('{%s}'::int[])", name, list(except)))
	}
	return server{"pgx", p.URL(name), sqlstore.PostgreSQL(), "SELECT pg_backend_pid()", kill}
}

func mariaDB(t *testing.T) server {
	t.Helper()
	m := servers.StartMariaDB(t)
	dsn := m.DSN(m.NewDatabase(t))
	return server{"mysql", dsn, sqlstore.MySQL(), "SELECT CONNECTION_ID()", func(t *testing.T, except ...int64) {
		t.Helper()
		db := open(t, "mysql", dsn)
		db.SetMaxOpenConns(1)
		var ids []int64
		rows, err := db.Query("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id NOT IN (" +
			list(except) + ", CONNECTION_ID())")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := rows.Err(); err != nil || len(ids) == 0 {
			t.Fatal(err, ids)
		}
		for _, id := range ids {
			if _, err := db.Exec(fmt.Sprint("KILL ", id)); err != nil {
				t.Fatal(err)
			}
		}
	}}
}

func list(ids []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// begin holds a connection of the pool, and returns its number.
func begin(t *testing.T, db *sql.DB, own string) (id int64) {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	if err == nil {
		err = tx.QueryRow(own).Scan(&id)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
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
	for name, start := range map[string]func(*testing.T) server{"PostgreSQL": postgres, "MariaDB": mariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			db := open(t, s.driver, s.dsn)
			db.SetMaxOpenConns(3)
			st, err := sqlstore.New(db, s.dialect)
			if err != nil {
				t.Fatal(err)
			}
			scheme, err := snowfence.NewScheme(snowfence.Default())
			if err != nil {
				t.Fatal(err)
			}
			l, err := lease.Open(t.Context(), st, "default", scheme, &lease.Options{Create: true, TTL: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			keep := []int64{begin(t, db, s.own), begin(t, db, s.own)}
			if n := db.Stats(); n.InUse != 3 {
				t.Fatalf("the pool is not full: %+v", n)
			}
			for range 3 {
				renewed(t, l, "a renewal waits for a transaction")
			}
			s.kill(t, keep...)
			renewed(t, l, "the connection of the lease is gone")
			renewed(t, l, "the connection of the lease is gone")
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if n := db.Stats().InUse; n != 2 {
				t.Errorf("%d connections are in use after the lease", n)
			}
		})
	}
}

// TestPoolOfOne: a lease would leave nothing of the pool to the
// application.
func TestPoolOfOne(t *testing.T) {
	for name, start := range map[string]func(*testing.T) server{"PostgreSQL": postgres, "MariaDB": mariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			db := open(t, s.driver, s.dsn)
			db.SetMaxOpenConns(1)
			_, err := sqlstore.Open(t.Context(), db, s.dialect, &lease.Options{Create: true})
			if !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), "allow 2 or more") {
				t.Fatalf("a pool of one: %v", err)
			}
			db.SetMaxOpenConns(2) // as the error says
			ids, err := sqlstore.Open(t.Context(), db, s.dialect, &lease.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			begin(t, db, s.own)
			if err := ids.Close(); err != nil {
				t.Error(err)
			}
		})
	}
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
			db := open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "app.db")+
				"?_pragma=busy_timeout(10000)&_txlock=immediate")
			db.SetMaxOpenConns(c.pool)
			ids, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite(),
				&lease.Options{TTL: 2 * time.Second, MaxWait: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ids.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			var tx *sql.Tx
			if c.lock {
				tx, err = db.BeginTx(t.Context(), nil)
			} else {
				tx, err = db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			fleet.Eventually(t, "no error names "+c.want, func() error {
				_, err := ids.Next(t.Context())
				if err != nil && strings.Contains(err.Error(), c.want) {
					return nil
				}
				return cmp.Or(err, errors.New("IDs go on"))
			})
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			fleet.Eventually(t, "no IDs after the transaction", func() error {
				_, err := ids.Next(t.Context())
				return err
			})
			if err := ids.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
