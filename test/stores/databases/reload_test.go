package databases

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// scene is a database with records, a store that is connected to it, and a
// dump of before its last write.
type scene struct {
	database
	dumped string
	st     *sqlstore.Store
	id     string
}

// newScene makes a scene. The dump has further arguments; there is none
// where they are nil.
func newScene(t *testing.T, d database, args []string) scene {
	t.Helper()
	s := scene{database: d}
	_, s.st = connect(t, d.dsn)
	kinds.Put(t, s.st, store.Write{New: record(store.NamespaceNode, "a")}, store.Write{New: record(1, "a")},
		store.Write{New: record(2, "a")})
	if args != nil {
		s.dumped = d.dump(args...)
	}
	must(t, swap(t, s.st, "a", record(1, "b")))
	s.id = identity(t, s.st)
	return s
}

// pgScene is a scene without a dump.
func pgScene(t *testing.T, p *servers.Postgres) scene { return newScene(t, onPostgres(t, p), nil) }

// fresh returns a store as a program opens it.
func (s scene) fresh(t *testing.T) *sqlstore.Store {
	t.Helper()
	_, st := connect(t, s.dsn)
	return st
}

// opened returns the identity that a newly opened store sees.
func (s scene) opened(t *testing.T) string { t.Helper(); return identity(t, s.fresh(t)) }

// once checks that the data keeps an identity, and can be written.
func (s scene) once(t *testing.T, id string) {
	t.Helper()
	for range 2 {
		if again := s.opened(t); again != id {
			t.Errorf("the identity is %s, after %s", again, id)
		}
	}
	st := s.fresh(t)
	must(t, errors.Join(swap(t, st, "", record(50, "a")), swap(t, st, "a", record(50, "b"))))
	if again := identity(t, st); again != id {
		t.Errorf("after writes the identity is %s, no longer %s", again, id)
	}
}

// reload is a way to put rows back into the tables that they come from.
type reload struct {
	dump   []string // arguments; nil for what needs no dump
	clear  string   // what is done before the dump is read
	unseen bool     // it goes unnoticed
}

const (
	pgLease, pgMeta = "--table=snowfence_lease", "--table=snowfence_meta"
	leases, meta    = "snowfence_lease", "snowfence_meta"
	noTriggers      = "DROP TRIGGER snowfence_lease_reload; DROP TRIGGER snowfence_meta_reload; "
)

var reloads = map[string]map[string]reload{
	"PostgreSQL": {
		"data only":                  {[]string{"--data-only"}, "TRUNCATE snowfence_lease, snowfence_meta", false},
		"data only, rows deleted":    {[]string{"--data-only"}, "DELETE FROM snowfence_lease; DELETE FROM snowfence_meta", false},
		"as INSERT statements":       {[]string{"--data-only", "--column-inserts"}, "TRUNCATE snowfence_lease, snowfence_meta", false},
		"the leases alone":           {[]string{"--data-only", pgLease}, "TRUNCATE snowfence_lease", false},
		"the description alone":      {[]string{"--data-only", pgMeta}, "TRUNCATE snowfence_meta", false},
		"missing rows alone":         {[]string{"--data-only", pgLease, "--inserts", "--on-conflict-do-nothing"}, "DELETE FROM snowfence_lease WHERE node = 1", false},
		"with the tables":            {[]string{"--clean"}, "SELECT 1", false},
		"without triggers":           {[]string{"--data-only", "--disable-triggers"}, "TRUNCATE snowfence_lease, snowfence_meta", false},
		"by an update":               {nil, "UPDATE snowfence_lease SET nonce = 'a' WHERE node = 1", false},
		"a rewriting ALTER TABLE":    {nil, "ALTER TABLE snowfence_lease ALTER COLUMN until TYPE NUMERIC; ALTER TABLE snowfence_lease ALTER COLUMN until TYPE BIGINT", false},
		"without the new columns":    {nil, "CREATE TABLE x AS SELECT * FROM snowfence_lease; ALTER TABLE x DROP xid; TRUNCATE snowfence_lease; INSERT INTO snowfence_lease SELECT * FROM x", false},
		"the id row alone, the same": {nil, "UPDATE snowfence_meta SET value = value WHERE name = 'id'", false},
		// its transaction is another one
		"in a savepoint": {nil, "BEGIN; SELECT txid_current(); SAVEPOINT x; UPDATE snowfence_lease SET xid = (txid_current() & 4294967295)::text::xid; COMMIT", false},
	},
	// Triggers notice; without them, MariaDB's versions of the table of the
	// identity do.
	"MariaDB": {
		"all rows":                              {[]string{leases, meta}, "DELETE FROM snowfence_lease; DELETE FROM snowfence_meta", false},
		"the leases alone":                      {[]string{leases}, "TRUNCATE snowfence_lease", false},
		"the row of one node":                   {nil, "CREATE TABLE kept AS SELECT * FROM snowfence_lease WHERE node = 1; DELETE FROM snowfence_lease WHERE node = 1; INSERT INTO snowfence_lease SELECT * FROM kept", false},
		"the description alone":                 {[]string{meta}, "DELETE FROM snowfence_meta", false},
		"all rows, without triggers":            {[]string{leases, meta}, noTriggers + "TRUNCATE snowfence_lease; DELETE FROM snowfence_meta", false},
		"the description, without triggers":     {[]string{meta}, noTriggers + "DELETE FROM snowfence_meta", false},
		"the leases, without triggers: not yet": {[]string{leases}, "DROP TRIGGER snowfence_lease_reload; TRUNCATE snowfence_lease", true},
		"upkeep":                                {nil, "ANALYZE TABLE snowfence_lease, snowfence_meta; OPTIMIZE TABLE snowfence_meta", true},
	},
}

