package databases

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"

	"github.com/go-sql-driver/mysql"
)

// busyConnector connects to a server that is busy at one read behind an
// update.
type busyConnector struct {
	driver.Connector
	due *atomic.Bool
}

func (b busyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := b.Connector.Connect(ctx)
	return &busyConn{Conn: c, due: b.due}, err
}

type busyConn struct {
	driver.Conn
	due     *atomic.Bool
	updated bool
}

func (c *busyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.updated = strings.HasPrefix(query, "UPDATE snowfence_lease")
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *busyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.updated && c.due.CompareAndSwap(true, false) {
		return nil, &mysql.MySQLError{Number: 1205, Message: "Lock wait timeout exceeded"}
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// A write that is done is not repeated when the server is busy behind it:
// its result is not known.
func TestBusyBehindAWrite(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	dsn := m.DSN(m.NewDatabase(t))
	_, direct := connect(t, dsn)
	must(t, swap(t, direct, "", record(1, "a")))
	config, err := mysql.ParseDSN(dsn)
	must(t, err)
	c, err := mysql.NewConnector(config)
	must(t, err)
	var due atomic.Bool
	db := sql.OpenDB(busyConnector{c, &due})
	defer db.Close()
	st, err := sqlstore.New(db, sqlstore.MySQL())
	must(t, err)
	get := func() store.Record {
		t.Helper()
		rs, _, err := direct.Get(t.Context(), []store.Key{record(1, "").Key})
		must(t, err)
		return rs[0]
	}
	due.Store(true)
	err = swap(t, st, "a", record(1, "b"))
	if err == nil || errors.Is(err, store.ErrLost) || get().Nonce != "b" {
		t.Errorf("a swap: %v, and the record is %+v", err, get())
	}
	before := get()
	due.Store(true)
	a := store.Addition{Key: before.Key, Generation: before.Generation, Nonce: "c", N: 10, Limit: 1000}
	if r, _, err := st.Add(t.Context(), a); err == nil || get().From != before.From+10 {
		t.Errorf("an addition of 10 to %d: %+v, %v, and the record is %+v", before.From, r, err, get())
	}
}
