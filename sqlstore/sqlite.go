package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence/lease"
)

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
		embedded: true,
		schema: []string{
			`CREATE TABLE IF NOT EXISTS snowfence_lease (
				namespace TEXT NOT NULL, node INTEGER NOT NULL, nonce TEXT NOT NULL, revision INTEGER NOT NULL, generation INTEGER NOT NULL,
				run_from INTEGER NOT NULL, until INTEGER NOT NULL, prev_until INTEGER NOT NULL, skip_from INTEGER NOT NULL, skip_until INTEGER NOT NULL,
				holder TEXT NOT NULL, label TEXT NOT NULL, veto TEXT NOT NULL, written_at INTEGER NOT NULL, data TEXT NOT NULL,
				PRIMARY KEY (namespace, node)) WITHOUT ROWID`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_node ON snowfence_lease (namespace, node)`, // narrow, to be counted
			`CREATE INDEX IF NOT EXISTS snowfence_lease_until ON snowfence_lease (namespace, until, node)`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_vacant ON snowfence_lease (namespace, until, node) WHERE holder = ''`,
			`CREATE INDEX IF NOT EXISTS snowfence_lease_label ON snowfence_lease (namespace, label, node)`,
		},
		back:      "0",
		bind:      func(query string, args []any) (string, []any) { return query, args },
		exclusive: sqliteExclusive,
		open:      sqliteOpen,
		swap:      sqliteSwap,
		report:    sqliteReport,
		busy:      sqliteBusy,
		noTable:   func(err error) bool { return strings.Contains(err.Error(), "no such table") },
		advice:    sqliteAdvice,
	}
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
	var looks bool // nothing is ever written by these connections, and one with immutable=1 knows of no journal
	if err := c.QueryRowContext(ctx, "PRAGMA query_only").Scan(&looks); err != nil || looks {
		return f, err
	}
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

func sqliteExclusive(ctx context.Context, c *sql.Conn, do func() error) error {
	if err := sqliteDurable(ctx, c); err != nil {
		return err
	}
	return transaction(ctx, c, "BEGIN IMMEDIATE", do)
}

const sqliteInsert = insertSQL + " ON CONFLICT DO NOTHING"

func sqliteSwap(ctx context.Context, c *sql.Conn, writes []lease.Write, errs []error) (answer, error) {
	if err := sqliteDurable(ctx, c); err != nil {
		return answer{}, err
	}
	if len(writes) == 1 { // a statement is a transaction of its own
		var err error
		errs[0], err = sqliteSwapOne(ctx, c.ExecContext, writes[0])
		return answer{}, err
	}
	return answer{}, transaction(ctx, c, "BEGIN IMMEDIATE", func() error {
		update, err := c.PrepareContext(ctx, updateSQL)
		if err != nil {
			return err
		}
		defer update.Close()
		for i, w := range writes {
			do := c.ExecContext
			if w.Old != "" {
				do = func(ctx context.Context, _ string, args ...any) (sql.Result, error) {
					return update.ExecContext(ctx, args...)
				}
			}
			if errs[i], err = sqliteSwapOne(ctx, do, w); err != nil {
				return err
			}
		}
		return nil
	})
}

// sqliteSwapOne returns what became of a write, or the error of the database.
func sqliteSwapOne(ctx context.Context, do func(context.Context, string, ...any) (sql.Result, error), w lease.Write) (result, err error) {
	query, args := sqliteInsert, values(w)
	if w.Old != "" {
		query, args = updateSQL, append(args, w.Old)
	}
	res, err := do(ctx, query, args...)
	return outcome(res, err)
}

func sqliteReport(ctx context.Context, c *sql.Conn) ([]Finding, error) {
	var found []Finding
	for _, name := range []string{"journal_mode", "synchronous", "busy_timeout"} {
		var value string
		if err := c.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err != nil {
			return nil, err
		}
		f := Finding{Name: name, Value: value}
		if name == "busy_timeout" && value == "0" {
			f.Advice = "connections do not wait for each other, and ask again instead: open the file with busy_timeout(10000)"
		}
		found = append(found, f)
	}
	return found, nil
}
