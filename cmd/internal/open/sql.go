package open

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
)

const connectTimeout = 5 * time.Second // of one attempt to reach a store

// connections limits the connections to an SQL server.
var connections = number{least: 2, most: 1000, otherwise: 8}

func openMySQL(ctx context.Context, a *address, env func(string) string) (*Store, error) {
	db, most, timeout, err := a.mySQL(env)
	if err != nil {
		return nil, err
	}
	return a.openSQL(ctx, db, sqlstore.MySQL(), most, timeout)
}

// sqlParams reads the parameters of both kinds of servers, and refuses
// unknown ones.
func (a *address) sqlParams(env func(string) string, own ...string) (timeout time.Duration, most int, err error) {
	if timeout, err = a.serverParams(env, append([]string{"connections"}, own...)...); err != nil {
		return 0, 0, err
	}
	most, err = a.numberParam("connections", connections)
	return timeout, most, err
}

func (a *address) openSQL(ctx context.Context, db *sql.DB, d sqlstore.Dialect, most int,
	timeout time.Duration,
) (*Store, error) {
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	db.SetConnMaxIdleTime(5 * time.Minute)
	newStore := sqlstore.New
	if a.looks {
		newStore = sqlstore.NewReadOnly
	}
	st, err := newStore(db, d)
	if err != nil {
		db.Close()
		return nil, a.wrapError(err)
	}
	findings := func(ctx context.Context, _ string) ([]Finding, error) { return st.Report(ctx) }
	return a.newStore(ctx, st, timeout, findings, db.Close)
}

// Connections returns how many connections a store has at most to the SQL
// server of a URL; 0 for stores of other kinds.
func Connections(rawURL string) int {
	sql := []string{"postgres", "postgresql", "mysql", "mariadb"}
	p, err := parse(rawURL)
	if err != nil || p.address == nil || !slices.Contains(sql, p.address.scheme) {
		return 0 // Open says what is wrong
	}
	n, _ := p.address.numberParam("connections", connections)
	return n
}

// newStore asks a store for the first time, so that an unreachable or
// unusable one shows now.
func (a *address) newStore(
	ctx context.Context, st store.Store, timeout time.Duration,
	findings func(ctx context.Context, namespace string) ([]Finding, error), closing func() error,
) (*Store, error) {
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, _, err := st.Get(asking, []store.Key{{Namespace: "default", Node: store.NamespaceNode}}); err != nil {
		if asking.Err() != nil && ctx.Err() == nil && !errors.Is(err, sqlstore.ErrSlow) {
			err = fmt.Errorf("%w (%w)", errNoAnswer, err)
		}
		_ = closing() // the first error is the one to tell
		return nil, a.wrapError(err)
	}
	return &Store{Leases: st, Name: a.name(), secrets: a.secrets, findings: findings, close: closing}, nil
}
