package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// Dialect is a kind of database: [SQLite], [PostgreSQL] or [MySQL].
type Dialect struct {
	name      string
	embedded  bool     // one machine's, so the first use may make namespaces
	schema    []string // makes the tables
	versioned string   // added to the statement that makes snowfence_meta
	optional  []string // makes reloads visible, where the user has the right
	mark      string   // query for what changes with new tables, if nothing else tells
	probe     string   // SELECT of a serverInfo, if the database is not a file
	reloaded  string   // column: 1 where something other than a swap wrote the record
	now       string   // SELECT of the server's microseconds; "" means this machine's

	// bind writes a query with '?' as the driver wants it.
	bind func(query string, args []any) (string, []any)

	// exclusive runs do in a transaction that excludes others at the same work.
	exclusive func(ctx context.Context, c *sql.Conn, do func() error) error

	// open checks a database at its first use.
	open func(context.Context, *sql.Conn) (*file, error)

	// askServer reads the serverInfo where that is a question of its own.
	askServer func(context.Context, querier) (serverInfo, error)

	// lock keeps others from adding rows until the transaction ends.
	lock func(context.Context, *sql.Conn) error

	// findReload looks for rows that were put back or are gone; nil where nothing shows it.
	findReload func(context.Context, *sql.Conn, *file) (bool, error)

	// newIdentity gives the data another identity and marks all rows as its own.
	newIdentity func(ctx context.Context, c querier, f *file, id string) error

	// swap writes, but not to data that is older than the view of it.
	swap   func(ctx context.Context, c *sql.Conn, v view, writes []store.Write, errs []error) (serverInfo, error)
	report func(context.Context, *sql.Conn) ([]Finding, error)

	// add carries out an addition. The record has no nonce if the statement met no row.
	add func(ctx context.Context, c querier, v view, a store.Addition) (store.Record, serverInfo, error)

	busy    func(error) bool  // nothing was done because others are at work
	noTable func(error) bool  // the tables do not exist
	denied  func(error) bool  // the user lacks a right; nil where users have none
	advice  func(error) error // an error with what to do about it

	tx txDialect

	// rights returns the user, and what somebody else must run around the schema to make
	// the tables for it.
	rights func(ctx context.Context, c *sql.Conn) (user string, before, after []string, err error)
}

// txDialect is what is done in a transaction of the caller.
type txDialect struct {
	share string // after a SELECT: it locks the rows against changes; "" where nobody else writes

	// open looks at a file; nil where a statement that writes tells all.
	open func(context.Context, querier) (*file, serverInfo, error)

	// add carries out an addition, as Dialect.add does. What the record does not have is as it was.
	add func(ctx context.Context, c querier, v view, a store.Addition) (store.Record, serverInfo, error)

	// swap carries out one write.
	swap func(ctx context.Context, c querier, v view, writes []store.Write, errs []error) (serverInfo, error)

	// stamp makes a record that was written in a savepoint look like every other, or reports false;
	// nil where there is nothing to it.
	stamp func(ctx context.Context, c querier, r store.Record) (bool, error)
}

// version is that of the schema. A program refuses tables of another one.
const version = "3"

const metaTable = "CREATE TABLE IF NOT EXISTS snowfence_meta" +
	" (name VARCHAR(80) NOT NULL PRIMARY KEY, value VARCHAR(255) NOT NULL)"

