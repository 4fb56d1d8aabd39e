package sqlite

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	modernc "modernc.org/sqlite"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/kinds"
)

// record is one to write.
func record(node int64, nonce string) store.Record {
	return store.Record{Key: store.Key{Namespace: "n", Node: node}, Nonce: nonce, Revision: 1}
}

func swap(t *testing.T, st store.Store, old string, r store.Record) {
	t.Helper()
	kinds.Put(t, st, store.Write{Old: old, New: r})
}

func execute(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	must(t, err)
	defer db.Close()
	must(t, tests.ErrOf(db.Exec(statements)))
}

// identity returns the store's identity after it has read all records.
func identity(t *testing.T, st *sqlstore.Store) string {
	t.Helper()
	among := snowfence.NodeRange{From: store.NamespaceNode, Until: 101}
	_, _, err := st.Heads(t.Context())
	if err == nil {
		_, _, err = st.List(t.Context(), "n", among, 1000)
	}
	must(t, err)
	id, err := store.Identity(t.Context(), st, "")
	must(t, err)
	return id
}

// opened returns the identity that a program sees which opens a file and
// reads nothing.
func opened(t *testing.T, path string) string {
	t.Helper()
	db, st := openFile(t, path)
	defer db.Close()
	id, err := store.Identity(t.Context(), st, "")
	must(t, err)
	return id
}

// scene makes a file with records and a copy of before the last swap, and
// returns its identity.
func scene(t *testing.T) (path, copied, id string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ids.db")
	copied = path + ".backup"
	db, st := openFile(t, path)
	defer db.Close()
	swap(t, st, "", record(store.NamespaceNode, "a"))
	swap(t, st, "", record(1, "a"))
	swap(t, st, "", record(2, "a"))
	must(t, tests.ErrOf(db.Exec("VACUUM INTO '"+copied+"'")))
	swap(t, st, "a", record(1, "b"))
	return path, copied, identity(t, st)
}

// connected is a scene, and a store that has read all of it.
func connected(t *testing.T) (path, copied, id string, db *sql.DB, st *sqlstore.Store) {
	t.Helper()
	path, copied, id = scene(t)
	db, st = openFile(t, path)
	if now := identity(t, st); now != id {
		t.Fatal(now)
	}
	return path, copied, id, db, st
}

// copyOver writes the bytes of one file over another one, as cp does.
func copyOver(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	must(t, err)
}

// restore is sqlite3's .restore.
func restore(t *testing.T, path, copied string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	must(t, err)
	defer db.Close()
	c, err := db.Conn(t.Context())
	must(t, err)
	defer c.Close()
	err = c.Raw(func(conn any) error {
		b, err := conn.(interface {
			NewRestore(string) (*modernc.Backup, error)
		}).NewRestore(copied)
		if err != nil {
			return err
		}
		_, err = b.Step(-1)
		return errors.Join(err, b.Finish())
	})
	must(t, err)
}

const (
	clearLeases = "DELETE FROM snowfence_lease; "
	putLeases   = "INSERT INTO snowfence_lease SELECT * FROM b.snowfence_lease; "
	clearMeta   = "DELETE FROM snowfence_meta; "
	putMeta     = "INSERT INTO snowfence_meta SELECT * FROM b.snowfence_meta; "
)

// reloads put rows back into the file that they come from.
var reloads = map[string]func(t *testing.T, path, copied string){
	"restore": restore,
	"copied over": func(t *testing.T, path, copied string) {
		for _, suffix := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + suffix) // the last connection did so as a rule
		}
		copyOver(t, copied, path)
	},
	"tables dropped": func(t *testing.T, path, copied string) {
		execute(t, path, "ATTACH '"+copied+"' AS b; DROP TABLE snowfence_lease; DROP TABLE snowfence_meta; "+
			"CREATE TABLE snowfence_lease AS SELECT * FROM b.snowfence_lease; CREATE TABLE snowfence_meta AS SELECT * FROM b.snowfence_meta; "+
			"CREATE UNIQUE INDEX x ON snowfence_meta (name)")
	},
	"rows deleted": func(t *testing.T, path, copied string) {
		execute(t, path, "ATTACH '"+copied+"' AS b; "+clearLeases+clearMeta+putLeases+putMeta)
	},
	"the leases alone": func(t *testing.T, path, copied string) {
		execute(t, path, "ATTACH '"+copied+"' AS b; "+clearLeases+putLeases)
	},
}

// TestReloadIsNoticed puts old rows back while no program runs: the data
// has another identity, which stays.
func TestReloadIsNoticed(t *testing.T) {
	for name, reload := range reloads {
		t.Run(name, func(t *testing.T) {
			path, copied, before := scene(t)
			reload(t, path, copied)
			alarmed(t, path, before)
		})
	}
}

