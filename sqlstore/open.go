package sqlstore

import (
	"context"
	"database/sql"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Open leases a node from db and returns a generator on it. It makes missing tables,
// and the namespace "default". It makes other namespaces in SQLite only: on a shared
// server, lease.Operator.Create or "snowfence namespace create" makes them once. Closing
// the generator ends the lease. Nil options are good for most; see lease.Generator.
func Open(ctx context.Context, db *sql.DB, d Dialect, o *lease.Options) (*snowfence.Generator, error) {
	st, err := New(db, d)
	if err != nil {
		return nil, err
	}
	var opts lease.Options
	if o != nil {
		opts = *o
	}
	opts.Create = opts.Create || d.embedded
	return lease.Generator(ctx, st, &opts)
}
