package databases

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// log is where a lease says what it cannot notice.
type log struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.String(), text)
}

const (
	control = "pg_control_system()"
	insert  = "pg_current_wal_insert_lsn()"
	flush   = "pg_current_wal_flush_lsn()"
	name    = "pg_walfile_name(pg_lsn)"
)

// managed is a database of an ordinary owner, as providers give it.
func managed(t *testing.T, p *servers.Postgres, user string) (database, url string) {
	t.Helper()
	database = p.NewDatabase(t)
	p.SQL(t, "postgres", "CREATE ROLE "+user+" LOGIN; ALTER DATABASE "+database+" OWNER TO "+user)
	return database, strings.Replace(p.URL(database), "postgres@", user+"@", 1)
}

// TestClosedFunctions leases where a managed server closes each of its
// functions, and where they fail though the user may call them, as without
// logical replication on Aurora.
func TestClosedFunctions(t *testing.T) {
	for i, c := range []struct {
		closed   []string
		fails    bool
		identity string // a part of it
		lost     int    // findings of what goes unnoticed
	}{
		{nil, false, "", 0},
		{[]string{control}, false, "postgres:-:1:", 1},
		{[]string{insert}, false, ":-:", 1},
		{[]string{flush}, false, ":-:", 1},
		{[]string{name}, false, ":-:", 1},
		{[]string{control, insert, flush, name}, false, "postgres:-:-:", 2},
		{[]string{insert, flush}, true, ":-:", 1},
	} {
		t.Run(fmt.Sprint(c.closed, c.fails), func(t *testing.T) {
			t.Parallel()
			p := servers.StartPostgres(t)
			user := fmt.Sprint("owner", i)
			database, url := managed(t, p, user)
			for _, f := range c.closed {
				if !c.fails {
					p.SQL(t, database, "REVOKE EXECUTE ON FUNCTION "+f+" FROM PUBLIC")
					continue
				}
				p.SQL(t, database, "CREATE SCHEMA IF NOT EXISTS own AUTHORIZATION "+user+"; CREATE FUNCTION own."+f+
					" RETURNS pg_lsn LANGUAGE plpgsql AS $$ BEGIN RAISE 'not supported' USING ERRCODE = '0A000'; END $$;"+
					" ALTER ROLE "+user+" SET search_path = own, pg_catalog")
			}
			if !c.fails {
				p.SQL(t, database, "GRANT CREATE ON SCHEMA public TO "+user)
			}
			db, st := connect(t, url)
			said := &log{}
			o := &lease.Options{Create: true, Logger: slog.New(slog.NewTextHandler(said, nil))}
			ids, err := sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL(), o)
			must(t, err)
			must(t, tests.ErrOf(ids.Next(t.Context())))
			numbersInTx(t, db, st, c.identity != "")
			must(t, ids.Close())
			id, err := store.Identity(t.Context(), st, "")
			if err != nil || !strings.Contains(id, c.identity) || strings.Contains(id, ":-:") != (c.identity != "") {
				t.Errorf("the identity is %q, %v", id, err)
			}
			if n := said.count("does not tell"); (n == 1) != (c.identity != "") {
				t.Errorf("the log says %d times what goes unnoticed:\n%s", n, said)
			}
			found, err := st.Report(t.Context())
			n := 0
			for _, f := range found {
				if f.Name == "closed" && f.Advice != "" {
					n++
				}
			}
			if err != nil || n != c.lost {
				t.Errorf("findings %+v, %v", found, err)
			}
		})
	}
}

// numbersInTx takes a number in a transaction, and one outside. The first
// needs all functions; its error advises the second.
func numbersInTx(t *testing.T, db *sql.DB, st *sqlstore.Store, closed bool) {
	t.Helper()
	must(t, sequence.Create(t.Context(), st, "bills", sequence.Definition{Mode: sequence.Strict}))
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	n, err := sqlstore.SequenceTx(t.Context(), tx, sqlstore.PostgreSQL(), "bills")
	_ = tx.Rollback()
	if says := err != nil && strings.Contains(err.Error(), "pg_control_system() TO this user"); says != closed ||
		!closed && n.N != 1 || err != nil && strings.Contains(err.Error(), "snowfence_lease") {
		t.Errorf("in a transaction: %+v, %v", n, err)
	}
	s, err := sequence.Open(t.Context(), st, "bills", nil)
	must(t, err)
	defer s.Close()
	if n, err := s.Next(t.Context()); err != nil || n != 1 {
		t.Errorf("outside of a transaction: %d, %v", n, err)
	}
}

// TestRightRevokedUnderAHolder takes the right to ask for the cluster from
// a holder, and gives it back; then an operator accepts less; then the
// namespace sees more again, and no longer accepts less.
func TestRightRevokedUnderAHolder(t *testing.T) {
	p := servers.StartPostgres(t)
	database, url := managed(t, p, "owner")
	p.SQL(t, database, "GRANT CREATE ON SCHEMA public TO owner")
	_, st := connect(t, url)
	scheme := fleet.Default(t)
	l, err := lease.Open(t.Context(), st, "default", scheme, &lease.Options{Create: true, TTL: 2 * time.Second})
	must(t, err)
	first := l.Status().Grant
	revoke := func() { p.SQL(t, database, "REVOKE EXECUTE ON FUNCTION "+control+" FROM PUBLIC") }
	giveBack := func() { p.SQL(t, database, "GRANT EXECUTE ON FUNCTION "+control+" TO PUBLIC") }
	goesOn := func(what string) {
		t.Helper()
		began := time.Now()
		fleet.Eventually(t, what, func() error {
			if s := l.Status(); !s.Renewed.After(began) || s.Trouble != nil {
				return fmt.Errorf("%+v", s)
			}
			return nil
		})
	}
	refused := func(what string) {
		t.Helper()
		fleet.Eventually(t, what, func() error {
			if err := l.Status().Trouble; err == nil || !strings.Contains(err.Error(), "fewer losses are noticed") {
				return fmt.Errorf("%w: %+v", lease.ErrRefused, l.Status())
			}
			return nil
		})
		// Nobody else gets a lease either.
		err := tests.ErrOf(lease.Open(t.Context(), st, "default", scheme, nil))
		tests.Says(t, err, "fewer losses are noticed", "%s: another lease", what)
	}
	identity := func() string {
		t.Helper()
		ns, err := scope.Namespaces(st).Show(t.Context(), "default")
		must(t, err)
		return ns.Identity
	}
	all := identity()
	revoke()
	refused("a right is revoked")
	giveBack()
	goesOn("it is given back")
	revoke()
	refused("it is revoked again")
	must(t, tests.ErrOf(scope.Namespaces(st).Confirm(t.Context(), "default")))
	goesOn("an operator accepted less")
	if less := identity(); !strings.HasPrefix(less, "postgres:-:") {
		t.Errorf("the namespace has seen %q", less)
	}
	giveBack()
	fleet.Eventually(t, "the namespace sees more again", func() error {
		if now := identity(); now != all {
			return fmt.Errorf("it is %q, not %q", now, all)
		}
		return nil
	})
	goesOn("the namespace has seen more")
	revoke()
	refused("it accepts less no more")
	if g := l.Status().Grant; g.Node != first.Node || g.From < first.From {
		t.Errorf("the grant was %+v and is %+v", first, g)
	}
	l.Orphan()
}
