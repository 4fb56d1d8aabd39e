package insql

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestMariaDB runs the text on a server.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t, noFlush...)
	t.Run("crowd", func(t *testing.T) { mariadbCrowd(t, m) })
	kept(t, mariadbProbes, mariadbText, mariadbOpener(m))
	t.Run("killed", func(t *testing.T) { mariadbKilled(t, m) })
}

// mariadbCrowd makes IDs on sixteen connections beside a Go program on
// other nodes, and audits all that a client saw.
func mariadbCrowd(t *testing.T, m *servers.MariaDB) {
	total := 4_000
	if *long {
		total = 1_000_000
	}
	b, err := newMariadbBase(t, m, mariadbText(t))
	if err != nil {
		t.Fatal(err)
	}
	var l ledger
	began := time.Now()
	var beside sync.WaitGroup
	beside.Go(func() {
		for n := range int64(2) {
			if err := generate(&l, node+1+n, total/8); err != nil {
				t.Error(err)
			}
		}
	})
	if err := b.crowd(&l, 16, total/16); err != nil {
		t.Fatal(err)
	}
	beside.Wait()
	l.audit(t, "snowfence")
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		t.Fatal(err)
	}
	var inserted map[snowfence.ID]bool
	if err := b.with(func(ctx context.Context, c *sql.Conn) error {
		got, err := ids(ctx, c, "SELECT id FROM orders")
		inserted = map[snowfence.ID]bool{}
		for _, id := range got {
			inserted[id] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, id := range l.ids {
		p, err := s.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		// A second ahead is the lead, one before is the clock of the test,
		// which is another one.
		if p.Node < node || p.Node > node+2 || p.Time.Before(began.Add(-time.Second)) ||
			p.Time.After(time.Now().Add(2*time.Second)) {
			t.Fatalf("%d is of node %d, %v", id, p.Node, p.Time)
		}
		if inserted[id] {
			seen++
		}
	}
	if seen != len(inserted) {
		t.Errorf("clients saw %d of the %d IDs in the table", seen, len(inserted))
	}
}

// mariadbKilled kills the server while a transaction is open, and sets the
// clock back by a day. The lead is two days, so that IDs are made at once:
// above all that a client saw, not above the clock.
func mariadbKilled(t *testing.T, m *servers.MariaDB) {
	lib, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(lib) == 0 {
		t.Skip("libfaketime is not installed; make test installs it")
	}
	b, err := newMariadbBase(t, m, mariadbText(t, "--lead", "172800000"))
	if err != nil {
		t.Fatal(err)
	}
	var l ledger
	err = b.with(func(ctx context.Context, c *sql.Conn) error {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()                                                // the server is gone
		if _, err := ids(ctx, tx, "SELECT snowfence_next()"); err != nil { // counts from COMMIT, which does not come
			return err
		}
		got, err := b.next(50)
		l.add(got...)
		m.Kill()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Environ("LD_PRELOAD="+lib[0], "FAKETIME=-1d", "FAKETIME_DONT_FAKE_MONOTONIC=1")
	m.Restart(t)
	m.Up(t)
	if now := m.SQL(t, "", "SELECT UTC_TIMESTAMP()"); now >= time.Now().Add(-12*time.Hour).UTC().Format(time.DateTime) {
		t.Fatalf("the clock of the server says %s", now)
	}
	high := l.highest()
	after, err := b.next(50)
	if err != nil {
		t.Fatal(err)
	}
	if after[0] <= high {
		t.Errorf("%d after %d", after[0], high)
	}
	l.add(after...)
	l.audit(t, "snowfence")
}
