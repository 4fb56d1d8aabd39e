package databases

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"

	"github.com/go-sql-driver/mysql"
)

// divider connects as a proxy does that divides writes and reads: it sends
// what is in a transaction to the server that is written, and other SELECTs
// to the one that is read. That may be the same by chance.
type divider struct {
	written, read driver.Connector
	chance        *atomic.Bool
}

func (d divider) Connect(ctx context.Context) (driver.Conn, error) {
	w, err := d.written.Connect(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.read.Connect(ctx)
	return &dividedConn{Conn: w, read: r, chance: d.chance}, err
}

func (d divider) Driver() driver.Driver { return d.written.Driver() }

type dividedConn struct {
	driver.Conn
	read   driver.Conn
	chance *atomic.Bool
	begun  bool
}

func (c *dividedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	switch query {
	case "START TRANSACTION":
		c.begun = true
	case "COMMIT", "ROLLBACK":
		c.begun = false
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *dividedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	to := c.read
	if c.begun || c.chance.Load() {
		to = c.Conn
	}
	return to.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// A proxy that writes to one server and reads from the other gives no lease
// a grant: what it reads says nothing of what it wrote.
func TestProxyThatDividesWritesAndReads(t *testing.T) {
	t.Parallel()
	scheme := fleet.Scheme(t, "twitter")
	var connectors []driver.Connector
	var direct []*sqlstore.Store
	for _, id := range []string{"1", "2"} {
		m := servers.StartMariaDB(t, "--server-id="+id)
		dsn := m.DSN(m.NewDatabase(t))
		_, st := connect(t, dsn)
		must(t, tests.ErrOf(scope.Namespaces(st).Create(t.Context(), "n", scheme, nil)))
		for node := range int64(3) {
			must(t, swap(t, st, "", record(node, "a")))
		}
		config, err := mysql.ParseDSN(dsn)
		must(t, err)
		c, err := mysql.NewConnector(config)
		must(t, err)
		connectors, direct = append(connectors, c), append(direct, st)
	}
	var chance atomic.Bool
	db := sql.OpenDB(divider{connectors[0], connectors[1], &chance})
	defer db.Close()
	open := func() *sqlstore.Store {
		st, err := sqlstore.New(db, sqlstore.MySQL())
		must(t, err)
		return st
	}
	st := open()
	divided := func(what string, err error) {
		t.Helper()
		tests.Says(t, err, "a proxy that divides writes and reads", "%s", what)
	}
	batch := func(old, nonce string, first int64) []store.Write {
		return []store.Write{{Old: old, New: record(first, nonce)}, {Old: old, New: record(first+1, nonce)}}
	}
	if _, err := store.Identity(t.Context(), st, ""); err != nil { // a read, as before each write
		t.Fatal(err)
	}
	add := func(st *sqlstore.Store) error {
		a := store.Addition{Key: record(0, "").Key, Nonce: "c", N: 10, Limit: 100}
		_, _, err := st.Add(t.Context(), a)
		return err
	}
	get := func(st *sqlstore.Store, node int64) store.Record {
		t.Helper()
		rs, _, err := st.Get(t.Context(), []store.Key{record(node, "").Key})
		must(t, err)
		return rs[0]
	}
	divided("a write", swap(t, st, "a", record(0, "b")))
	divided("an addition", add(st))
	chance.Store(true) // it read from the other server, and looks at this one after the write
	divided("a write after a read elsewhere", swap(t, st, "a", record(0, "b")))
	divided("an addition after a read elsewhere", add(st))
	_, _, err := st.Get(t.Context(), []store.Key{record(0, "").Key})
	divided("a read elsewhere", err)
	if got, want := get(direct[0], 0), record(0, "a"); got != want {
		t.Errorf("what was not answered for is written: %+v, not %+v", got, want)
	}
	first := open() // each first write reads, too
	chance.Store(false)
	divided("a first use", swap(t, first, "a", record(0, "b")))
	divided("a first addition", add(open()))
	if got, want := get(direct[0], 0), record(0, "a"); got != want {
		t.Errorf("a first use writes %+v over %+v", got, want)
	}
	chance.Store(true)
	whole := open() // of which all goes to one server until it reads
	must(t, swap(t, whole, "a", record(0, "a2")))
	must(t, add(whole))
	chance.Store(false)
	divided("a read of the other server", func() error {
		_, _, err := whole.Get(t.Context(), []store.Key{record(1, "").Key})
		return err
	}())
	divided("an addition with a look elsewhere", add(whole))
	divided("a write with a look elsewhere", swap(t, whole, "a", record(1, "b")))
	divided("a first write", swap(t, st, "", record(5, "b")))
	for _, writes := range [][]store.Write{batch("a", "b", 1), batch("", "b", 6)} {
		errs, _, _ := st.Swap(t.Context(), writes)
		for _, err := range errs {
			divided("a batch", err)
		}
	}
	for node, want := range map[int64]store.Record{2: record(2, "a"), 7: {Key: record(7, "").Key}} {
		if got := get(direct[0], node); got != want {
			t.Errorf("a batch wrote %+v over %+v", got, want)
		}
	}
	for _, nodes := range []int{1, 4} {
		l, err := lease.Open(t.Context(), st, "n", scheme, &lease.Options{Nodes: nodes})
		divided("a lease", err)
		if err == nil {
			_ = l.Close()
		}
	}
}