// prepare checks the database and makes missing tables.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	f, err := s.dialect.open(ctx, c)
	if err != nil {
		return err
	}
	if err := s.makeTables(ctx, c); err != nil {
		return s.explainDenied(ctx, c, err)
	}
	if err := s.identify(ctx, c, f); err != nil {
		return s.explainDenied(ctx, c, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready { // another goroutine may have been faster: what it saw first counts
		s.ready, s.file = true, f
	}
	return nil
}

// makeTables makes the tables where there are none.
func (s *Store) makeTables(ctx context.Context, c *sql.Conn) error {
	id, err := s.meta(ctx, c, "id")
	switch {
	case err != nil && !s.dialect.noTable(err):
		return err
	case id != "":
		found, err := s.meta(ctx, c, "version")
		if err == nil && found != version {
			err = fmt.Errorf("the tables have version %q, and this program needs version %s: use the program that "+
				"made them, or another database", found, version)
		}
		return err
	}
	tablesExist, err := s.tablesExist(ctx, c)
	if err == nil {
		err = s.dialect.exclusive(ctx, c, func() error { return s.create(ctx, c, tablesExist) })
	}
	if err != nil {
		return fmt.Errorf("making the tables: %w", noTables(err))
	}
	return nil
}

// create makes the tables, unless an administrator did, and the database's random identity.
func (s *Store) create(ctx context.Context, c *sql.Conn, tablesExist bool) error {
	for _, step := range slices.Concat([]string{metaTable + s.dialect.versioned}, s.dialect.schema) {
		if tablesExist {
			break
		}
		if _, err := c.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	for _, row := range [][2]string{{"version", version}, {"id", rand.Text()}} {
		old, err := s.meta(ctx, c, row[0])
		if err != nil {
			return err
		}
		if old == "" {
			err := s.exec(ctx, c, "INSERT INTO snowfence_meta (name, value) VALUES (?, ?)", row[0], row[1])
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// identify gives the data another identity where rows were put back or are gone, or the
// tables are others than before: then grants were forgotten.
func (s *Store) identify(ctx context.Context, c *sql.Conn, f *file) error {
	if s.dialect.findReload != nil {
		reloaded, err := s.dialect.findReload(ctx, c, f)
		if err == nil && reloaded {
			err = s.newIdentity(ctx, c, f, "")
		}
		if err != nil {
			return err
		}
	}
	if s.dialect.mark == "" {
		return nil
	}
	id, err := s.meta(ctx, c, "id")
	if err != nil {
		return err
	}
	var mark string
	if err := c.QueryRowContext(ctx, s.dialect.mark).Scan(&mark); err != nil {
		return fmt.Errorf("looking at the tables: %w", err)
	}
	if _, of, marked := strings.Cut(id, "@"); marked && of == mark {
		return nil
	}
	err = s.dialect.exclusive(ctx, c, func() error {
		s.runOptional(ctx, c)
		return s.exec(ctx, c, "UPDATE snowfence_meta SET value = ? WHERE name = ? AND value = ?",
			rand.Text()+"@"+mark, "id", id)
	})
	if err != nil {
		return fmt.Errorf("marking the tables, which are not the ones of %s: %w", id, err)
	}
	return nil
}

// runOptional runs what may fail; Report says whether it worked.
func (s *Store) runOptional(ctx context.Context, c *sql.Conn) {
	for _, step := range s.dialect.optional {
		_, _ = c.ExecContext(ctx, step) // it is there already, or this user lacks the right
	}
}

// newIdentity gives the data another identity if rows were put back or are gone, or if it
// still has the suspect one. It is one transaction, so everybody notices once.
func (s *Store) newIdentity(ctx context.Context, c *sql.Conn, f *file, suspect string) error {
	err := s.dialect.exclusive(ctx, c, func() error {
		if err := s.dialect.lock(ctx, c); err != nil {
			return err
		}
		id, err := s.meta(ctx, c, "id")
		if err != nil {
			return err
		}
		reloaded, err := s.dialect.findReload(ctx, c, f)
		if err != nil || !reloaded && (suspect == "" || id != suspect) {
			return err // somebody else has seen to it
		}
		return s.dialect.newIdentity(ctx, c, f, rand.Text())
	})
	if err != nil && !s.dialect.busy(err) {
		err = fmt.Errorf("giving restored data another identity: %w", err)
	}
	return err
}

func (s *Store) meta(ctx context.Context, c *sql.Conn, name string) (value string, err error) {
	query, args := s.dialect.bind("SELECT value FROM snowfence_meta WHERE name = ?", []any{name})
	err = c.QueryRowContext(ctx, query, args...).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func (s *Store) exec(ctx context.Context, c *sql.Conn, query string, args ...any) error {
	query, args = s.dialect.bind(query, args)
	_, err := c.ExecContext(ctx, query, args...)
	return err
}
