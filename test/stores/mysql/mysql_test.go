// Package mysql tests leases on real MariaDB servers.
package mysql

import (
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// connect returns a store over connections to a DSN.
func connect(t testing.TB, dsn string) (*sql.DB, *sqlstore.Store) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	st, err := sqlstore.New(db, sqlstore.MySQL())
	if err != nil {
		t.Fatal(err)
	}
	return db, st
}

func TestConformance(t *testing.T) {
	m := servers.StartMariaDB(t)
	open := func(t *testing.T) store.Store {
		db, st := connect(t, m.DSN(m.NewDatabase(t)))
		db.SetMaxOpenConns(4) // many tests at once
		return st
	}
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}
