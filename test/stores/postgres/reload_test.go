package postgres

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// dump returns what pg_dump writes of a database.
func dump(t *testing.T, p *servers.Postgres, name string, args ...string) string {
	t.Helper()
	return p.Run(t, "pg_dump", append([]string{
		"-h", "127.0.0.1", "-p", strconv.Itoa(p.Port), "-U", "postgres",
		name,
	}, args...)...)
}

// identity returns the store's identity after it has read all records.
func identity(t *testing.T, st *sqlstore.Store) string {
	t.Helper()
	among := snowfence.NodeRange{From: store.NamespaceNode, Until: 101}
	_, err := st.Heads(t.Context())
	if err == nil {
		_, err = st.List(t.Context(), "n", among, 1000)
	}
	if err != nil {
		t.Fatal(err)
	}
	id, err := st.Identity(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// scene is a database with records, a store that is connected to it, and a
// dump of before its last write.
type scene struct {
	p          *servers.Postgres
	name, dump string
	st         *sqlstore.Store
	id         string
}

func newScene(t *testing.T, p *servers.Postgres, args ...string) scene {
	t.Helper()
	s := scene{p: p, name: p.NewDatabase(t)}
	_, s.st = connect(t, p.URL(s.name))
	for i, err := range s.st.Swap(t.Context(),
		[]store.Write{{New: record(store.NamespaceNode, "a")}, {New: record(1, "a")}, {New: record(2, "a")}}) {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	s.dump = dump(t, p, s.name, args...)
	if err := swap(t, s.st, "a", record(1, "b")); err != nil {
		t.Fatal(err)
	}
	s.id = identity(t, s.st)
	return s
}

// opened returns the identity that a newly opened store sees.
func (s scene) opened(t *testing.T) string {
	t.Helper()
	_, st := connect(t, s.p.URL(s.name))
	return identity(t, st)
}

// alarmed checks that the data has another identity, for a connected store
// and for new ones, and that it is the last one.
func (s scene) alarmed(t *testing.T) {
	t.Helper()
	connected := identity(t, s.st)
	if connected == s.id {
		t.Errorf("a connected store still says %s", s.id)
	}
	s.once(t, connected)
}

// once checks that the data keeps an identity, and can be written.
func (s scene) once(t *testing.T, id string) {
	t.Helper()
	for range 2 {
		if again := s.opened(t); again != id {
			t.Errorf("the identity is %s, after %s", again, id)
		}
	}
	_, st := connect(t, s.p.URL(s.name))
	if err := swap(t, st, "", record(50, "a")); err != nil {
		t.Error(err)
	}
	rs, err := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 50}})
	if err == nil {
		err = swap(t, st, rs[0].Nonce, record(50, "b"))
	}
	if err != nil {
		t.Error(err)
	}
	if again := identity(t, st); again != id {
		t.Errorf("after writes the identity is %s, no longer %s", again, id)
	}
}

