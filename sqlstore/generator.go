package sqlstore

import (
	"context"
	"database/sql"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Generator leases a node from db and returns a generator on it, with nothing to
// configure. It makes the tables where they are missing, and the namespace "default".
// Namespaces of other names it makes in SQLite only; on a server, which programs share,
// lease.CreateNamespace or "snowfence namespace create" makes them, once. Closing the
// generator ends the lease. See lease.OpenGenerator for the rest.
func Generator(ctx context.Context, db *sql.DB, d Dialect, o *lease.GeneratorOptions) (*snowfence.Generator, error) {
	st, err := New(db, d)
	if err != nil {
		return nil, err
	}
	var opts lease.GeneratorOptions
	if o != nil {
		opts = *o
	}
	opts.Create = opts.Create || d.embedded
	return lease.OpenGenerator(ctx, st, &opts)
}
