package sqlstore

import (
	"context"
	"database/sql"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Generator leases a node from db and returns a generator on it, with nothing to configure: namespace "default", the layout
// snowfence.Default. Closing the generator ends the lease. For anything else use [New] with lease.Open.
func Generator(ctx context.Context, db *sql.DB, d Dialect) (*snowfence.Generator, error) {
	st, err := New(db, d)
	if err != nil {
		return nil, err
	}
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		return nil, err
	}
	return lease.Generator(ctx, st, "default", s, &lease.Options{Create: d.embedded}, snowfence.Config{})
}
