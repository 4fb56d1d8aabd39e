package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// SQLite is the dialect of SQLite files, for any number of processes on one machine. Any
// driver works. The store sets its connections to synchronous=FULL and the file to WAL
// mode. Give the *sql.DB a busy timeout.
//
// The file must be on a local file system, because locks and shared memory do not work on
// network ones. It must have one name: hard links and single-file mounts are refused,
// because SQLite keeps the last commits in files beside each name (-wal, -shm). Symbolic
// links are safe.
//
// While programs use the file, nobody may delete, move or copy over it or the files beside
// it. Each use looks for that and ends the lease. Programs that open the file afterwards
// cannot know: if the file or its -wal was deleted, old and new may make the same IDs until
// the old one's next renewal, a third of the ttl at most. The lease keeps one connection
// open.
//
// Data that is put back is noticed: by .restore, by a dump of one table or both, as a copy
// over the file. The witness beside the database (-witness) says how many swaps the
// database has seen. A database that has seen fewer, or has lost rows, gets another
// identity, and grants start above all earlier ones. Rows of one namespace or node that are
// put back alone are noticed when a program opens the file. A swap is noted without a sync,
// at the latest by the read between a renewal and its use. A file without its witness may
// have been put back, so it costs the same wait once: when the witness was deleted or left
// behind. Nothing is written into a rolled back file.
//
// Two things cannot be seen: a file that is put back together with its witness (by cp, tar
// or a snapshot), and a namespace that a restored dump lacks and that is made again. Then
// wait for the longest ttl and twice the largest skew of the namespace (45 s unless set)
// before the first program starts.
func SQLite() Dialect {
	return Dialect{
		name:     "sqlite",
		embedded: true,
		schema: []string{
			`CREATE TABLE IF NOT EXISTS snowfence_lease (
				namespace TEXT NOT NULL, node INTEGER NOT NULL, nonce TEXT NOT NULL, revision INTEGER NOT NULL, generation INTEGER NOT NULL,
				run_from INTEGER NOT NULL, until INTEGER NOT NULL, prev_until INTEGER NOT NULL, skip_from INTEGER NOT NULL, skip_until INTEGER NOT NULL,
				holder TEXT NOT NULL, label TEXT NOT NULL, veto TEXT NOT NULL, written_at INTEGER NOT NULL, data TEXT NOT NULL,
				seq INTEGER NOT NULL, swaps INTEGER NOT NULL, PRIMARY KEY (namespace, node)) WITHOUT ROWID`,
			"CREATE INDEX IF NOT EXISTS snowfence_lease_seq ON snowfence_lease (seq)",
		},
		askServer:   sqliteServer,
		reloaded:    "0",
		lock:        func(context.Context, *sql.Conn) error { return nil }, // the transaction excludes all others
		findReload:  sqliteFindReload,
		newIdentity: sqliteNewIdentity,
		bind:        func(query string, args []any) (string, []any) { return query, args },
		exclusive:   sqliteExclusive,
		open:        sqliteOpen,
		swap:        sqliteSwap,
		add:         addSQLite,
		tx:          txDialect{open: sqliteOpenTx, add: addSQLiteTx, swap: sqliteSwapTx},
		report:      sqliteReport,
		busy:        sqliteBusy,
		noTable:     func(err error) bool { return strings.Contains(err.Error(), "no such table") },
		advice:      sqliteAdvice,
	}
}

func sqliteOpen(ctx context.Context, c *sql.Conn) (*file, error) {
	var seq int
	var name, path string
	if err := c.QueryRowContext(ctx, "PRAGMA database_list").Scan(&seq, &name, &path); err != nil {
		return nil, fmt.Errorf("asking for the file's path: %w", err)
	}
	if path == "" {
		return nil, errors.New("the database is in memory and forgets all grants: give it a file, or use " +
			"store.NewMemory")
	}
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	var mode string
	var looks bool // such connections never write, and with immutable=1 know no journal
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
	f.witness = &witness{path: path + "-witness", like: f.info}
	if mode != "wal" {
		return nil, fmt.Errorf("file %s has the journal mode %s and refuses WAL: put it on a local file system "+
			"that can be written", path, mode)
	}
	return f, nil
}

// sqliteOpenTx looks at the file of a transaction. Whether it may be used at all was seen by the
// store that made the sequence.
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
	f = &file{path: path, info: stat, witness: &witness{path: path + "-witness", like: stat}}
	f.number = f.identity()
	return f, info, nil
}

// sqliteDurable makes commits of the connection wait for the disk. It asks before each
// write, because a pool may open a connection at any time.
func sqliteDurable(ctx context.Context, c querier) error {
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
		return notDurable(level)
	}
	return nil
}