// TestReloadIsNoticed puts rows back into the tables that they were dumped
// from, in all ways: the data has another identity, which stays.
func TestReloadIsNoticed(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string, open func(testing.TB) database) {
		for name, c := range reloads[kind] {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if kind == "MariaDB" && c.dump != nil {
					c.dump = append([]string{"--no-create-info", "--skip-triggers"}, c.dump...)
				}
				s := newScene(t, open(t), c.dump)
				s.sql(c.clear)
				if c.dump != nil {
					s.load(s.dumped)
				}
				connected := identity(t, s.st)
				if (connected == s.id) != c.unseen {
					t.Errorf("the identity was %s, and is %s", s.id, connected)
				}
				s.once(t, connected)
			})
		}
	})
}

// TestUpkeepIsNoReload does what administrators do with tables: nothing was
// put back, and the identity stays.
func TestUpkeepIsNoReload(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	p := servers.StartPostgres(t)
	s := pgScene(t, p)
	space := filepath.Join(filepath.Dir(p.Dir), "space")
	p.Files(t, "cp", "-a", filepath.Join(p.Dir, "pg_tblspc"), space) // an empty folder of the server's user
	for _, upkeep := range []string{
		"VACUUM FREEZE", "VACUUM FULL snowfence_lease", "VACUUM (FULL, FREEZE)", "CLUSTER snowfence_lease USING snowfence_lease_pkey", "REINDEX DATABASE " + s.name, "ANALYZE",
		"ALTER TABLE snowfence_lease ADD COLUMN note TEXT DEFAULT 'x'", "ALTER TABLE snowfence_lease DROP COLUMN note",
		"CREATE TABLESPACE " + s.name + " LOCATION '" + space + "'", "ALTER TABLE snowfence_lease SET TABLESPACE " + s.name, "ALTER TABLE snowfence_meta SET TABLESPACE " + s.name,
		"SELECT * FROM snowfence_lease FOR UPDATE",
	} {
		s.sql(upkeep)
		if id := s.opened(t); id != s.id {
			t.Errorf("after %s the identity is %s, no longer %s", upkeep, id, s.id)
		}
	}
	again := func(how string) {
		p.Again(t)
		if id := s.opened(t); id != s.id {
			t.Errorf("after %s the identity is %s, no longer %s", how, id, s.id)
		}
	}
	p.Kill()
	again("a crash")
	for epoch := range 3 {
		p.StopCleanly(t)
		p.Run(t, "pg_resetwal", "-e", strconv.Itoa(epoch+3), "-f", p.Dir)
		again("an epoch of transactions")
		must(t, swap(t, s.fresh(t), "", record(int64(60+epoch), "a")))
	}
	s.once(t, s.id)
}

// TestSwapLeavesReloadedRowsAlone swaps a row that was put back with the
// nonce that it had: it must not look like a row of ours afterwards.
func TestSwapLeavesReloadedRowsAlone(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	s := pgScene(t, p)
	s.sql("UPDATE snowfence_lease SET label = 'by hand' WHERE node = 1")
	if err := swap(t, s.st, "b", record(1, "c")); err == nil || errors.Is(err, store.ErrLost) ||
		!strings.Contains(err.Error(), "was restored") {
		t.Errorf("a swap of a row that was put back: %v", err)
	}
	id, err := store.Identity(t.Context(), s.st, "")
	if err != nil || id == s.id {
		t.Errorf("the identity is %s, %v", id, err)
	}
	tests.WantErr(t, swap(t, s.st, "b", record(1, "c")), nil, "the same swap afterwards")
}

// TestCopiedDatabase lets a database take the place of the one it was
// copied from (TEMPLATE), under a connected store.
func TestCopiedDatabase(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	s := pgScene(t, p)
	id := s.opened(t)
	p.SQL(t, "postgres", "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '"+s.name+"'")
	p.SQL(t, "postgres", "CREATE DATABASE copied TEMPLATE "+s.name)
	other := scene{database: database{dsn: p.URL("copied")}}
	if copied := other.opened(t); copied == id {
		t.Errorf("the copy is %s, too", copied)
	}
}

