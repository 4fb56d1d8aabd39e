package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// TestReplacedFile deletes or replaces the file or one beside it under a
// lease: the next renewal seals the generator and ends the lease, and the
// store works no more, whatever comes in its place.
func TestReplacedFile(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"deleted":            os.Remove,
		"beside it, deleted": func(path string) error { return os.Remove(path + "-shm") },
		"copied over": func(path string) error {
			data, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ids.db")
			_, st := openFile(t, path)
			l, err := lease.Open(t.Context(), st, "default", fleet.Scheme(t, "twitter"), &lease.Options{
				Create: true, TTL: 300 * time.Millisecond,
			})
			must(t, err)
			defer l.Orphan()
			g, err := snowfence.New(snowfence.Config{Fence: l, MaxWait: fleet.Patience()})
			must(t, err)
			must(t, tests.ErrOf(g.Next(t.Context())))
			must(t, replace(path))
			select {
			case <-l.Done():
			case <-time.After(fleet.Patience()):
				t.Fatal("the lease lives on in a file that no other program sees")
			}
			tests.Refuses(t, l.Err(), store.ErrReplaced, path)
			if id, err := g.Next(t.Context()); err == nil {
				t.Errorf("ID %d was made after the file was %s", id, name)
			}
			must(t, os.WriteFile(path+"-shm", nil, 0o600))
			tests.WantErr(t, tests.ErrOf(scope.Namespaces(st).List(t.Context())), store.ErrReplaced,
				"the store goes on")
		})
	}
}

// TestDurable gives the store a connection that does not wait for the disk.
func TestDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, st := openDSN(t, "file:"+path+"?_pragma=synchronous(OFF)")
	db.SetMaxOpenConns(1)
	must(t, tests.ErrOf(scope.Namespaces(st).Create(t.Context(), "default", fleet.Scheme(t, "twitter"), nil)))
	var level int
	var mode string
	const ask = "SELECT synchronous * fullfsync FROM pragma_synchronous, pragma_fullfsync"
	err := errors.Join(db.QueryRow(ask).Scan(&level), db.QueryRow("PRAGMA journal_mode").Scan(&mode))
	if err != nil || level != 2 || mode != "wal" {
		t.Errorf("after a write the connection has synchronous * fullfsync = %d, journal_mode=%s, %v", level, mode, err)
	}
}

// TestDurableRenewals renews with a pinned connection that does not wait
// for the disk.
func TestDurableRenewals(t *testing.T) {
	db, st := openDSN(t, dsn(filepath.Join(t.TempDir(), "ids.db"))+"&_pragma=synchronous(OFF)")
	swap(t, st, "", record(1, "a"))
	first, err := db.Conn(t.Context()) // the only one that waits by now, so another one is pinned
	must(t, err)
	found, err := st.Report(t.Context())
	if err != nil || !slices.ContainsFunc(found, func(f sqlstore.Finding) bool {
		return f.Name == "synchronous" && strings.HasSuffix(f.Advice, ": open the file with synchronous(FULL)")
	}) {
		t.Errorf("the report on a connection that does not wait is %v, %v", found, err)
	}
	unpin, err := st.Pin(t.Context())
	must(t, err)
	_ = first.Close()
	swap(t, st, "a", record(1, "b"))
	unpin()
	for range 2 {
		c, err := db.Conn(t.Context())
		must(t, err)
		defer c.Close()
		var level int
		if err := c.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&level); err != nil || level != 2 {
			t.Errorf("after a renewal a connection has synchronous=%d, %v", level, err)
		}
	}
}

// TestLook reads a file that is not in WAL mode: it stays as it was.
func TestLook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, st := openFile(t, path)
	swap(t, st, "", record(1, "a"))
	must(t, errors.Join(tests.ErrOf(db.Exec("PRAGMA journal_mode = DELETE")), db.Close()))
	before, err := os.ReadFile(path)
	must(t, err)
	db, _ = openFile(t, path)
	st, err = sqlstore.NewReadOnly(db, sqlstore.SQLite())
	must(t, err)
	must(t, tests.ErrOf(scope.Namespaces(st).List(t.Context())))
	must(t, db.Close())
	after, err := os.ReadFile(path)
	files, globErr := filepath.Glob(path + "*")
	if err != nil || globErr != nil || !bytes.Equal(before, after) || len(files) != 2 { // the file and the witness
		t.Errorf("after a look: %v, another content %v, %v, %v", files, !bytes.Equal(before, after), err, globErr)
	}
}

func TestRefusedDatabases(t *testing.T) {
	tests.Fails(t, tests.ErrOf(sqlstore.New(nil, sqlstore.SQLite())), "a nil *sql.DB is no error")
	memory, _ := openDSN(t, ":memory:")
	newer, _ := openFile(t, filepath.Join(t.TempDir(), "newer.db"))
	if _, err := newer.Exec("CREATE TABLE snowfence_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL); " +
		"INSERT INTO snowfence_meta VALUES ('id', 'x'), ('version', '99')"); err != nil {
		t.Fatal(err)
	}
	missing, _ := openFile(t, filepath.Join(t.TempDir(), "no", "such", "folder.db"))
	for want, db := range map[string]*sql.DB{
		"in memory": memory, "the program that made them": newer,
		"unable to open": missing,
	} {
		st, err := sqlstore.New(db, sqlstore.SQLite())
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience())
		defer cancel()
		tests.Says(t, tests.ErrOf(scope.Namespaces(st).List(ctx)), want, "listed")
	}
}