// TestReloadIsNoticed puts rows back into the tables that they were dumped
// from, in all ways.
func TestReloadIsNoticed(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	const both, leases, meta = "snowfence_lease, snowfence_meta", "snowfence_lease", "snowfence_meta"
	only := func(table string) []string { return []string{"--data-only", "--table=" + table} }
	for name, c := range map[string]struct {
		args  []string // of pg_dump; nil for what needs no dump
		clear string   // what is done before the dump is read
	}{
		"data only":                  {[]string{"--data-only"}, "TRUNCATE " + both},
		"data only, rows deleted":    {[]string{"--data-only"}, "DELETE FROM snowfence_lease; DELETE FROM snowfence_meta"},
		"as INSERT statements":       {[]string{"--data-only", "--column-inserts"}, "TRUNCATE " + both},
		"the leases alone":           {only(leases), "TRUNCATE " + leases},
		"the description alone":      {only(meta), "TRUNCATE " + meta},
		"missing rows alone":         {[]string{"--data-only", "--table=" + leases, "--inserts", "--on-conflict-do-nothing"}, "DELETE FROM snowfence_lease WHERE node = 1"},
		"with the tables":            {[]string{"--clean"}, "SELECT 1"},
		"without triggers":           {[]string{"--data-only", "--disable-triggers"}, "TRUNCATE " + both},
		"by an update":               {nil, "UPDATE snowfence_lease SET nonce = 'a' WHERE node = 1"},
		"a rewriting ALTER TABLE":    {nil, "ALTER TABLE snowfence_lease ALTER COLUMN until TYPE NUMERIC; ALTER TABLE snowfence_lease ALTER COLUMN until TYPE BIGINT"},
		"without the new columns":    {nil, "CREATE TABLE x AS SELECT * FROM snowfence_lease; ALTER TABLE x DROP xid; TRUNCATE snowfence_lease; INSERT INTO snowfence_lease SELECT * FROM x"},
		"the id row alone, the same": {nil, "UPDATE snowfence_meta SET value = value WHERE name = 'id'"},
		"in a savepoint":             {nil, "BEGIN; SELECT txid_current(); SAVEPOINT x; UPDATE snowfence_lease SET xid = (txid_current() & 4294967295)::text::xid; COMMIT"}, // its transaction is another one
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, p, c.args...)
			p.SQL(t, s.name, c.clear)
			if c.args != nil {
				p.Load(t, s.name, s.dump)
			}
			s.alarmed(t)
		})
	}
}

// TestGoneRowsAreNoticed deletes rows without putting any back: a program
// that opens the database counts them.
func TestGoneRowsAreNoticed(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	for _, gone := range []string{
		"DELETE FROM snowfence_lease WHERE node = 2", "TRUNCATE snowfence_lease",
		"DELETE FROM snowfence_meta WHERE name = 'rows'", "TRUNCATE snowfence_meta",
	} {
		s := newScene(t, p)
		p.SQL(t, s.name, gone)
		id := s.opened(t)
		if id == s.id {
			t.Errorf("%s: still %s", gone, id)
		}
		if connected := identity(t, s.st); connected != id {
			t.Errorf("%s: a connected store says %s, a new one %s", gone, connected, id)
		}
		s.once(t, id)
	}
}

// TestUpkeepIsNoReload does what administrators do with tables: nothing was
// put back, and the identity stays.
func TestUpkeepIsNoReload(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	p := servers.StartPostgres(t)
	s := newScene(t, p)
	space := filepath.Join(filepath.Dir(p.Dir), "space")
	p.Files(t, "cp", "-a", filepath.Join(p.Dir, "pg_tblspc"), space) // an empty folder of the server's user
	for _, upkeep := range []string{
		"VACUUM FREEZE", "VACUUM FULL snowfence_lease", "VACUUM (FULL, FREEZE)", "CLUSTER snowfence_lease USING snowfence_lease_pkey", "REINDEX DATABASE " + s.name, "ANALYZE",
		"ALTER TABLE snowfence_lease ADD COLUMN note TEXT DEFAULT 'x'", "ALTER TABLE snowfence_lease DROP COLUMN note",
		"CREATE TABLESPACE " + s.name + " LOCATION '" + space + "'", "ALTER TABLE snowfence_lease SET TABLESPACE " + s.name, "ALTER TABLE snowfence_meta SET TABLESPACE " + s.name,
		"SELECT * FROM snowfence_lease FOR UPDATE",
	} {
		p.SQL(t, s.name, upkeep)
		if id := s.opened(t); id != s.id {
			t.Errorf("after %s the identity is %s, no longer %s", upkeep, id, s.id)
		}
	}
	again := func(how string) {
		p.Restart(t)
		p.Up(t)
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
		if err := swap(t, reconnect(t, s), "", record(int64(60+epoch), "a")); err != nil {
			t.Error(err)
		}
	}
	s.once(t, s.id)
}

func reconnect(t *testing.T, s scene) *sqlstore.Store {
	t.Helper()
	_, st := connect(t, s.p.URL(s.name))
	return st
}

