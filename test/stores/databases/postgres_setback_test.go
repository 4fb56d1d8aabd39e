package databases

import (
	"fmt"
	"testing"

	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// start returns a fleet on a new server, and the URL of its database.
func start(t *testing.T, settings ...string) (*servers.Postgres, *fleet.Fleet, string) {
	t.Helper()
	p := servers.StartPostgres(t, settings...)
	f := fleet.New(t, fleet.SQL(t, "pgx", sqlstore.PostgreSQL()))
	url := p.URL(p.NewDatabase(t))
	f.Namespace(url)
	return p, f, url
}

// TestPromotion kills a primary and promotes a standby that has missed the
// last renewals, while holders run. Those go on there, and so does a new
// one with their node, which the standby has never heard of.
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
	fresh.Stop()
	old.More() // it takes its node over again, or another
}
