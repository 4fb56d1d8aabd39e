package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// Generator leases a node from db and returns a generator on it, with nothing to configure: namespace "default", the layout
// snowfence.Default. In SQLite the namespace is made on first use; on a server, which programs share, it must be there already (lease.CreateNamespace), or else the error
// is a lease.ErrNoNamespace. Closing the generator ends the lease. For anything else use [New] with lease.Open.
func Generator(ctx context.Context, db *sql.DB, d Dialect) (*snowfence.Generator, error) {
	st, err := New(db, d)
	if err != nil {
		return nil, err
	}
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		return nil, err
	}
	g, err := lease.Generator(ctx, st, "default", s, &lease.Options{Create: d.embedded}, snowfence.Config{})
	if errors.Is(err, lease.ErrNoNamespace) {
		err = fmt.Errorf("sqlstore: %w (once for all programs: lease.CreateNamespace, or: snowfence namespace create default)", err)
	}
	return g, err
}
