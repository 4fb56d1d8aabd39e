package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"

	modernc "modernc.org/sqlite"

	"github.com/snowfence/snowfence/lease/store"
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
