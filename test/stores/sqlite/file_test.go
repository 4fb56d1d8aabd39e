package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
)

func twitter(t *testing.T) *snowfence.Scheme {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReplacedFile deletes or replaces the file under a lease: the next renewal seals the
// generator and ends the lease.
func TestReplacedFile(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"deleted": os.Remove,
		"copied over": func(path string) error {
			data, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ids.db")
			_, st := openFile(t, path)
			l, err := lease.Open(t.Context(), st, "default", twitter(t), &lease.Options{
				Create: true,
				TTL:    300 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Orphan()
			g, err := snowfence.New(snowfence.Config{Fence: l, MaxWait: patience})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			select {
			case <-l.Done():
			case <-time.After(patience):
				t.Fatal("the lease lives on in a file that nobody else sees")
			}
			if err := l.Err(); !errors.Is(err, store.ErrReplaced) || !strings.Contains(err.Error(), path) {
				t.Errorf("the lease ended with %v", err)
			}
			if id, err := g.Next(t.Context()); err == nil {
				t.Errorf("ID %d was made after the file was %s", id, name)
			}
		})
	}
}

// TestMovedFile opens a copy of a file whose original was used further: grants start
// above what the original can have given.
func TestMovedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ids.db")
	node := int64(5)
	const ttl = time.Second
	run := func(path string) (snowfence.Grant, error) {
		db, st := openFile(t, path)
		defer db.Close()
		l, err := lease.Open(t.Context(), st, "default", twitter(t), &lease.Options{
			Create: true, TTL: ttl,
			Node: &node,
		})
		if err != nil {
			return snowfence.Grant{}, err
		}
		defer l.Orphan()
		return l.Status().Grant, nil
	}
	if _, err := run(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after, err := run(path)
	if err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(dir, "restored.db")
	if err := os.WriteFile(restored, data, 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := run(restored)
	if err != nil {
		t.Fatal(err)
	}
	if g.From < after.Until {
		t.Errorf("the restored file grants from %d; the original had granted to %d", g.From, after.Until)
	}
}

// TestDurable gives the store a connection that does not wait for the disk.
func TestDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	st, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.Namespaces(st).Create(t.Context(), "default", twitter(t), nil); err != nil {
		t.Fatal(err)
	}
	var level int
	var mode string
	err = errors.Join(db.QueryRow("PRAGMA synchronous").Scan(&level), db.QueryRow("PRAGMA journal_mode").Scan(&mode))
	if err != nil || level != 2 || mode != "wal" {
		t.Errorf("after a write the connection has synchronous=%d, journal_mode=%s, %v", level, mode, err)
	}
}

// TestDurableRenewals renews with a pinned connection that does not wait for the disk.
func TestDurableRenewals(t *testing.T) {
	db, err := sql.Open("sqlite", dsn(filepath.Join(t.TempDir(), "ids.db"))+"&_pragma=synchronous(OFF)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	st, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	swap(t, st, "", record(1, "a"))
	first, err := db.Conn(t.Context()) // the only one that waits by now, so another one is pinned
	if err != nil {
		t.Fatal(err)
	}
	unpin, err := st.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	swap(t, st, "a", record(1, "b"))
	unpin()
	for range 2 {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var level int
		if err := c.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&level); err != nil || level != 2 {
			t.Errorf("after a renewal a connection has synchronous=%d, %v", level, err)
		}
	}
}

func TestRefusedDatabases(t *testing.T) {
	if _, err := sqlstore.New(nil, sqlstore.SQLite()); err == nil {
		t.Error("a nil *sql.DB is no error")
	}
	memory, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
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
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := lease.Namespaces(st).List(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; it should say %q", err, want)
		}
	}
}

// TestBusy holds the file's lock for a while: the store waits and then does its work.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, st := openFile(t, path)
	if _, err := lease.Namespaces(st).Create(t.Context(), "default", twitter(t), nil); err != nil {
		t.Fatal(err)
	}
	impatient, err := sql.Open("sqlite", "file:"+path) // without a busy timeout
	if err != nil {
		t.Fatal(err)
	}
	defer impatient.Close()
	st, err = sqlstore.New(impatient, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := lease.Namespaces(st).Create(short, "second", twitter(t), nil); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("a write into a locked file: %v", err)
	}
	time.AfterFunc(200*time.Millisecond, func() { _, _ = c.ExecContext(context.Background(), "COMMIT") })
	if _, err := lease.Namespaces(st).Create(t.Context(), "second", twitter(t), nil); err != nil {
		t.Errorf("a write when the lock was let go: %v", err)
	}
}