func notDurable(level int) error {
	return fmt.Errorf("the connection keeps synchronous=%d, with which a power failure forgets grants: open "+
		"it with synchronous(FULL)", level)
}

func sqliteExclusive(ctx context.Context, c *sql.Conn, do func() error) error {
	if err := sqliteDurable(ctx, c); err != nil {
		return err
	}
	return transaction(ctx, c, "BEGIN IMMEDIATE", do)
}

// The count of swaps is the highest seq of a row: each swap gives its row the next number.
// Each row also counts its own swaps, so one row that was put back shows below a later swap
// of another: the distance of the highest seq and the sum of swaps never changes.
const (
	sqliteCount    = "(SELECT COALESCE(MAX(seq), 0) FROM snowfence_lease)"
	sqliteDistance = "(SELECT COALESCE(MAX(seq) - SUM(swaps), 0) FROM snowfence_lease)"
	sqliteID       = "COALESCE((SELECT value FROM snowfence_meta WHERE name = 'id'), 'no id')"

	// sqliteProbe reads the identity inside the file.
	sqliteProbe = "SELECT value, (SELECT MAX(seq) FROM snowfence_lease) FROM snowfence_meta WHERE name = 'id'"

	// sqliteInfo is the same as a record.
	sqliteInfo = "SELECT '', 0, '', 0, " + sqliteCount + ", 0, 0, 0, 0, 0, '', " + sqliteID + ", '', 0, '', 0"

	sqliteUpdate = updateSet + ", swaps = swaps + 1, seq = ?" + updateWhere
	sqliteInsert = "INSERT INTO snowfence_lease (" + insertColumns + ", swaps, seq)" +
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING"
)

// sqliteUpdateOne needs no transaction. In a file that has seen fewer swaps than it should,
// no seq is high enough: the new one is NULL, and OR IGNORE leaves the row alone.
var sqliteUpdateOne = strings.NewReplacer(
	"UPDATE", "UPDATE OR IGNORE",
	"seq = ?", "seq = (SELECT MAX(seq) FROM snowfence_lease WHERE seq >= ?) + 1").Replace(sqliteUpdate)

// sqliteSwap looks first for a rolled back file, because later numbers would hide it.
func sqliteSwap(
	ctx context.Context, c *sql.Conn, v view, writes []store.Write, errs []error,
) (info serverInfo, err error) {
	if v.file.witness != nil {
		if err := v.file.witness.writable(); err != nil {
			return info, fmt.Errorf("the witness beside the database: %w", err)
		}
	}
	if len(writes) == 1 && writes[0].Old != "" && writes[0].New.Node >= 0 {
		if done, err := sqliteSwapOne(ctx, c, v, writes[0]); done || err != nil {
			return info, err
		}
	}
	return info, sqliteExclusive(ctx, c, func() error {
		if info, err = sqliteServer(ctx, c); err != nil {
			return err
		}
		floor, known, err := v.file.floor(info.dataID)
		if err != nil {
			return err
		}
		if info.dataID == v.dataID {
			floor = max(floor, v.position)
		}
		if info.floor, info.unknown = floor, !known; info.unknown || info.position < floor {
			fill(errs, errReloaded)
			return nil
		}
		return sqliteSwapAll(ctx, c, v.file, writes, errs, &info)
	})
}

// sqliteSwapOne renews one lease, the most frequent swap, or does nothing and reports
// false. The read of the namespace between a renewal and its use notes it.
func sqliteSwapOne(ctx context.Context, c *sql.Conn, v view, w store.Write) (bool, error) {
	floor, known, err := v.file.floor(v.dataID)
	if err != nil || !known {
		return false, err
	}
	args := updated(w, max(floor, v.position))
	res, ok, err := v.pinned.exec(ctx, sqliteUpdateOne, args)
	if !ok {
		if err = sqliteDurable(ctx, c); err == nil {
			res, err = c.ExecContext(ctx, sqliteUpdateOne, args...)
		}
	}
	lost, err := outcome(res, err)
	return err == nil && lost == nil, err
}

func sqliteSwapTx(
	ctx context.Context, c querier, v view, writes []store.Write, errs []error,
) (info serverInfo, err error) {
	if info, err = sqliteServer(ctx, c); err != nil {
		return info, err
	}
	err = sqliteSwapAll(ctx, c, v.file, writes, errs, &info)
	return info, err
}

// updated are the values of a swap, as sqliteUpdate orders them.
func updated(w store.Write, seq int64) []any {
	v := values(w)
	return append(slices.Insert(v, len(v)-2, any(seq)), w.Old)
}

