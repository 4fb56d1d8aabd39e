package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Open leases a node from db and returns a generator on it. It makes
// missing tables, and the namespace "default". Other namespaces it makes in
// SQLite only. On a shared server, make them once with
// scope.Operator.Create or "snowfence namespace create". Closing the
// generator ends the lease. Nil options use the defaults; see
// lease.Generator.
func Open(ctx context.Context, db *sql.DB, d Dialect, o *lease.Options) (*snowfence.Generator, error) {
	st, err := New(db, d)
	if err != nil {
		return nil, err
	}
	opts := *cmp.Or(o, &lease.Options{})
	opts.Create = opts.Create || d.embedded
	return lease.Generator(ctx, st, &opts)
}

// ErrNoTables means that a store of [NewReadOnly] is over a database
// without the tables.
var ErrNoTables = errors.New("the database has no tables of Snowfence")

// NewReadOnly returns a store that changes nothing, for tools that inspect
// a store. It needs only the right to read. It returns [store.ErrReadOnly]
// if it would have to write, also when it notices that the data was
// restored.
func NewReadOnly(db *sql.DB, d Dialect) (*Store, error) {
	open := d.open
	if d.embedded {
		open = sqliteFile // also leaves the journal mode alone
	}
	d.open = func(ctx context.Context, c *sql.Conn) (*file, error) {
		f, err := open(ctx, c)
		if f != nil {
			// Also beside connections that cannot write: the witness tells
			// of a restored file.
			f.blind, f.looks = false, true
		}
		return f, err
	}
	d.exclusive = func(context.Context, querier, func() error) error { return store.ErrReadOnly }
	d.swap = func(context.Context, querier, view, *batch) (serverInfo, error) {
		return serverInfo{}, store.ErrReadOnly
	}
	d.add = func(context.Context, querier, view, store.Addition) (store.Record, serverInfo, error) {
		return store.Record{}, serverInfo{}, store.ErrReadOnly
	}
	return New(db, d)
}
