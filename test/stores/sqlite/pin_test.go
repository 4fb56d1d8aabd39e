package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// TestSideFilesComeAndGo has other processes open and close the file, and a
// checkpoint that begins the log anew: none of it ends a lease.
func TestSideFilesComeAndGo(t *testing.T) {
	for name, set := range map[string]func(*sql.DB){
		"pool":                func(*sql.DB) {},
		"one connection":      func(db *sql.DB) { db.SetMaxOpenConns(1) },
		"two connections":     func(db *sql.DB) { db.SetMaxOpenConns(2) },
		"none kept":           func(db *sql.DB) { db.SetMaxIdleConns(0) },
		"one, none kept":      func(db *sql.DB) { db.SetMaxOpenConns(1); db.SetMaxIdleConns(0) },
		"short-lived":         func(db *sql.DB) { db.SetConnMaxLifetime(20 * time.Millisecond) },
		"one and short-lived": func(db *sql.DB) { db.SetMaxOpenConns(1); db.SetConnMaxLifetime(20 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ids.db")
			db, st := openFile(t, path)
			set(db)
			scheme := fleet.Default(t)                        // the other processes' scheme
			other, err := sqlstore.New(db, sqlstore.SQLite()) // of the same pool
			must(t, err)
			var leases []*lease.Lease
			for _, st := range []store.Store{st, st, other} {
				l, err := lease.Open(t.Context(), st, "default", scheme, &lease.Options{
					Create: true, TTL: 300 * time.Millisecond,
				})
				must(t, err)
				leases = append(leases, l)
			}
			for range 3 {
				_, out := start(t, path, "9", 2000)
				if ids := <-out; len(ids) == 0 {
					t.Error("another process made no IDs")
				}
				must(t, tests.ErrOf(db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")))
				for _, l := range leases {
					renewed(t, l)
				}
			}
			for _, l := range leases {
				closed(t, l)
			}
			fleet.Eventually(t, "connections are in use after all leases were closed", func() error {
				if n := db.Stats().InUse; n != 0 {
					return fmt.Errorf("%d connections", n)
				}
				return nil
			})
			must(t, db.Close())
			noLog(t, path)
		})
	}
}

// renewed waits until a lease has been renewed from now on, and is well.
func renewed(t *testing.T, l *lease.Lease) {
	t.Helper()
	began := time.Now()
	for ; ; time.Sleep(time.Millisecond) {
		s := l.Status()
		if err := l.Err(); err != nil {
			t.Fatalf("the lease ended: %v", err)
		}
		if s.Renewed.After(began) && s.Held && s.Trouble == nil {
			return
		}
		if time.Since(began) > fleet.Patience() {
			t.Fatalf("the lease: %+v", s)
		}
	}
}

// TestGivenUpConnection has the only connection of a pool given up after a
// failure, whereupon SQLite removes the side files: the store goes on.
func TestGivenUpConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, st := openFile(t, path)
	db.SetMaxOpenConns(1)
	l, err := lease.Open(t.Context(), st, "default", fleet.Scheme(t, "twitter"), &lease.Options{
		Create: true, TTL: 300 * time.Millisecond,
	})
	must(t, err)
	for range 3 {
		c, err := db.Conn(t.Context())
		must(t, err)
		if err := c.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
			t.Fatal(err)
		}
		tests.Fails(t, tests.ErrOf(os.Stat(path+"-wal")), "the log is still there: the test shows nothing")
		renewed(t, l)
	}
	closed(t, l)
}

// closed closes a lease with a very short ttl. On a busy machine the grant
// may end during the close; then the second call does nothing.
func closed(t *testing.T, l *lease.Lease) {
	t.Helper()
	if err := l.Shutdown(t.Context()); err != nil {
		must(t, l.Shutdown(t.Context()))
	}
}

// TestPin: with a pool that keeps no connections, the side files are still
// there while a lease is.
func TestPin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, st := openFile(t, path)
	db.SetMaxIdleConns(0)
	l, err := lease.Open(t.Context(), st, "default", fleet.Scheme(t, "twitter"), &lease.Options{Create: true})
	must(t, err)
	for _, suffix := range []string{"-wal", "-shm"} {
		must(t, tests.ErrOf(os.Stat(path+suffix)))
	}
	must(t, l.Close())
	noLog(t, path)
}

// noLog waits until no program has the file open. The next connection is
// then the last one, and removes the log. Two that close at one time leave
// the log there, and database/sql may close a connection in a goroutine
// after Close.
func noLog(t *testing.T, path string) {
	t.Helper()
	fleet.Eventually(t, "a connection is still open", func() error {
		db, err := sql.Open("sqlite", dsn(path))
		if err != nil {
			return err
		}
		_, err = db.Exec("SELECT count(*) FROM sqlite_schema")
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
		if _, err := os.Stat(path + "-wal"); err == nil {
			return errors.New("the log is there")
		}
		return nil
	})
}
