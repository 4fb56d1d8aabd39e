// Package databases tests leases on real PostgreSQL and MariaDB servers.
package databases

import (
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// A database is an empty one on a server, as the administrator sees it.
type database struct {
	name, dsn, address string
	sql                func(statements string) string
	dump               func(args ...string) string // what else the dump program gets
	load               func(dump string)
}

func onPostgres(t testing.TB, p *servers.Postgres) database {
	name := p.NewDatabase(t)
	return database{
		name: name, dsn: p.URL(name), address: servers.Address(p.Port),
		sql:  func(statements string) string { return p.SQL(t, name, statements) },
		dump: func(args ...string) string { return p.Dump(t, name, args...) },
		load: func(dump string) { p.Load(t, name, dump) },
	}
}

func onMariaDB(t testing.TB, m *servers.MariaDB) database {
	name := m.NewDatabase(t)
	return database{
		name: name, dsn: m.DSN(name), address: servers.Address(m.Port),
		sql:  func(statements string) string { return m.SQL(t, name, statements) },
		dump: func(args ...string) string { return m.Dump(t, name, args...) },
		load: func(dump string) { m.Load(t, name, dump) },
	}
}

// eachKind runs a test on a server of each kind, of which it opens
// databases.
func eachKind(t *testing.T, test func(t *testing.T, kind string, open func(t testing.TB) database)) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		p := servers.StartPostgres(t)
		test(t, "PostgreSQL", func(t testing.TB) database { return onPostgres(t, p) })
	})
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		m := servers.StartMariaDB(t)
		test(t, "MariaDB", func(t testing.TB) database { return onMariaDB(t, m) })
	})
}

// connect returns a store over connections to a DSN.
func connect(t testing.TB, dsn string) (*sql.DB, *sqlstore.Store) {
	t.Helper()
	driver, dialect := "mysql", sqlstore.MySQL()
	if strings.HasPrefix(dsn, "postgres:") {
		driver, dialect = "pgx", sqlstore.PostgreSQL()
	}
	db := opened(t, driver, dsn)
	st, err := sqlstore.New(db, dialect)
	must(t, err)
	return db, st
}

func TestConformance(t *testing.T) {
	eachKind(t, func(t *testing.T, _ string, open func(testing.TB) database) {
		each := func(t *testing.T) store.Store {
			db, st := connect(t, open(t).dsn)
			db.SetMaxOpenConns(4) // many tests at once
			return st
		}
		storetest.Run(t, each)
		storetest.RunCounts(t, each)
	})
}

// record is one to write.
func record(node int64, nonce string) store.Record {
	return store.Record{Key: store.Key{Namespace: "n", Node: node}, Nonce: nonce, Revision: 1, Label: "läbel 日本 😀"}
}

func swap(t *testing.T, st store.Store, old string, r store.Record) error {
	t.Helper()
	_, err := store.Put(t.Context(), st, store.Write{Old: old, New: r})
	return err
}

// refused checks that a store refuses reads and writes with a text.
func refused(t *testing.T, st store.Store, want string) {
	t.Helper()
	_, _, err := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}})
	tests.Says(t, err, want, "a read")
	batch := []store.Write{{New: record(98, "x")}, {New: record(99, "x")}}
	for _, writes := range [][]store.Write{batch, batch[:1]} {
		errs, _, _ := st.Swap(t.Context(), writes)
		for _, err := range errs {
			if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), want) {
				t.Errorf("a write: %v, which should say %q", err, want)
			}
		}
	}
}

// identity returns the store's identity after it has read all records.
func identity(t *testing.T, st *sqlstore.Store) string {
	t.Helper()
	_, _, err := st.Heads(t.Context())
	must(t, err)
	_, _, err = st.List(t.Context(), "n", snowfence.NodeRange{From: store.NamespaceNode, Until: 101}, 1000)
	must(t, err)
	id, err := store.Identity(t.Context(), st, "")
	must(t, err)
	return id
}
