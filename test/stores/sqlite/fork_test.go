package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// TestDeletedSideFiles deletes files of a database that a process has open,
// and starts a second process on what is left. The first one notices at a
// renewal, and where the file with the last commits is still there, no ID
// is made twice even until then.
func TestDeletedSideFiles(t *testing.T) {
	for name, c := range map[string]struct {
		suffixes []string
		overlap  bool // what the first process had committed is out of reach for the second one
		works    bool // the second process can use what is left while the first one still has it open
	}{
		"shm":         {[]string{"-shm"}, false, true},
		"wal":         {[]string{"-wal"}, true, false},
		"wal and shm": {[]string{"-wal", "-shm"}, true, true},
		"database":    {[]string{""}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ids.db")
			first, out := startFailing(t, path, "5", 1<<30)
			<-first.began
			for _, suffix := range c.suffixes {
				must(t, os.Remove(path+suffix))
			}
			second, out2 := startFailing(t, path, "5", 200_000)
			defer second.kill()
			var a printed
			select {
			case a = <-out:
			case <-time.After(fleet.Patience()):
				first.kill()
				t.Fatal("the first process lives on with files that no other program sees")
			}
			if !strings.Contains(a.stderr, "deleted") && !strings.Contains(a.stderr, "another one") {
				t.Errorf("the first process ended with %q", a.stderr)
			}
			b := <-out2
			if len(a.ids) == 0 || len(b.ids) == 0 && c.works {
				t.Fatalf("%d and %d IDs: %s", len(a.ids), len(b.ids), b.stderr)
			}
			seen := map[int64]bool{}
			for _, id := range a.ids {
				seen[id] = true
			}
			twice := 0
			for _, id := range b.ids {
				if seen[id] {
					twice++
				}
			}
			if twice > 0 && !c.overlap {
				t.Errorf("%d IDs were made twice", twice)
			}
			t.Logf("%d and %d IDs, %d of them twice", len(a.ids), len(b.ids), twice)
		})
	}
}

// TestNames: each name of a file has side files of its own, except symbolic
// links, which lead to one name.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	path, hard, soft := filepath.Join(dir, "ids.db"), filepath.Join(dir, "hard.db"), filepath.Join(dir, "soft.db")
	node := int64(5)
	lend := func(path string) (*lease.Lease, error) {
		_, st := openFile(t, path)
		return lease.Open(t.Context(), st, "default", fleet.Scheme(t, "twitter"), &lease.Options{
			Create: true, TTL: time.Minute, Node: &node,
		})
	}
	first, err := lend(path)
	must(t, err)
	must(t, os.Symlink(path, soft))
	second, err := lend(soft)
	must(t, err)
	defer second.Orphan()
	if a, b := first.Status().Grant, second.Status().Grant; b.From < a.Until {
		t.Errorf("by a symbolic link [%d, %d) is granted beside [%d, %d)", b.From, b.Until, a.From, a.Until)
	}
	tests.Fails(t, tests.ErrOf(os.Stat(soft+"-wal")), "the symbolic link has side files of its own")
	first.Orphan()
	second.Orphan()
	must(t, os.Link(path, hard))
	for _, name := range []string{path, soft, hard} {
		l, err := lend(name)
		if err == nil {
			l.Orphan()
			t.Errorf("%s was leased from, and has two names", name)
		} else if !strings.Contains(err.Error(), "hard link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.Remove(hard))
	l, err := lend(path)
	if err != nil {
		t.Fatalf("with one name again: %v", err)
	}
	l.Orphan()
}

// TestComparedBeforeWrites: nothing is written into files that no other
// program sees.
func TestComparedBeforeWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, st := openFile(t, path)
	pin(t, st)
	must(t, os.Remove(path+"-shm"))
	w := store.Write{New: record(1, "x")}
	tests.WantErr(t, tests.ErrOf(store.Put(t.Context(), st, w)), store.ErrReplaced, "a write")
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM snowfence_lease").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d records were written, %v", n, err)
	}
}

// TestComparedBeforeTheIdentity asks who a file is that is gone: with a
// pinned connection and no other, and with none pinned.
func TestComparedBeforeTheIdentity(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "ids.db")
		db, st := openFile(t, path)
		if pinned {
			pin(t, st)
		}
		must(t, tests.ErrOf(store.Identity(t.Context(), st, "")))
		must(t, os.Remove(path+"-shm"))
		if pinned {
			must(t, db.Close())
		}
		tests.WantErr(t, tests.ErrOf(store.Identity(t.Context(), st, "")), store.ErrReplaced, "pinned %v", pinned)
	}
}

// TestComparedAfterWrites replaces a file while a write waits for its turn:
// the write is done, and does not count.
func TestComparedAfterWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	db, st := openFile(t, path)
	pin(t, st)
	c, err := db.Conn(t.Context())
	must(t, err)
	defer c.Close()
	must(t, tests.ErrOf(c.ExecContext(t.Context(), "BEGIN IMMEDIATE")))
	time.AfterFunc(300*time.Millisecond, func() {
		err := os.Remove(path + "-shm")
		if _, err2 := c.ExecContext(context.Background(), "COMMIT"); err != nil || err2 != nil {
			t.Error(err, err2)
		}
	})
	w := store.Write{New: record(1, "x")}
	_, err = store.Put(t.Context(), st, w)
	tests.WantErr(t, err, store.ErrReplaced, "a write while the file beside was deleted")
}
