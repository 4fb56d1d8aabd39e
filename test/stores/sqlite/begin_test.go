// Package sqlite tests leases on real SQLite files, with one process and
// with others.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
	modernc "modernc.org/sqlite"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/sqlstore"
)

// lateDriver begins a transaction and then says that the time is up, as
// drivers do when a context ends between the two.
type lateDriver struct {
	path string
	late bool // the next BEGIN
}

func (d *lateDriver) Driver() driver.Driver { return &modernc.Driver{} }

func (d *lateDriver) Connect(context.Context) (driver.Conn, error) {
	c, err := d.Driver().Open(dsn(d.path))
	return &lateConn{c, d}, err
}

type lateConn struct {
	driver.Conn
	*lateDriver
}

func (c *lateConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
}

func (c *lateConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	res, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
	if err == nil && c.late && strings.HasPrefix(q, "BEGIN") {
		c.late = false
		return nil, context.DeadlineExceeded
	}
	return res, err
}

// A transaction that begins late does not swallow what is written after it.
func TestLateBegin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ids.db")
	d := &lateDriver{path: path}
	db := sql.OpenDB(d)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	st, err := sqlstore.New(db, sqlstore.SQLite())
	must(t, err)
	swap(t, st, "", record(1, "a"))
	d.late = true
	if _, err := store.Put(t.Context(), st, store.Write{New: record(2, "c")}); err == nil || d.late {
		t.Fatalf("a swap without its transaction: %v", err)
	}
	swap(t, st, "a", record(1, "b"))
	_, other := openFile(t, path)
	rs, _, err := other.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}})
	if err != nil || rs[0].Nonce != "b" {
		t.Errorf("another program finds %+v, %v: not what was acknowledged", rs, err)
	}
}

func TestConformance(t *testing.T) {
	open := func(t *testing.T) store.Store {
		_, st := openFile(t, filepath.Join(t.TempDir(), "ids.db"))
		return st
	}
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

// dsn opens a file the way programs should.
func dsn(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(10000)&_txlock=immediate"
}

func openFile(t *testing.T, path string) (*sql.DB, *sqlstore.Store) {
	t.Helper()
	return openDSN(t, dsn(path))
}

func openDSN(t *testing.T, dsn string) (*sql.DB, *sqlstore.Store) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	st, err := sqlstore.New(db, sqlstore.SQLite())
	must(t, err)
	return db, st
}
