package insql

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// pgDump restores a dump, beside the database that it was taken of and in
// its place.
func pgDump(t *testing.T, p *servers.Postgres) {
	b := pgOpener(p)(t, pgText(t))
	var l ledger
	b.must(b.client(&l, 300))
	dump := p.Dump(t, b.name)
	rows := p.Dump(t, b.name, "--data-only")
	b.must(b.client(&l, 300))
	other, template := pgBase(t, p, p.NewDatabase(t), b.text), pgBase(t, p, "copied", b.text)
	p.Load(t, other.name, dump)
	p.SQL(t, "postgres", "CREATE DATABASE copied TEMPLATE "+b.name)
	// In place, into the tables that it was taken from: the lanes go back
	// with the rows.
	p.SQL(t, b.name, "TRUNCATE orders, snowfence_state, test_clock")
	p.Load(t, b.name, rows)
	for _, o := range []base{b, other, template} {
		o.none(notTheOne)
		o.do("SELECT snowfence_confirm('0 s')")
		var got ledger
		o.must(o.client(&got, 300))
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
	b := pgOpener(p)(t, pgText(t, "--lanes", "2", "--lead", "200000000"))
	b.do(`CREATE SEQUENCE naive`, `CREATE FUNCTION naive_next() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE
			n bigint := nextval('naive'); now bigint := date_part('epoch', test_now()) * 1000;
		BEGIN
			IF n < now THEN PERFORM setval('naive', now); n := now; END IF;
			RETURN n;
		END $$`, "UPDATE test_clock SET at = clock_timestamp()", "SELECT naive_next()")
	order := []string{"snowfence_next", "naive_next"} // a flush for the first would log the second
	seen := map[string]*ledger{"snowfence_next": {}, "naive_next": {}}
	open, client := b.session("BEGIN"), b.session()
	for _, f := range order {
		open.do("SELECT " + f + "()")
		for range 3 {
			seen[f].add(client.ids("SELECT " + f + "()")...)
		}
	}
	b.must(pgKill(p))
	open.end()
	client.end()
	p.Again(t)
	b.do("UPDATE test_clock SET at = at - interval '1 day'")
	after := b.session()
	defer after.end()
	for _, f := range order {
		seen[f].add(after.ids("SELECT " + f + "() FROM generate_series(1, 100)")...)
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
	b := pgOpener(p)(t, pgText(t))
	standby := p.Standby(t, "fsync=off")
	s := pgBase(t, standby, b.name, b.text)
	standby.Ready(t, func() error { return s.try("SELECT 1 FROM snowfence_state") })
	s.do("SELECT pg_wal_replay_pause()")
	var l ledger
	b.must(b.client(&l, 500))
	s.none("standby")
	p.Kill()
	standby.Promote(t)
	s.none(notTheOne)
	s.do("UPDATE test_clock SET step = '-9 s'", "SELECT snowfence_confirm('10 s')",
		"UPDATE test_clock SET step = '2 s'")
	b.must(s.client(&l, 500), l.repeated())
}
