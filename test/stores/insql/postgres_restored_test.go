package insql

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// pgDump restores a dump, beside the database that it was taken of and in
// its place.
func pgDump(t *testing.T, p *servers.Postgres) {
	b, err := newPGBase(t, p, pgText(t))
	if err != nil {
		t.Fatal(err)
	}
	var l ledger
	if err := b.client(&l, 300); err != nil {
		t.Fatal(err)
	}
	dump := p.Dump(t, b.name)
	rows := p.Run(t, "pg_dump", "-h", "127.0.0.1", "-p", strconv.Itoa(p.Port), "-U", "postgres", "--data-only", b.name)
	if err := b.client(&l, 300); err != nil {
		t.Fatal(err)
	}
	other := pgBase{p, p.NewDatabase(t), b.text}
	p.Load(t, other.name, dump)
	template := pgBase{p, "copied", b.text}
	p.SQL(t, "postgres", "CREATE DATABASE copied TEMPLATE "+b.name)
	for what, o := range map[string]pgBase{"a dump in another database": other, "a copied database": template} {
		if _, err := o.next(1); err == nil || !strings.Contains(err.Error(), "is not the one that made the IDs") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// In place, into the tables that it was taken from: the lanes go back
	// with the rows.
	path := filepath.Join(t.TempDir(), "rows.sql")
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	p.SQL(t, b.name, "TRUNCATE orders, snowfence_state, test_clock")
	p.Load(t, b.name, rows)
	if _, err := b.next(1); err == nil || !strings.Contains(err.Error(), "is not the one that made the IDs") {
		t.Errorf("rows restored: %v", err)
	}
	for _, o := range []pgBase{b, other, template} {
		if err := o.do("SELECT snowfence_confirm('0 s')"); err != nil {
			t.Fatal(err)
		}
		var got ledger
		if err := o.client(&got, 300); err != nil {
			t.Error(err)
		}
		for _, id := range got.ids {
			if id <= l.highest() {
				t.Fatalf("after it was confirmed %d came, below %d", id, l.highest())
			}
		}
	}
}

// pgKilled kills all processes of the server and sets the clock a day back,
// in the case in which a function that uses nextval repeats an ID: one open
// transaction takes a value, which logs some ahead, and another one selects
// the next, which waits for no log.
func pgKilled(t *testing.T, p *servers.Postgres) {
	b, err := newPGBase(t, p, pgText(t, "--lanes", "2", "--lead", "200000000"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.do(`CREATE SEQUENCE naive`, `CREATE FUNCTION naive_next() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE
			n bigint := nextval('naive'); now bigint := date_part('epoch', test_now()) * 1000;
		BEGIN
			IF n < now THEN PERFORM setval('naive', now); n := now; END IF;
			RETURN n;
		END $$`, "UPDATE test_clock SET at = clock_timestamp()", "SELECT naive_next()"); err != nil {
		t.Fatal(err)
	}
	order := []string{"snowfence_next", "naive_next"} // a flush for the first would log the second
	seen := map[string]*ledger{"snowfence_next": {}, "naive_next": {}}
	err = b.with(func(ctx context.Context, open *pgx.Conn) error {
		return b.with(func(ctx context.Context, client *pgx.Conn) error {
			for _, f := range order {
				if _, err := pgIDs(ctx, open, "SELECT "+f+"()"); err != nil {
					return err
				}
				for range 3 {
					ids, err := pgIDs(ctx, client, "SELECT "+f+"()")
					if err != nil {
						return err
					}
					seen[f].add(ids...)
				}
			}
			return pgKill(p)
		})
	}, "BEGIN")
	if err != nil {
		t.Fatal(err)
	}
	p.Restart(t)
	p.Up(t)
	if err := b.do("UPDATE test_clock SET at = at - interval '1 day'"); err != nil {
		t.Fatal(err)
	}
	for _, f := range order {
		err := b.with(func(ctx context.Context, c *pgx.Conn) error {
			ids, err := pgIDs(ctx, c, "SELECT "+f+"() FROM generate_series(1, 100)")
			seen[f].add(ids...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := seen[f].repeated(); (err != nil) != (f == "naive_next") {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// pgKill kills all processes of the server at once.
func pgKill(p *servers.Postgres) error {
	children, err := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(p.Pid())).Output()
	if err != nil {
		return err
	}
	p.Kill()
	for _, pid := range strings.Fields(string(children)) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		if process, err := os.FindProcess(n); err == nil {
			_ = process.Kill() // it may have ended with the others
		}
	}
	return nil
}

// TestPostgreSQLStaleReplica promotes a replica that lacks the last IDs.
func TestPostgreSQLStaleReplica(t *testing.T) {
	if !*long {
		return // make prove PART=sql: takes too long for each change
	}
	t.Parallel()
	p := servers.StartPostgres(t, "wal_level=replica", "fsync=off")
	b, err := newPGBase(t, p, pgText(t))
	if err != nil {
		t.Fatal(err)
	}
	standby := p.Standby(t, "fsync=off")
	s := pgBase{standby, b.name, b.text}
	standby.Ready(t, func() error { return s.do("SELECT 1 FROM snowfence_state") })
	if err := s.do("SELECT pg_wal_replay_pause()"); err != nil {
		t.Fatal(err)
	}
	var l ledger
	if err := b.client(&l, 500); err != nil {
		t.Fatal(err)
	}
	if _, err := s.next(1); err == nil || !strings.Contains(err.Error(), "standby") {
		t.Errorf("a standby: %v", err)
	}
	p.Kill()
	standby.Promote(t)
	if _, err := s.next(1); err == nil || !strings.Contains(err.Error(), "is not the one that made the IDs") {
		t.Errorf("a promoted replica: %v", err)
	}
	if err := s.do("UPDATE test_clock SET step = '-9 s'", "SELECT snowfence_confirm('10 s')",
		"UPDATE test_clock SET step = '2 s'"); err != nil {
		t.Fatal(err)
	}
	if err := s.client(&l, 500); err != nil {
		t.Error(err)
	}
	if err := l.repeated(); err != nil {
		t.Error(err)
	}
}
