// Package faults hurts real stores and real processes while they make IDs, collects what all processes made, and audits it. The tests are the package;
// what stands outside of them is shared with the program in holder, which uses the library as a user's program would.
package faults

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
	_ "modernc.org/sqlite" // the driver
)

// Open opens the store that a URL names, as a program of a user would, and returns what closes it.
func Open(_ context.Context, rawURL string) (lease.Store, func() error, error) {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	switch scheme {
	case "sqlite":
		dsn := url.URL{Scheme: "file", Path: rest, RawQuery: url.Values{
			"_pragma": {"busy_timeout(1000)", "journal_mode(WAL)", "synchronous(FULL)"},
			"_txlock": {"immediate"},
		}.Encode()}
		db, err := sql.Open("sqlite", dsn.String())
		if err != nil {
			return nil, nil, err
		}
		return overSQL(db, sqlstore.SQLite())
	}
	return nil, nil, fmt.Errorf("there is no kind of store called %q", scheme)
}

func overSQL(db *sql.DB, d sqlstore.Dialect) (lease.Store, func() error, error) {
	st, err := sqlstore.New(db, d)
	if err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, nil, err
	}
	return st, db.Close, nil
}