// sqliteSwapAll writes in a transaction, and counts what it wrote.
func sqliteSwapAll(
	ctx context.Context, c querier, f *file, writes []store.Write, errs []error, info *serverInfo,
) error {
	update, err := c.PrepareContext(ctx, sqliteUpdate)
	if err != nil {
		return err
	}
	defer update.Close()
	var added []store.Key
	for i, w := range writes {
		next := info.position + 1
		if w.Old == "" {
			errs[i], err = outcome(c.ExecContext(ctx, sqliteInsert, append(values(w), next)...))
		} else {
			errs[i], err = outcome(update.ExecContext(ctx, updated(w, next)...))
		}
		if err != nil {
			return err
		}
		if errs[i] != nil {
			continue
		}
		info.position = next
		if w.Old == "" {
			added = append(added, w.New.Key)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if err := sqliteAdded(ctx, c, f, added); err != nil {
		return err
	}
	floor := info.floor
	*info, err = sqliteServer(ctx, c) // which may have another identity now
	info.floor = floor
	return err
}

func sqliteServer(ctx context.Context, c querier) (info serverInfo, err error) {
	var count sql.NullInt64 // there are no rows at first
	err = c.QueryRowContext(ctx, sqliteProbe).Scan(&info.dataID, &count)
	if errors.Is(err, sql.ErrNoRows) {
		return serverInfo{dataID: "no id"}, nil
	}
	info.position = count.Int64
	return info, err
}

// sqliteAdded counts new rows and remembers namespaces and sequences. One that is made again
// after its rows are gone gives the data another identity.
func sqliteAdded(ctx context.Context, c querier, f *file, added []store.Key) error {
	again := false
	for _, k := range added {
		if k.Node != store.NamespaceNode && k.Node != store.SequenceNode {
			continue
		}
		const insert = "INSERT INTO snowfence_meta (name, value) VALUES (?, '') ON CONFLICT DO NOTHING"
		res, err := c.ExecContext(ctx, insert, "namespace "+k.Namespace)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		again = again || n == 0
	}
	if again {
		return sqliteNewIdentity(ctx, c, f, rand.Text())
	}
	const count = "UPDATE snowfence_meta SET value = CAST(value AS INTEGER) + ? WHERE name = 'rows'"
	_, err := c.ExecContext(ctx, count, len(added))
	return err
}

// sqliteFindReload compares the database with the witness, and the rows with their counts.
func sqliteFindReload(ctx context.Context, c *sql.Conn, f *file) (reloaded bool, err error) {
	if f.witness == nil {
		return false, nil // these connections never write
	}
	var id string
	var count, rows, counted int64
	var torn bool
	err = c.QueryRowContext(ctx, "SELECT "+sqliteID+", "+sqliteCount+", (SELECT COUNT(*) FROM snowfence_lease),"+
		" COALESCE((SELECT CAST(value AS INTEGER) FROM snowfence_meta WHERE name = 'rows'), -1),"+
		" "+sqliteDistance+" IS NOT (SELECT CAST(value AS INTEGER) FROM snowfence_meta WHERE name = 'distance')",
	).Scan(&id, &count, &rows, &counted, &torn)
	if err != nil {
		return false, err
	}
	floor, known, err := f.floor(id)
	return !known || count < floor || rows != counted || torn, err
}

// sqliteNewIdentity writes the witness before the commit: whoever sees the new identity
// finds it there.
func sqliteNewIdentity(ctx context.Context, c querier, f *file, id string) error {
	for _, step := range []string{
		"INSERT INTO snowfence_meta (name, value) SELECT 'namespace ' || namespace, ''" +
			" FROM snowfence_lease WHERE " + heads + " ON CONFLICT DO NOTHING",
		"INSERT INTO snowfence_meta (name, value) SELECT 'rows', COUNT(*) FROM snowfence_lease" +
			" WHERE true ON CONFLICT DO UPDATE SET value = excluded.value",
		"INSERT INTO snowfence_meta (name, value) SELECT 'distance', " + sqliteDistance +
			" WHERE true ON CONFLICT DO UPDATE SET value = excluded.value",
		"UPDATE snowfence_meta SET value = '" + id + "' WHERE name = 'id'",
	} {
		if _, err := c.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	var count int64
	if err := c.QueryRowContext(ctx, "SELECT "+sqliteCount).Scan(&count); err != nil {
		return err
	}
	if err := f.witness.begin(id, count); err != nil {
		return fmt.Errorf("writing the witness beside the database: %w", err)
	}
	return nil
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
			f.Advice = "connections do not wait for each other, and ask again instead: open the file with " +
				"busy_timeout(10000)"
		}
		found = append(found, f)
	}
	return found, nil
}
