package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// SQLite is the dialect of SQLite files, for any number of processes on one
// machine. Any driver works. The store sets the file to WAL mode, and
// connections that it writes with to synchronous=FULL and fullfsync, which
// macOS needs: so set both for a [SequenceTx]. Open all others to the file,
// in any program, with NORMAL or more: one with OFF may empty the log
// without a sync, and a power failure then loses grants. Give the *sql.DB a
// busy timeout.
//
// The file must be on a local file system, because locks and shared memory
// do not work on network ones. It must have one name: hard links and
// single-file mounts are refused, because SQLite keeps the last commits in
// files beside each name (-wal, -shm). Symbolic links are safe.
//
// While programs use the file, do not delete, move or overwrite it or the
// files beside it. Each use checks for that, and the lease ends. A program
// that opens the new file cannot know of the old one: if the file or its
// -wal was deleted, both programs may make the same IDs until the old one
// renews, after at most a third of the ttl. The lease keeps one connection
// open.
//
// The store notices older data that is put back: by .restore, by a dump of
// one table or both, or by copying a file over the database. A file beside
// the database, the witness (-witness), says how many swaps the database
// has seen. A database that has seen fewer, or has lost rows, gets another
// identity, and grants start above all earlier ones. If only the rows of
// one namespace or node are put back, a program notices it when it opens
// the file. The store writes each swap to the witness without a sync, at
// the latest in the read between a renewal and its use. A database without
// its witness may be an old copy, so its grants also start above all
// earlier ones, once. Nothing is written into a rolled back file.
//
// The store cannot notice three things: a file that is put back together
// with its witness (by cp, tar or a snapshot), a namespace that a restored
// dump lacks and that is created again, and the loss of numbers that
// [SequenceTx] took since a Store last used the file. Then confirm the
// sequences, and wait for the longest ttl and twice the largest skew of the
// namespace (45 s unless set) before the first program starts.
func SQLite() Dialect {
	return Dialect{
		name:     "sqlite",
		embedded: true,
		schema: []string{
			`CREATE TABLE IF NOT EXISTS snowfence_lease (
				namespace TEXT NOT NULL, node INTEGER NOT NULL, nonce TEXT NOT NULL, revision INTEGER NOT NULL, generation INTEGER NOT NULL,
				run_from INTEGER NOT NULL, until INTEGER NOT NULL, prev_until INTEGER NOT NULL,
				holder TEXT NOT NULL, label TEXT NOT NULL, veto TEXT NOT NULL, written_at INTEGER NOT NULL, data TEXT NOT NULL,
				seq INTEGER NOT NULL, swaps INTEGER NOT NULL, PRIMARY KEY (namespace, node)) WITHOUT ROWID`,
			"CREATE INDEX IF NOT EXISTS snowfence_lease_seq ON snowfence_lease (seq)",
			metaTable,
		},
		probe:        sqliteProbe,
		reloadColumn: "0",
		changeColumn: "SELECT " + sqliteDistance + " IS NOT (SELECT CAST(value AS INTEGER) FROM snowfence_meta" +
			" WHERE name = 'distance'), " + sqliteID + ", " + sqliteCount,
		renewals: []string{
			"INSERT INTO snowfence_meta (name, value) SELECT 'namespace ' || namespace, ''" +
				" FROM snowfence_lease WHERE " + heads + " ON CONFLICT DO NOTHING",
			"INSERT INTO snowfence_meta (name, value) SELECT 'distance', " + sqliteDistance +
				" WHERE true ON CONFLICT DO UPDATE SET value = excluded.value",
			"UPDATE snowfence_meta SET value = ? WHERE name = 'id'",
		},
		settings: []string{"SELECT 'journal_mode', journal_mode FROM pragma_journal_mode" +
			" UNION ALL SELECT 'synchronous', synchronous FROM pragma_synchronous" +
			" UNION ALL SELECT 'busy_timeout', timeout FROM pragma_busy_timeout"},
		errors:    sqliteErrors,
		bind:      func(query string, args []any) (string, []any) { return query, args },
		exclusive: sqliteExclusive,
		open:      sqliteOpen,
		openTx:    sqliteOpenTx,
		swap:      sqliteSwap,
		add:       addSQLite,
		judge: func(name, value string, _ map[string]string) string {
			switch name + value {
			case "busy_timeout0":
				return "connections do not wait for each other, and ask again instead: open the file with " +
					"busy_timeout(10000)"
			case "synchronous0":
				return "a power failure can undo grants, because connections do not wait for the disk: open the file " +
					"with synchronous(FULL)"
			}
			return ""
		},
	}
}

