package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/fleet"
	"github.com/snowfence/snowfence/test/servers"
)

// start returns a fleet on a new server, and the URL of its database.
func start(t *testing.T, settings ...string) (*servers.Postgres, *fleet.Fleet, string) {
	t.Helper()
	p := servers.StartPostgres(t, settings...)
	f := fleet.New(t, "pgx", sqlstore.PostgreSQL())
	url := p.URL(p.NewDatabase(t))
	f.Namespace(url)
	return p, f, url
}

// TestPromotion kills a primary and promotes a standby that has missed the last renewals,
// while holders run. Those go on there, and so does a new one with their node, which the
// standby has never heard of.
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
	s.Restart(t)
	s.Up(t)
	s.Promote(t)
	fresh := f.Start("new", both, 7)
	fresh.More()
	f.Raised(both, granted)
	other := f.Start("other", both, -1)
	other.More()
	if n := s.SQL(t, "db1", "SELECT pg_is_in_recovery()"); n != "f" {
		t.Errorf("the standby was not promoted: %s", n)
	}
	fresh.Stop()
	old.More() // it takes its node over again, or another
}

// TestDumpRestoredBetweenRuns puts a dump back while nobody runs: nothing but the tables
// themselves can tell.
func TestDumpRestoredBetweenRuns(t *testing.T) {
	t.Parallel()
	p, f, url := start(t)
	first := f.Start("first", url, 7)
	first.Renewed()
	dump := p.Dump(t, "db1")
	first.Renewed()
	first.More()
	granted := first.Grant()
	first.Stop()
	p.SQL(t, "postgres", "DROP DATABASE db1 WITH (FORCE)")
	p.SQL(t, "postgres", "CREATE DATABASE db1")
	p.Load(t, "db1", dump)
	second := f.Start("second", url, 7)
	second.More()
	f.Raised(url, granted)
}

// TestDumpRestoredWhileHeld does it under a holder.
func TestDumpRestoredWhileHeld(t *testing.T) {
	t.Parallel()
	p, f, url := start(t)
	first := f.Start("first", url, 7)
	first.Renewed()
	dump := p.Dump(t, "db1")
	first.Renewed()
	first.More()
	before := first.Grant()
	// In one step: what the holder writes into tables without their keys would end the load.
	p.Load(t, "db1", "BEGIN; DROP TABLE snowfence_lease, snowfence_meta;\n"+dump+"COMMIT;")
	second := f.Start("second", url, 7)
	second.More()
	f.Raised(url, before)
	second.Stop()
	first.More()
}

// TestFolderRestoredWhileHeld puts a copy of the data folder back while a holder runs,
// who notices that the store has forgotten renewals.
func TestFolderRestoredWhileHeld(t *testing.T) {
	t.Parallel()
	p, f, url := start(t)
	first := f.Start("first", url, 7)
	first.Renewed()
	p.StopCleanly(t)
	copied := filepath.Join(filepath.Dir(p.Dir), "copy")
	p.Files(t, "cp", "-a", p.Dir, copied)
	p.Restart(t)
	p.Up(t)
	first.Renewed()
	first.More()
	before := first.Grant()
	p.Kill()
	if err := os.RemoveAll(p.Dir); err != nil {
		t.Fatal(err)
	}
	p.Files(t, "cp", "-a", copied, p.Dir)
	p.Restart(t)
	p.Up(t)
	first.Renewed()
	first.More()
	second := f.Start("second", url, 7)
	second.More()
	f.Raised(url, before)
}

// TestRecoveredBetweenRuns puts a base backup back by recovery, as point-in-time recovery
// does: the server is on another timeline.
func TestRecoveredBetweenRuns(t *testing.T) {
	t.Parallel()
	p, f, url := start(t)
	first := f.Start("first", url, 7)
	first.Renewed()
	s := p.Standby(t)
	s.StopCleanly(t)
	first.Renewed()
	first.More()
	granted := first.Grant()
	first.Stop()
	p.Kill()
	s.Restart(t)
	s.Up(t)
	s.Promote(t)
	second := f.Start("second", s.URL("db1"), 7)
	second.More()
	f.Raised(s.URL("db1"), granted)
}

// TestKilled kills the server while many write, and starts it again. Holders go on, and
// no ID appears twice.
func TestKilled(t *testing.T) {
	t.Parallel()
	p, f, url := start(t)
	var holders []*fleet.Holder
	for i := range 8 {
		node := int64(-1)
		if i < 2 {
			node = 5 // two that take it from each other
		}
		holders = append(holders, f.Start(fmt.Sprint("holder ", i), url, node))
	}
	for range 3 {
		holders[2].Renewed()
		p.Signal(t, syscall.SIGQUIT) // backends end at once, without a checkpoint; SIGKILL would leave them to find out
		p.Kill()
		p.Restart(t)
		p.Up(t)
	}
	for _, h := range holders[2:] {
		h.More()
	}
}
