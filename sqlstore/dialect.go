package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// Dialect is what differs between databases. Get one from [SQLite].
type Dialect struct {
	name     string
	begin    string
	schema   []string
	embedded bool // the database belongs to one machine, so that namespaces may be made on first use

	busy    func(error) bool                                // nothing was done since others are at work
	advice  func(error) error                               // an error with what to do about it
	open    func(context.Context, *sql.Conn) (*file, error) // checks a database at its first use
	durable func(context.Context, *sql.Conn) error          // makes sure that a connection's commits are durable
}

// SQLite is the dialect of SQLite files, for any number of processes on one machine. The driver may be any; the connections that
// the store uses are set to synchronous=FULL, and the file to WAL mode. Give the *sql.DB a busy timeout.
//
// The file must be on a local file system, under one name: it is refused on network file systems, where locks and shared memory do not work, and
// with hard links or mounted as a single file, since SQLite keeps the last commits in files beside it (-wal, -shm), which each name has its own of.
// Symbolic links are safe.
//
// While programs use the file, neither it nor the files beside it may be deleted, moved or copied over. Each use looks whether somebody did, and ends
// the lease if so. Programs that open the file afterwards cannot know; so where the file or its -wal was deleted, both the old and the new may make the same IDs
// until the old one's next renewal, about a third of the ttl at most. The lease keeps one connection of the pool open.
func SQLite() Dialect {
	return Dialect{
		name:     "sqlite",
		begin:    "BEGIN IMMEDIATE",
		embedded: true,
		busy:     sqliteBusy,
		advice:   sqliteAdvice,
		open:     sqliteOpen,
		durable:  sqliteDurable,
		schema: []string{
			`CREATE TABLE IF NOT EXISTS snowfence_lease (
				namespace TEXT NOT NULL, node INTEGER NOT NULL, nonce TEXT NOT NULL, revision INTEGER NOT NULL, generation INTEGER NOT NULL,
				run_from INTEGER NOT NULL, until INTEGER NOT NULL, prev_until INTEGER NOT NULL, skip_from INTEGER NOT NULL, skip_until INTEGER NOT NULL,
				holder TEXT NOT NULL, label TEXT NOT NULL, veto TEXT NOT NULL, written_at INTEGER NOT NULL, data TEXT NOT NULL,
				PRIMARY KEY (namespace, node)) WITHOUT ROWID`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_node ON snowfence_lease (namespace, node)`, // narrow, to be counted
			`CREATE INDEX IF NOT EXISTS snowfence_lease_until ON snowfence_lease (namespace, until, node)`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_vacant ON snowfence_lease (namespace, holder, until, node)`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_label ON snowfence_lease (namespace, label, node)`,
		},
	}
}

// version is the one of the schema.
const version = 1

// prepare checks the database and makes the tables if they are not there yet.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	f, err := s.dialect.open(ctx, c)
	if err != nil {
		return err
	}
	if err := s.dialect.durable(ctx, c); err != nil {
		return err
	}
	id, err := meta(ctx, c, "id")
	if err != nil || id == "" {
		if id, err = s.create(ctx, c); err != nil {
			return err
		}
	}
	v, err := meta(ctx, c, "version")
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(v); err != nil || n != version {
		return fmt.Errorf("the tables have version %q, and this program knows version %d: use a newer program", v, version)
	}
	if f != nil {
		id += f.identity()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready { // another goroutine may have been faster: what it saw first counts
		s.ready, s.id, s.file = true, s.dialect.name+":"+id, f
	}
	return nil
}

// create makes the tables, and the random identity of the database, unless another process was faster.
func (s *Store) create(ctx context.Context, c *sql.Conn) (id string, err error) {
	if _, err := c.ExecContext(ctx, s.dialect.begin); err != nil {
		return "", err
	}
	steps := append([]string{"CREATE TABLE IF NOT EXISTS snowfence_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)"}, s.dialect.schema...)
	for _, step := range steps {
		if _, err := c.ExecContext(ctx, step); err != nil {
			return "", errors.Join(fmt.Errorf("making the tables: %w", err), rollback(ctx, c))
		}
	}
	for name, value := range map[string]string{"id": rand.Text(), "version": strconv.Itoa(version)} {
		if _, err := c.ExecContext(ctx, "INSERT INTO snowfence_meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", name, value); err != nil {
			return "", errors.Join(fmt.Errorf("making the tables: %w", err), rollback(ctx, c))
		}
	}
	if id, err = meta(ctx, c, "id"); err != nil {
		return "", errors.Join(err, rollback(ctx, c))
	}
	if _, err := c.ExecContext(ctx, "COMMIT"); err != nil {
		return "", errors.Join(err, rollback(ctx, c))
	}
	return id, nil
}

func meta(ctx context.Context, c *sql.Conn, name string) (value string, err error) {
	err = c.QueryRowContext(ctx, "SELECT value FROM snowfence_meta WHERE name = ?", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func sqliteOpen(ctx context.Context, c *sql.Conn) (*file, error) {
	var seq int
	var name, path string
	if err := c.QueryRowContext(ctx, "PRAGMA database_list").Scan(&seq, &name, &path); err != nil {
		return nil, fmt.Errorf("asking for the file's path: %w", err)
	}
	if path == "" {
		return nil, errors.New("the database is in memory and forgets all grants: give it a file, or use lease.NewMemory")
	}
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	var mode string
	if err := c.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return nil, err
	}
	if mode != "wal" {
		if err := c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
			return nil, fmt.Errorf("turning WAL mode on: %w", err)
		}
	}
	if mode != "wal" {
		return nil, fmt.Errorf("file %s has the journal mode %s and refuses WAL: put it on a local file system that can be written", path, mode)
	}
	return f, nil
}

// sqliteDurable makes commits of the connection wait for the disk. It is asked before each write, since a pool may open a connection at any time.
func sqliteDurable(ctx context.Context, c *sql.Conn) error {
	var level int
	if err := c.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	if level >= 2 {
		return nil
	}
	if _, err := c.ExecContext(ctx, "PRAGMA synchronous = FULL"); err != nil {
		return err
	}
	if err := c.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	if level < 2 {
		return fmt.Errorf("the connection keeps synchronous=%d, with which a power failure forgets grants: open it with synchronous(FULL)", level)
	}
	return nil
}