// sqliteFile finds and judges the file, and changes nothing.
func sqliteFile(ctx context.Context, c *sql.Conn) (*file, error) {
	var seq int
	var name, path string
	if err := c.QueryRowContext(ctx, "PRAGMA database_list").Scan(&seq, &name, &path); err != nil {
		return nil, fmt.Errorf("asking for the file's path: %w", err)
	}
	if path == "" {
		return nil, errors.New("the database is in memory and forgets all grants: give it a file, or use " +
			"store.NewMemory")
	}
	return openFile(path)
}

func sqliteOpen(ctx context.Context, c *sql.Conn) (*file, error) {
	f, err := sqliteFile(ctx, c)
	if err != nil {
		return nil, err
	}
	var mode string
	// Connections that never write, with immutable=1, know no journal.
	if err := c.QueryRowContext(ctx, "PRAGMA query_only").Scan(&f.blind); err != nil || f.blind {
		return f, err
	}
	if err := c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return nil, fmt.Errorf("turning WAL mode on: %w", err)
	}
	if mode != "wal" {
		return nil, fmt.Errorf("file %s has the journal mode %s and refuses WAL: put it on a local file system "+
			"that can be written", f.path, mode)
	}
	return f, nil
}

// sqliteOpenTx looks at the file of a transaction. Whether it may be used
// at all was seen by the store that made the sequence.
func sqliteOpenTx(ctx context.Context, c querier) (f *file, info serverInfo, err error) {
	var level int
	var path string
	const ask = "SELECT " + sqliteID + ", " + sqliteCount + ", (SELECT synchronous FROM pragma_synchronous)," +
		" (SELECT file FROM pragma_database_list WHERE seq = 0)"
	if err := c.QueryRowContext(ctx, ask).Scan(&info.dataID, &info.position, &level, &path); err != nil {
		return nil, info, err
	}
	if level < 2 { // it cannot be changed inside a transaction
		return nil, info, notDurable(level)
	}
	stat, err := os.Stat(path)
	if err != nil {
		return nil, info, fmt.Errorf("looking at the file of the database: %w", err)
	}
	f = newFile(path, stat)
	floor, _, err := f.highestNote(info.dataID)
	info.reloaded = info.position < floor
	return f, info, err
}

func notDurable(level int) error {
	return fmt.Errorf("the connection keeps synchronous=%d, with which a power failure forgets grants: open "+
		"it with synchronous(FULL)", level)
}

func sqliteExclusive(ctx context.Context, c querier, do func() error) error {
	if err := sqliteDurable(ctx, c); err != nil {
		return err
	}
	return transaction(ctx, c, do, "BEGIN IMMEDIATE")
}

// sqliteDurable makes commits of the connection wait for the disk, which
// macOS does only with fullfsync. It asks before each write, because a pool
// may open a connection at any time.
func sqliteDurable(ctx context.Context, c querier) error {
	const ask = "SELECT synchronous * fullfsync FROM pragma_synchronous, pragma_fullfsync"
	var level int
	for _, set := range []string{"fullfsync = 1", "synchronous = FULL", "synchronous"} {
		if err := c.QueryRowContext(ctx, ask).Scan(&level); err != nil || level >= 2 {
			return err
		}
		if _, err := c.ExecContext(ctx, "PRAGMA "+set); err != nil {
			return err
		}
	}
	return notDurable(level)
}

// The count of swaps is the highest seq of a row: each swap gives its row
// the next number. Each row also counts its own swaps. The highest seq
// minus the sum of these counts never changes. So a row that was put back
// or is gone shows, also below a later swap of another row.
const (
	sqliteCount    = "(SELECT COALESCE(MAX(seq), 0) FROM snowfence_lease)"
	sqliteDistance = "(SELECT COALESCE(MAX(seq) - SUM(swaps), 0) FROM snowfence_lease)"
	sqliteID       = "COALESCE((SELECT value FROM snowfence_meta WHERE name = 'id'), 'no id')"
	sqliteProbe    = "SELECT '', 0, '', 0, " + sqliteCount + ", 0, 0, 0, '', " + sqliteID + ", '', 0, '', 0"

	sqliteUpdate = updateSet + ", swaps = swaps + 1, seq = ?" + updateWhere
	sqliteInsert = "INSERT INTO snowfence_lease (" + insertColumns + ", swaps, seq)" +
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING"
)

