// Package postgres tests leases on real PostgreSQL servers.
package postgres

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// connect returns a store over connections to a URL.
func connect(t testing.TB, url string) (*sql.DB, *sqlstore.Store) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	st, err := sqlstore.New(db, sqlstore.PostgreSQL())
	if err != nil {
		t.Fatal(err)
	}
	return db, st
}

func TestConformance(t *testing.T) {
	p := servers.StartPostgres(t)
	open := func(t *testing.T) store.Store {
		db, st := connect(t, p.URL(p.NewDatabase(t)))
		db.SetMaxOpenConns(4) // many tests at once
		return st
	}
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}
