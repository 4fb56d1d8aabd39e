package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease"
)

// Dialect is what differs between databases. Get one from [SQLite], [PostgreSQL] or [MySQL].
type Dialect struct {
	name     string
	embedded bool // the database belongs to one machine, so that namespaces may be made on first use
	schema   []string
	mark     string // query for what changes when the tables are made anew, such as by restoring a dump; "" where the file tells
	probe    string // SELECT of a row by which a server says who it is; see answer; "" where the file tells
	now      string // SELECT of the server's time in Unix microseconds; "" where it is this machine's

	// bind gives a query with '?' the form that the database or its driver wants.
	bind func(query string, args []any) (string, []any)
	// exclusive runs do in a transaction that excludes other processes at the same work.
	exclusive func(ctx context.Context, c *sql.Conn, do func() error) error
	open      func(context.Context, *sql.Conn) (*file, error) // checks a database at its first use
	swap      func(context.Context, *sql.Conn, []lease.Write, []error) (answer, error)
	report    func(context.Context, *sql.Conn) ([]Finding, error)
	busy      func(error) bool  // nothing was done since others are at work
	noTable   func(error) bool  // the tables do not exist
	advice    func(error) error // an error with what to do about it
}

// version is the one of the schema. A program refuses tables of a later version. One with a later version brings the tables from each earlier one to its own, inside
// Dialect.exclusive and with the version written last. Programs of the earlier version that run meanwhile have read it already and go on: so what they use must stay, and
// a step may only add columns with defaults, and indexes. Where that does not do, the tables get other names, so that they fail instead.
const version = 1

const metaTable = "CREATE TABLE IF NOT EXISTS snowfence_meta (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(255) NOT NULL)"

// prepare checks the database and makes the tables if they are not there yet.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	f, err := s.dialect.open(ctx, c)
	if err != nil {
		return err
	}
	id, err := s.meta(ctx, c, "id")
	if err != nil && !s.dialect.noTable(err) {
		return err
	}
	if id == "" {
		if err := s.dialect.exclusive(ctx, c, func() error { return s.create(ctx, c) }); err != nil {
			return fmt.Errorf("making the tables: %w", err)
		}
	}
	v, err := s.meta(ctx, c, "version")
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(v); err != nil || n != version {
		return fmt.Errorf("the tables have version %q, and this program knows version %d: use a newer program", v, version)
	}
	if id, err = s.identify(ctx, c); err != nil {
		return err
	}
	if f != nil {
		id += f.identity()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready { // another goroutine may have been faster: what it saw first counts
		s.ready, s.file = true, f
		if f != nil {
			s.id = s.dialect.name + ":" + id
		}
	}
	return nil
}

// create makes the tables, and the random identity of the database, as far as they are not there.
func (s *Store) create(ctx context.Context, c *sql.Conn) error {
	for _, step := range append([]string{metaTable}, s.dialect.schema...) {
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
			if err := s.exec(ctx, c, "INSERT INTO snowfence_meta (name, value) VALUES (?, ?)", row[0], row[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// identify returns the random identity of the tables. It is new where these are others than those it was made for: then a dump was restored or copied,
// and what was granted since is forgotten.
func (s *Store) identify(ctx context.Context, c *sql.Conn) (string, error) {
	id, err := s.meta(ctx, c, "id")
	if err != nil || s.dialect.mark == "" {
		return id, err
	}
	var mark string
	if err := c.QueryRowContext(ctx, s.dialect.mark).Scan(&mark); err != nil {
		return "", fmt.Errorf("looking at the tables: %w", err)
	}
	if _, of, marked := strings.Cut(id, "@"); marked && of == mark {
		return id, nil
	}
	err = s.dialect.exclusive(ctx, c, func() error {
		return s.exec(ctx, c, "UPDATE snowfence_meta SET value = ? WHERE name = ? AND value = ?", rand.Text()+"@"+mark, "id", id)
	})
	if err != nil {
		return "", fmt.Errorf("marking the tables, which are not the ones of %s: %w", id, err)
	}
	return s.meta(ctx, c, "id")
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
