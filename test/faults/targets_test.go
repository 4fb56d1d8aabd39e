package faults

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// targets starts the stores, by kind.
var targets = map[string]func(t testing.TB) *target{
	"SQLite": sqliteTarget,
}

func sqliteTarget(t testing.TB) *target {
	d := newDisk(t, "32m")
	path := filepath.Join(d.dir, "ids.db")
	tg := &target{kind: "SQLite", url: "sqlite:" + path, disk: d}
	st, closeStore, err := Open(t.Context(), tg.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeStore(); err != nil {
			t.Error(err)
		}
	})
	tg.store = st
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing of it is open then
	tg.empty = func(t testing.TB) {
		// What was written to the log before is room that can be used again.
		within(t, patience, "the log is empty", func() bool {
			var busy, pages, done int
			err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &done)
			return err == nil && busy == 0
		})
	}
	tg.lock = func(t testing.TB) func() {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ExecContext(t.Context(), "PRAGMA busy_timeout = 30000; BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		return func() {
			if _, err := c.ExecContext(t.Context(), "ROLLBACK"); err != nil {
				t.Error(err)
			}
			_ = c.Close()
		}
	}
	tg.fresh = func(_ testing.TB, round int) string { return fmt.Sprintf("sqlite:%s.%d", path, round) }
	return tg
}