// sqliteUpdateOne needs no transaction. In a file that has seen fewer swaps
// than it should, no seq is high enough: the new one is NULL, and OR IGNORE
// leaves the row alone.
var sqliteUpdateOne = strings.NewReplacer(
	"UPDATE", "UPDATE OR IGNORE",
	"seq = ?", "seq = (SELECT MAX(seq) FROM snowfence_lease WHERE seq >= ?) + 1").Replace(sqliteUpdate)

// sqliteSwap looks first for a rolled back file, because later numbers
// would hide it. It counts its writes, and remembers namespaces and
// sequences: a name that is made again after its rows are gone gives the
// data another identity.
func sqliteSwap(ctx context.Context, c querier, v view, b *batch) (info serverInfo, err error) {
	if v.known && len(b.writes) == 1 && b.writes[0].Old != "" && b.writes[0].New.Node >= 0 {
		if done, err := sqliteSwapOne(ctx, c, v, b.writes[0]); done || err != nil {
			return info, err
		}
	}
	err = sqliteExclusive(ctx, c, func() error {
		if _, info, err = records(c.QueryContext(ctx, sqliteProbe)); err != nil {
			return err
		}
		floor, known, err := v.file.highestNote(info.dataID)
		if err != nil {
			return err
		}
		if info.dataID == v.lastInfo.dataID {
			floor = max(floor, v.lastInfo.position)
		}
		if info.reloaded = !known || info.position < floor; info.reloaded {
			return nil
		}
		update, err := c.PrepareContext(ctx, sqliteUpdate)
		if err != nil {
			return err
		}
		defer update.Close()
		again := false
		for i, w := range b.writes {
			next := info.position + 1
			if w.Old == "" {
				b.errs[i], err = outcome(c.ExecContext(ctx, sqliteInsert, append(values(w), next)...))
			} else {
				b.errs[i], err = outcome(update.ExecContext(ctx, updated(w, next)...))
			}
			if err != nil {
				return err
			}
			if b.errs[i] != nil {
				continue
			}
			info.position = next
			if k := w.New.Key; w.Old == "" && (k.Node == store.NamespaceNode || k.Node == store.SequenceNode) {
				const insert = "INSERT INTO snowfence_meta (name, value) VALUES (?, '') ON CONFLICT DO NOTHING"
				known, err := outcome(c.ExecContext(ctx, insert, "namespace "+k.Namespace))
				if err != nil {
					return err
				}
				again = again || known != nil
			}
		}
		if !again {
			return nil
		}
		if err := SQLite().renewIdentity(ctx, c, v.file); err != nil {
			return err
		}
		_, info, err = records(c.QueryContext(ctx, sqliteProbe))
		return err
	})
	return info, err
}

// sqliteSwapOne renews one lease, the most frequent swap, or does nothing
// and reports false. It learns no identity: the read of the namespace does,
// between a renewal and its use.
func sqliteSwapOne(ctx context.Context, c querier, v view, w store.Write) (bool, error) {
	args := updated(w, v.lastInfo.position)
	var res sql.Result
	var err error
	st, done := v.pinned.preparedStatement(ctx, sqliteUpdateOne)
	if st != nil {
		res, err = st.ExecContext(ctx, args...)
		done()
	}
	if st == nil || errors.Is(err, sql.ErrConnDone) { // nothing was done
		if err = sqliteDurable(ctx, c); err == nil {
			res, err = c.ExecContext(ctx, sqliteUpdateOne, args...)
		}
	}
	lost, err := outcome(res, err)
	return err == nil && lost == nil, err
}

// updated are the values of a swap, as sqliteUpdate orders them.
func updated(w store.Write, seq int64) []any {
	v := values(w)
	return append(slices.Insert(v, len(v)-2, any(seq)), w.Old)
}