// TestWrittenBetweenRuns writes and deletes rows by hand while no process
// runs: of leases, or of what describes them. A program that opens the
// database and reads nothing looks through all.
func TestWrittenBetweenRuns(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	for name, write := range map[string]string{
		"lease":           "UPDATE snowfence_lease SET label = 'by hand' WHERE node = 1",
		"description":     "UPDATE snowfence_meta SET value = value WHERE name = 'version'",
		"a row gone":      "DELETE FROM snowfence_lease WHERE node = 2",
		"all rows gone":   "TRUNCATE snowfence_lease",
		"the number gone": "DELETE FROM snowfence_meta WHERE name = 'rows'",
		"all gone":        "TRUNCATE snowfence_meta",
	} {
		t.Run(name, func(t *testing.T) {
			s := pgScene(t, p)
			s.sql(write)
			id, err := store.Identity(t.Context(), s.fresh(t), "")
			must(t, err)
			if connected := identity(t, s.st); id == s.id || connected != id {
				t.Errorf("the identity was %s, is %s, and %s for a connected store", s.id, id, connected)
			}
			s.once(t, id)
		})
	}
}

// TestCrashIsNoReload kills the server right after statements that did not
// wait for the disk: the log ends earlier than it was being written, and
// nothing of ours is gone.
func TestCrashIsNoReload(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "wal_writer_delay=10s")
	s := pgScene(t, p)
	s.sql("CREATE TABLE other (x TEXT)")
	if id := identity(t, s.st); id != s.id {
		t.Fatal(id)
	}
	s.sql("SET synchronous_commit = off; INSERT INTO other SELECT repeat('x', 1000) FROM generate_series(1, 100)")
	identity(t, s.st)
	p.Signal(t, syscall.SIGQUIT)
	p.Kill()
	p.Again(t)
	if id := s.reconnected(t); id != s.id {
		t.Errorf("after a crash: %s, no longer %s", id, s.id)
	}
}

// reconnected returns the identity for the connected store, whose
// connections may be of a server that was killed.
func (s scene) reconnected(t *testing.T) string {
	t.Helper()
	_, _, err := s.st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}})
	for range 20 {
		if err == nil {
			break
		}
		_, _, err = s.st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}})
	}
	must(t, err)
	return identity(t, s.st)
}

// TestColdCopyUnderConnectedProgram puts a copy of the data folder back
// while a program is connected that holds nothing: it remembers how far the
// log was.
func TestColdCopyUnderConnectedProgram(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	p := servers.StartPostgres(t)
	s := pgScene(t, p)
	p.StopCleanly(t)
	copied := filepath.Join(filepath.Dir(p.Dir), "copy")
	p.Files(t, "cp", "-a", p.Dir, copied)
	p.Again(t)
	if id := s.reconnected(t); id != s.id {
		t.Errorf("after a restart it is %s, no longer %s", id, s.id)
	}
	for i := range 100 {
		must(t, swap(t, s.st, "", record(int64(100+i), "a")))
	}
	p.Kill()
	p.Files(t, "rm", "-r", p.Dir)
	p.Files(t, "cp", "-a", copied, p.Dir)
	p.Again(t)
	id := s.reconnected(t)
	if id == s.id {
		t.Errorf("after a copy was put back it is still %s", id)
	}
	s.once(t, id)
}

// TestNamespaceMadeAgain empties the table of leases, and makes the
// namespace again: its first lease starts above all that was granted.
func TestNamespaceMadeAgain(t *testing.T) {
	t.Parallel()
	p, f, url := start(t)
	first := f.Start("first", url, 7)
	granted := first.Renewed()
	first.Stop()
	p.SQL(t, "db1", "TRUNCATE snowfence_lease")
	f.Namespace(url)
	second := f.Start("second", url, 7)
	second.More()
	f.Raised(url, granted)
}

// start returns a fleet on a new server, and the URL of its database.
func start(t *testing.T, settings ...string) (*servers.Postgres, *fleet.Fleet, string) {
	t.Helper()
	p := servers.StartPostgres(t, settings...)
	f := fleet.New(t, fleet.SQL(t, "pgx", sqlstore.PostgreSQL()))
	url := p.URL(p.NewDatabase(t))
	f.Namespace(url)
	return p, f, url
}

// TestPromotion ends a primary and its holder, and promotes a standby that
// missed the last renewals. Only the timeline tells a new holder so, and
// its ticks are above those renewals.
func TestPromotion(t *testing.T) {
	t.Parallel()
	p, f, _ := start(t)
	s := p.Standby(t)
	both := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,"+
		"127.0.0.1:%d/db1?sslmode=disable&target_session_attrs=read-write", p.Port, s.Port)
	old := f.Start("old", both, 7)
	old.Renewed()
	s.StopCleanly(t)
	old.Renewed()
	old.More()
	p.Kill()
	granted := old.Grant()
	f.Crash() // a holder that lives would notice by its record
	s.Again(t)
	s.Promote(t)
	fresh := f.Start("new", both, 7)
	fresh.More()
	f.Raised(both, granted)
	other := f.Start("other", both, -1)
	other.More()
	if n := s.SQL(t, "db1", "SELECT pg_is_in_recovery()"); n != "f" {
		t.Errorf("the standby was not promoted: %s", n)
	}
}
