package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease"
)

// Dialect is what differs between databases. Get one from [SQLite], [PostgreSQL] or [MySQL].
type Dialect struct {
	name      string
	versioned string // added to the statement that makes snowfence_meta
	embedded  bool   // the database belongs to one machine, so that namespaces may be made on first use
	schema    []string
	// query for what changes when the tables are made anew; "" where the probe or the file tells
	mark string
	// SELECT of a row by which a server says who it is; see answer; "" where the file tells
	probe string
	hear  func(context.Context, *sql.Conn) (answer, error) // an answer, where it is a question of its own
	// column of a record: 1 where something else than a swap wrote it, such as the reload of a dump
	back string
	// SELECT of the server's time in Unix microseconds; "" where it is this machine's
	now string

	// bind gives a query with '?' the form that the database or its driver wants.
	bind func(query string, args []any) (string, []any)
	// exclusive runs do in a transaction that excludes other processes at the same work.
	exclusive func(ctx context.Context, c *sql.Conn, do func() error) error
	open      func(context.Context, *sql.Conn) (*file, error) // checks a database at its first use
	// make reloads known where this user has the right to run them
	hints   []string
	upgrade []string // brings tables of version 1 to the present one
	// keeps all others from adding rows, to the end of the transaction
	lock func(context.Context, *sql.Conn) error
	// look looks through all rows: were some put back, or are some gone? nil where
	// nothing shows it.
	look func(context.Context, *sql.Conn, *file) (bool, error)
	// mend gives the data another identity, and marks all rows as its own.
	mend func(ctx context.Context, c *sql.Conn, f *file, id string) error
	// swap writes, and leaves data alone that went back behind the view of it.
	swap    func(ctx context.Context, c *sql.Conn, v view, writes []lease.Write, errs []error) (answer, error)
	report  func(context.Context, *sql.Conn) ([]Finding, error)
	busy    func(error) bool  // nothing was done since others are at work
	noTable func(error) bool  // the tables do not exist
	denied  func(error) bool  // the user lacks a right; nil where users have none
	advice  func(error) error // an error with what to do about it

	// rights returns who the user is, and what has to be run before and after the schema
	// so that somebody else can make the tables for it.
	rights func(ctx context.Context, c *sql.Conn) (user string, before, after []string, err error)
}

// version is the one of the schema. A program refuses tables of a later version. One with
// a later version brings the tables from each earlier one to its own, inside
// Dialect.exclusive and with the version written last. Programs of the earlier version
// that run meanwhile have read it already and go on: so what they use must stay, and a
// step may only add columns with defaults, and indexes. Where that does not do, the
// tables get other names, so that they fail instead.
const version = 2

const metaTable = "CREATE TABLE IF NOT EXISTS snowfence_meta" +
	" (name VARCHAR(80) NOT NULL PRIMARY KEY, value VARCHAR(255) NOT NULL)"

// prepare checks the database and makes the tables if they are not there yet.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	f, err := s.dialect.open(ctx, c)
	if err != nil {
		return err
	}
	if err := s.upgrade(ctx, c); err != nil {
		return err
	}
	if err := s.identify(ctx, c, f); err != nil {
		return s.allowed(ctx, c, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready { // another goroutine may have been faster: what it saw first counts
		s.ready, s.file = true, f
	}
	return nil
}

// upgrade makes the tables, or brings those of an earlier version to the present one.
func (s *Store) upgrade(ctx context.Context, c *sql.Conn) error {
	found, err := s.version(ctx, c)
	if err != nil || found == version {
		return s.allowed(ctx, c, err)
	}
	if found == 0 {
		made, err := s.made(ctx, c)
		if err == nil {
			err = s.dialect.exclusive(ctx, c, func() error { return s.create(ctx, c, made) })
		}
		if err != nil {
			return s.allowed(ctx, c, fmt.Errorf("making the tables: %w", err))
		}
		return nil
	}
	err = s.dialect.exclusive(ctx, c, func() error {
		found, err := s.version(ctx, c)
		if err != nil || found == version { // another program was faster
			return err
		}
		for _, step := range s.dialect.upgrade {
			if _, err := c.ExecContext(ctx, step); err != nil {
				return err
			}
		}
		s.hint(ctx, c)
		return s.exec(ctx, c, upgraded)
	})
	if err == nil || s.dialect.busy(err) {
		return err
	}
	steps := strings.Join(append(slices.Clone(s.dialect.upgrade), upgraded), "; ")
	return fmt.Errorf("the tables are of version %d, and this program needs version %d: end the programs of "+
		"before, and have the owner of the tables run: %s; (%w)", found, version, steps, err)
}

var upgraded = "UPDATE snowfence_meta SET value = '" + strconv.Itoa(version) + "' WHERE name = 'version'"

// version returns the version of the tables, and 0 where there are none.
func (s *Store) version(ctx context.Context, c *sql.Conn) (int, error) {
	id, err := s.meta(ctx, c, "id")
	if err != nil && !s.dialect.noTable(err) {
		return 0, err
	}
	if id == "" {
		return 0, nil
	}
	v, err := s.meta(ctx, c, "version")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > version {
		return 0, fmt.Errorf("the tables have version %q, and this program knows version %d: use a newer program",
			v, version)
	}
	return n, nil
}

// create makes the tables unless they were made, perhaps by somebody else because this
// user may not, and the random identity of the database.
func (s *Store) create(ctx context.Context, c *sql.Conn, made bool) error {
	for _, step := range slices.Concat([]string{metaTable + s.dialect.versioned}, s.dialect.schema) {
		if made {
			break
		}
		if _, err := c.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	for _, row := range [][2]string{{"version", strconv.Itoa(version)}, {"id", rand.Text()}} {
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

// identify gives the data another random identity where rows were put back or are gone,
// or where the tables are others than those it was made for: then what was granted since
// is forgotten.
func (s *Store) identify(ctx context.Context, c *sql.Conn, f *file) error {
	if s.dialect.look != nil {
		back, err := s.dialect.look(ctx, c, f)
		if err == nil && back {
			err = s.mend(ctx, c, f, "")
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
		s.hint(ctx, c)
		return s.exec(ctx, c, "UPDATE snowfence_meta SET value = ? WHERE name = ? AND value = ?",
			rand.Text()+"@"+mark, "id", id)
	})
	if err != nil {
		return fmt.Errorf("marking the tables, which are not the ones of %s: %w", id, err)
	}
	return nil
}

// hint runs what can be done without; Report says whether it was.
func (s *Store) hint(ctx context.Context, c *sql.Conn) {
	for _, step := range s.dialect.hints {
		_, _ = c.ExecContext(ctx, step) // it is there already, or this user lacks the right
	}
}

// mend gives the data another identity if rows were put back or are gone, or if it still
// has the identity suspect, and marks all rows as those that it has now. All of it is one
// transaction, so that everybody hears of it, and hears of it once.
func (s *Store) mend(ctx context.Context, c *sql.Conn, f *file, suspect string) error {
	err := s.dialect.exclusive(ctx, c, func() error {
		if err := s.dialect.lock(ctx, c); err != nil {
			return err
		}
		id, err := s.meta(ctx, c, "id")
		if err != nil {
			return err
		}
		back, err := s.dialect.look(ctx, c, f)
		if err != nil || !back && (suspect == "" || id != suspect) {
			return err // somebody else has seen to it
		}
		return s.dialect.mend(ctx, c, f, rand.Text())
	})
	if err != nil && !s.dialect.busy(err) {
		err = fmt.Errorf("giving the data, which was put back, another identity: %w", err)
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