// TestOneRowPutBackIsNoticed puts one old row back below a later swap of
// another row, which keeps the highest number. It made 604,000 IDs twice.
func TestOneRowPutBackIsNoticed(t *testing.T) {
	path, copied, _ := scene(t)
	db, st := openFile(t, path)
	swap(t, st, "a", record(2, "b"))
	before := identity(t, st)
	_ = db.Close()
	same(t, path, before, "swaps")
	execute(t, path, "ATTACH '"+copied+"' AS b; DELETE FROM snowfence_lease WHERE node = 1; "+
		putLeases[:len(putLeases)-2]+" WHERE node = 1")
	alarmed(t, path, before)
}

// TestGoneRowsAreNoticed deletes rows without putting any back.
func TestGoneRowsAreNoticed(t *testing.T) {
	for _, gone := range []string{
		clearLeases, clearMeta, "DELETE FROM snowfence_lease WHERE node = 2",
		"DELETE FROM snowfence_lease WHERE node = 1",
	} {
		path, _, before := scene(t)
		execute(t, path, gone)
		alarmed(t, path, before)
	}
}

// alarmed checks that a file has another identity than before, and keeps
// that one.
func alarmed(t *testing.T, path, before string) {
	t.Helper()
	after := opened(t, path)
	if after == before {
		t.Errorf("it is still %s", after)
	}
	same(t, path, after, "it was opened")
	db, st := openFile(t, path)
	defer db.Close()
	swap(t, st, "", record(50, "a"))
	swap(t, st, "a", record(50, "b"))
	same(t, path, after, "writes")
}

func same(t *testing.T, path, id, after string) {
	t.Helper()
	if now := opened(t, path); now != id {
		t.Errorf("after %s the identity is %s, no longer %s", after, now, id)
	}
}

// TestReloadUnderConnectedStore does so under a store that is open, of
// which nothing else is in use.
func TestReloadUnderConnectedStore(t *testing.T) {
	for name, reload := range reloads {
		if name == "copied over" || name == "tables dropped" {
			continue // the one breaks open connections of SQLite, and the other fails while they read
		}
		t.Run(name, func(t *testing.T) {
			path, copied, before, _, st := connected(t)
			other, swaps := openFile(t, path) // what this one does, only the witness knows
			swap(t, swaps, "b", record(1, "c"))
			identity(t, swaps)
			_ = other.Close()
			reload(t, path, copied)
			after := identity(t, st)
			if after == before {
				t.Errorf("it is still %s", after)
			}
			swap(t, st, "", record(50, "a"))
			same(t, path, after, "writes")
			if id := identity(t, st); id != after {
				t.Errorf("it is %s, after %s", id, after)
			}
		})
	}
}

// TestUpkeepIsNoReload does what administrators do with a file: nothing was
// put back.
func TestUpkeepIsNoReload(t *testing.T) {
	path, _, before := scene(t)
	for _, upkeep := range []string{
		"VACUUM", "REINDEX", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)",
		"CREATE TABLE other (x)", "ALTER TABLE snowfence_lease ADD COLUMN note TEXT", "DROP TABLE other",
	} {
		execute(t, path, upkeep)
		same(t, path, before, upkeep)
	}
	old, err := os.ReadFile(path + "-witness")
	must(t, err)
	db, st := openFile(t, path)
	defer db.Close()
	for _, nonce := range []string{"b", "c", "d"} {
		swap(t, st, nonce, record(1, string(nonce[0]+1)))
	}
	must(t, os.WriteFile(path+"-witness", old, 0o600))
	same(t, path, before, "a crash that forgot what was noted last")
}

// TestMadeAgainUnderConnectedStore does so under a store that is open.
func TestMadeAgainUnderConnectedStore(t *testing.T) {
	path, _, before, _, st := connected(t)
	execute(t, path, "DELETE FROM snowfence_lease WHERE node = -1")
	swap(t, st, "", record(store.NamespaceNode, "z"))
	if id := identity(t, st); id == before {
		t.Errorf("it is still %s", id)
	}
}

// TestOtherTables refuses tables that another version made, and leaves them
// as they are.
func TestOtherTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, st := openFile(t, path)
	if _, _, err := st.Heads(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	for _, version := range []string{"2", "4", ""} {
		execute(t, path, "UPDATE snowfence_meta SET value = '"+version+"' WHERE name = 'version'")
		db, st := openFile(t, path)
		for range 2 {
			_, err := store.Ask(t.Context(), st, "")
			tests.Says(t, err, strconv.Quote(version), "version %q", version)
		}
		_ = db.Close()
	}
}