// TestSwapLeavesReloadedRowsAlone swaps a row that was put back with the
// nonce that it had: it must not look like a row of ours afterwards.
func TestSwapLeavesReloadedRowsAlone(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	s := newScene(t, p)
	p.SQL(t, s.name, "UPDATE snowfence_lease SET label = 'by hand' WHERE node = 1")
	if err := swap(t, s.st, "b", record(1, "c")); err == nil || errors.Is(err, store.ErrLost) ||
		!strings.Contains(err.Error(), "was restored") {
		t.Errorf("a swap of a row that was put back: %v", err)
	}
	id, err := s.st.Identity(t.Context(), "")
	if err != nil || id == s.id {
		t.Errorf("the identity is %s, %v", id, err)
	}
	if err := swap(t, s.st, "b", record(1, "c")); err != nil {
		t.Errorf("the same swap afterwards: %v", err)
	}
}

// TestCopiedDatabase lets a database take the place of the one it was
// copied from (TEMPLATE), under a connected store.
func TestCopiedDatabase(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	s := newScene(t, p)
	id := s.opened(t)
	p.SQL(t, "postgres", "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '"+s.name+"'")
	p.SQL(t, "postgres", "CREATE DATABASE copied TEMPLATE "+s.name)
	other := scene{p: p, name: "copied"}
	if copied := other.opened(t); copied == id {
		t.Errorf("the copy is %s, too", copied)
	}
}

// TestWrittenBetweenRuns writes a row by hand while no process runs: of a
// lease, or of what describes them.
func TestWrittenBetweenRuns(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	for name, write := range map[string]string{
		"lease":       "UPDATE snowfence_lease SET label = 'by hand' WHERE node = 1",
		"description": "UPDATE snowfence_meta SET value = value WHERE name = 'version'",
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, p)
			p.SQL(t, s.name, write)
			id := opens(t, s)
			if id == s.id {
				t.Errorf("still %s", id)
			}
			s.once(t, id)
		})
	}
}

// opens returns the identity of the database for a program that opens it
// and reads nothing.
func opens(t *testing.T, s scene) string {
	t.Helper()
	id, err := reconnect(t, s).Identity(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestCrashIsNoReload kills the server right after statements that did not
// wait for the disk: the log ends earlier than it was being written, and
// nothing of ours is gone.
func TestCrashIsNoReload(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "wal_writer_delay=10s")
	s := newScene(t, p)
	p.SQL(t, s.name, "CREATE TABLE other (x TEXT)")
	if id := identity(t, s.st); id != s.id {
		t.Fatal(id)
	}
	p.SQL(t, s.name, "SET synchronous_commit = off; INSERT INTO other SELECT repeat('x', 1000) FROM "+
		"generate_series(1, 100)")
	identity(t, s.st)
	p.Signal(t, syscall.SIGQUIT)
	p.Kill()
	p.Restart(t)
	p.Up(t)
	if id := s.reconnected(t); id != s.id {
		t.Errorf("after a crash: %s, no longer %s", id, s.id)
	}
}

// reconnected returns the identity for the connected store, whose
// connections may be of a server that was killed.
func (s scene) reconnected(t *testing.T) string {
	t.Helper()
	_, err := s.st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}})
	for range 20 {
		if err == nil {
			break
		}
		_, err = s.st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return identity(t, s.st)
}

// TestColdCopyUnderConnectedProgram puts a copy of the data folder back
// while a program is connected that holds nothing: it remembers how far the
// log was.
func TestColdCopyUnderConnectedProgram(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	p := servers.StartPostgres(t)
	s := newScene(t, p)
	p.StopCleanly(t)
	copied := filepath.Join(filepath.Dir(p.Dir), "copy")
	p.Files(t, "cp", "-a", p.Dir, copied)
	p.Restart(t)
	p.Up(t)
	if id := s.reconnected(t); id != s.id {
		t.Errorf("after a restart it is %s, no longer %s", id, s.id)
	}
	for i := range 100 {
		if err := swap(t, s.st, "", record(int64(100+i), "a")); err != nil {
			t.Fatal(err)
		}
	}
	p.Kill()
	p.Files(t, "rm", "-r", p.Dir)
	p.Files(t, "cp", "-a", copied, p.Dir)
	p.Restart(t)
	p.Up(t)
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
