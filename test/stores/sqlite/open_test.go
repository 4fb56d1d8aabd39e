// Package sqlite tests leases on real SQLite files, with one process and
// with others.
package sqlite

import (
	"database/sql"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/sqlstore"
)

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
