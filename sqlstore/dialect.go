package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Dialect is a kind of database: [SQLite], [PostgreSQL] or [MySQL].
type Dialect struct {
	name         string
	embedded     bool     // one machine's, so the first use may make namespaces
	schema       []string // makes the tables
	optional     []string // makes reloads visible, where the user has the right
	probe        string   // SELECT of a serverInfo
	reloadColumn string   // column: 1 where something other than a swap wrote the record
	share        string   // after a SELECT: locks the rows against changes; "" where no other process writes
	settings     []string // SELECTs of what the store depends on, by name
	errors       errorTexts
	sources      sources // of the identity, where a server may close some

	// changeColumn selects whether rows were put back or are gone, the
	// identity, and the position; "" where nothing shows it.
	changeColumn string

	// lock keeps others from adding rows until the transaction ends. The
	// statements of renewed then give the data the identity ?, and mark all
	// rows as its own.
	lock     string
	renewals []string

	// bind writes a query with '?' as the driver wants it.
	bind func(query string, args []any) (string, []any)

	// exclusive runs do in a transaction that excludes others at the same
	// work.
	exclusive func(ctx context.Context, c querier, do func() error) error

	// open checks a database at its first use.
	open func(context.Context, *sql.Conn) (*file, error)

	// openTx looks at a file in a caller's transaction; nil where
	// statements that write tell all.
	openTx func(context.Context, querier) (*file, serverInfo, error)

	// swap writes, but not to data that is older than the view of it.
	swap func(ctx context.Context, c querier, v view, b *batch) (serverInfo, error)

	// add carries out an addition. The record has no nonce if the statement
	// met no row.
	add func(ctx context.Context, c querier, v view, a store.Addition) (store.Record, serverInfo, error)

	// stamp makes a record that was written in a savepoint look like every
	// other: it looks like one that was put back. It is nil where there is
	// nothing to it.
	stamp func(ctx context.Context, c querier, r store.Record) error

	// judge returns the fault of a setting, given all settings.
	judge func(name, value string, all map[string]string) string

	// rights selects the user, and an administrator's statements before and
	// after the schema, which make the tables for that user. It is "" where
	// users have no rights.
	rights string
}

// check refuses the zero value.
func (d Dialect) check() error {
	if d.name == "" {
		return fmt.Errorf("sqlstore: the Dialect is empty: use SQLite(), PostgreSQL() or MySQL() (%w)",
			lease.ErrInvalid)
	}
	return nil
}

// version is the version of the schema. A program refuses tables of another
// one.
const version = "3"

const metaTable = "CREATE TABLE IF NOT EXISTS snowfence_meta" +
	" (name VARCHAR(80) NOT NULL PRIMARY KEY, value VARCHAR(255) NOT NULL)"

// prepareTables checks the database and makes missing tables, unless that
// was done.
func (s *Store) prepareTables(ctx context.Context, c *sql.Conn) error {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if ready {
		return nil
	}
	f, err := s.dialect.open(ctx, c)
	if err != nil {
		return err
	}
	if err = s.makeTables(ctx, c); err == nil {
		err = s.newIdentity(ctx, c, f, "")
	}
	if err != nil {
		return s.explainDenied(ctx, c, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready { // another goroutine may have been faster: what it saw first counts
		s.ready, s.file = true, f
	}
	return nil
}

// unless returns the check of a server, by a SELECT of why it must not be
// used; "" if it may.
func unless(unfit string) func(context.Context, *sql.Conn) (*file, error) {
	return func(ctx context.Context, c *sql.Conn) (*file, error) {
		var version, refusal string
		if err := c.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
			return nil, err
		}
		for _, o := range lookalikes {
			if strings.Contains(version, o.mark) {
				return nil, fmt.Errorf("the server is %s, which does not show that it was restored: use PostgreSQL, "+
					"MySQL, MariaDB or etcd", o.name)
			}
		}
		err := c.QueryRowContext(ctx, unfit).Scan(&refusal)
		if err == nil && refusal != "" {
			err = errors.New(refusal)
		}
		return nil, err
	}
}

// lookalikes speak the protocol of a dialect, and have a mark in their
// version. They lack what shows a restore: xmin, the position of a log, or
// triggers.
var lookalikes = []struct{ mark, name string }{
	{"CockroachDB", "CockroachDB"}, {"-YB-", "YugabyteDB"}, {"TiDB", "TiDB"},
}

// makeTables makes the tables where there are none, unless an administrator
// did, and the database's random identity, unless another program was
// faster. The table that is asked for comes last.
func (s *Store) makeTables(ctx context.Context, c *sql.Conn) error {
	id, err := s.readMeta(ctx, c, "id")
	missing := s.dialect.errors.hasCode(err, s.dialect.errors.noTable)
	switch {
	case err != nil && !missing:
		return err
	case id != "":
		found, err := s.readMeta(ctx, c, "version")
		if err == nil && found != version {
			err = fmt.Errorf("the tables have version %q, and this program needs version %s: use the program that "+
				"made them, or another database", found, version)
		}
		return err
	}
	err = s.dialect.exclusive(ctx, c, func() error {
		for _, step := range s.dialect.schema {
			if !missing {
				break
			}
			if _, err := c.ExecContext(ctx, step); err != nil {
				return err
			}
		}
		if id, err := s.readMeta(ctx, c, "id"); err != nil || id != "" {
			return err
		}
		for _, step := range s.dialect.optional {
			_, _ = c.ExecContext(ctx, step) // Report says whether it is there
		}
		query, args := s.dialect.bind("INSERT INTO snowfence_meta (name, value) VALUES ('version', ?), ('id', ?)",
			[]any{version, rand.Text()})
		_, err := c.ExecContext(ctx, query, args...)
		return err
	})
	switch {
	case errors.Is(err, store.ErrReadOnly):
		return fmt.Errorf("making the tables: %w: %w", ErrNoTables, err)
	case err != nil:
		return fmt.Errorf("making the tables: %w", err)
	}
	return nil
}

func (s *Store) readMeta(ctx context.Context, c *sql.Conn, name string) (value string, err error) {
	query, args := s.dialect.bind("SELECT value FROM snowfence_meta WHERE name = ?", []any{name})
	err = c.QueryRowContext(ctx, query, args...).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// explainDenied adds to a missing right the statements by which an
// administrator makes the tables for the user. Other errors stay as they
// are.
func (s *Store) explainDenied(ctx context.Context, c *sql.Conn, err error) error {
	if !s.dialect.errors.hasCode(err, s.dialect.errors.noRight) || strings.Contains(err.Error(), "for function") {
		return err
	}
	var user, before, after string
	if c.QueryRowContext(ctx, s.dialect.rights).Scan(&user, &before, &after) != nil {
		return err
	}
	var b strings.Builder
	for _, step := range slices.Concat([]string{before}, s.dialect.schema, s.dialect.optional, []string{after}) {
		b.WriteString(strings.Join(strings.Fields(step), " ") + ";\n") // one line each
	}
	return fmt.Errorf("the user %s may not make the tables, or use them (%v): let an administrator run these "+
		"statements, and start again:\n%s", user, err, b.String())
}
