package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/lease/store"
)

// ErrNoTables is the error of a store of [NewReadOnly] in a database without the tables.
var ErrNoTables = errors.New("the database has no tables of Snowfence")

// NewReadOnly returns a store that changes nothing, for tools that look at the store of others. It
// needs the right to read, and no other. Where another store would write, also because it read
// that the data was restored, it returns a [store.ErrReadOnly].
func NewReadOnly(db *sql.DB, d Dialect) (*Store, error) {
	open := d.open
	d.open = func(ctx context.Context, c *sql.Conn) (*file, error) {
		f, err := open(ctx, c)
		if f != nil {
			// Also beside connections that cannot write: the witness tells of a restored file.
			f.witness = &witness{path: f.path + "-witness", like: f.info, looks: true}
		}
		return f, err
	}
	d.exclusive = func(context.Context, *sql.Conn, func() error) error { return store.ErrReadOnly }
	d.swap = func(context.Context, *sql.Conn, view, []store.Write, []error) (serverInfo, error) {
		return serverInfo{}, store.ErrReadOnly
	}
	d.add = func(context.Context, querier, view, store.Addition) (store.Record, serverInfo, error) {
		return store.Record{}, serverInfo{}, store.ErrReadOnly
	}
	return New(db, d)
}

// noTables marks the error of tables that a store of [NewReadOnly] does not make.
func noTables(err error) error {
	if !errors.Is(err, store.ErrReadOnly) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNoTables, err)
}
