package databases

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestDurable has the server killed, with a log that is written every ten
// seconds only, right after a swap over a connection with
// synchronous_commit=off. A statement past the store shows that this
// forgets.
func TestDurable(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "wal_writer_delay=10s", "synchronous_commit=off")
	db, st := connect(t, p.URL("postgres"))
	db.SetMaxOpenConns(1)
	for _, batch := range [][]store.Write{
		{{New: record(1, "a")}},
		{{New: record(2, "a")}, {New: record(3, "a")}},
	} {
		kinds.Put(t, st, batch...)
		must(t, tests.ErrOf(db.Exec("UPDATE snowfence_lease SET label = 'not durable'")))
		p.Signal(t, syscall.SIGQUIT)
		p.Kill()
		p.Again(t)
		for _, w := range batch {
			var rs []store.Record
			fleet.Eventually(t, "a read after a crash", func() (err error) { // connections of before end late
				rs, _, err = st.Get(t.Context(), []store.Key{w.New.Key})
				return err
			})
			if rs[0].Nonce != "a" || rs[0].Label != record(0, "").Label {
				t.Errorf("after a crash: %+v", rs)
			}
		}
	}
	found, err := st.Report(t.Context())
	if err != nil || !slices.ContainsFunc(found,
		func(f sqlstore.Finding) bool { return f.Name == "synchronous_commit" && f.Advice != "" }) {
		t.Errorf("%+v, %v", found, err)
	}
}

// set changes a setting of a server.
func set(t *testing.T, p *servers.Postgres, what string) {
	t.Helper()
	p.SQL(t, "postgres", "ALTER SYSTEM SET "+what)
	p.SQL(t, "postgres", "SELECT pg_reload_conf()")
}

// reports waits until a report has such a finding, or has none: the server
// is a moment late.
func reports(t *testing.T, st *sqlstore.Store, when string, has bool, finding func(sqlstore.Finding) bool) {
	t.Helper()
	fleet.Eventually(t, when, func() error {
		found, err := st.Report(t.Context())
		if err == nil && slices.ContainsFunc(found, finding) != has {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
}

// TestPostgreSQLSettings changes settings under a store in use.
func TestPostgreSQLSettings(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	_, st := connect(t, p.URL("postgres"))
	must(t, swap(t, st, "", record(1, "a")))
	swaps := func(node int64, refused bool) { // backends take the configuration up a moment later
		for start := time.Now(); time.Since(start) < fleet.Patience(); node++ {
			if err := swap(t, st, "", record(node, "a")); (err != nil) == refused {
				return
			}
		}
		t.Errorf("refused is not %v", refused)
	}
	set(t, p, "fsync = off")
	swaps(1<<20, true)
	refused(t, st, "fsync=off, and a power failure forgets grants: set fsync=on")
	set(t, p, "fsync = on")
	swaps(2<<20, false)
	set(t, p, "full_page_writes = off")
	set(t, p, "synchronous_commit = local")
	swaps(3<<20, false)
	pages := func(f sqlstore.Finding) bool {
		return f.Name == "full_page_writes" && strings.HasSuffix(f.Advice, ": set it to on elsewhere")
	}
	reports(t, st, "off", true, pages)
	set(t, p, "full_page_writes = on")
	reports(t, st, "on", false, pages)
}

// TestStandby uses a standby, and connections that may not write.
func TestStandby(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	_, st := connect(t, p.URL("postgres"))
	must(t, swap(t, st, "", record(1, "a")))
	s := p.Standby(t)
	_, standby := connect(t, s.URL("postgres"))
	refused(t, standby, "standby: connect to the primary")
	_, readOnly := connect(t, p.URL("postgres")+"&default_transaction_read_only=on")
	refused(t, readOnly, "read-only: connect to the primary")
	replicas := func(f sqlstore.Finding) bool {
		return f.Name == "replicas" && strings.HasPrefix(f.Advice, "the replicas are asynchronous: ") &&
			strings.HasSuffix(f.Advice, "; set synchronous_standby_names to avoid it") ||
			f.Name == "synchronous_commit" && strings.HasSuffix(f.Advice, "; set it to on")
	}
	reports(t, st, "a standby", true, replicas) // it may answer before it has connected to the primary
	set(t, p, "synchronous_standby_names = '*'")
	reports(t, st, "a synchronous standby", false, replicas)
	set(t, p, "synchronous_commit = remote_write")
	reports(t, st, "a standby whose disk is not waited for", true, replicas)
	set(t, p, "synchronous_commit = on")
	reports(t, st, "a standby whose disk the primary waits for", false, replicas)
	must(t, tests.ErrOf(store.Identity(t.Context(), st, "")))
}

// TestConnectionsOfAPool keeps no connection that was read-only for a
// while, and reads once more after the database ended one. A server was
// away for 75 s, and was not ready for a moment.
func TestConnectionsOfAPool(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	db, st := connect(t, p.URL("postgres"))
	db.SetMaxOpenConns(2)
	nonce := ""
	write := func() error {
		next := nonce + "a"
		err := swap(t, st, nonce, record(1, next))
		if err == nil {
			nonce = next
		}
		return err
	}
	end := func() {
		p.SQL(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "+
			"AND backend_type = 'client backend'")
	}
	for range 3 {
		must(t, write())
		p.SQL(t, "postgres", "ALTER ROLE postgres SET default_transaction_read_only = on") // of new connections
		end()
		for range 3 {
			tests.Fails(t, write(), "a read-only database was written to")
		}
		p.SQL(t, "postgres", "BEGIN READ WRITE; ALTER ROLE postgres RESET default_transaction_read_only; COMMIT")
		for range 3 {
			tests.WantErr(t, write(), nil, "after it was right again")
		}
		end()
		if _, _, err := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}}); err != nil {
			t.Errorf("after the database ended a connection: %v", err)
		}
	}
}

// TestPostgreSQLRights uses the tables as a user who cannot make them, in a
// schema of its own and in public, as PostgreSQL 15 has it. It does what
// the errors say.
func TestPostgreSQLRights(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	p.SQL(t, "postgres", "CREATE USER u; CREATE SCHEMA fence; GRANT USAGE ON SCHEMA fence TO u")
	user := fmt.Sprintf("postgres://u@127.0.0.1:%d/postgres?sslmode=disable&search_path=fence", p.Port)
	_, early := connect(t, user)
	p.SQL(t, "postgres", fleet.Statements(t, early))
	must(t, swap(t, early, "", record(1, "a")))
	p.SQL(t, "postgres", `CREATE ROLE "Other User" LOGIN`)
	other, st := connect(t, fmt.Sprintf("postgres://Other%%20User@127.0.0.1:%d/postgres?sslmode=disable", p.Port))
	p.SQL(t, "postgres", fleet.Statements(t, st))
	fleet.OneLine(t, st, func(o *lease.Options) (*snowfence.Generator, error) {
		return sqlstore.Open(t.Context(), other, sqlstore.PostgreSQL(), o)
	})
	p.SQL(t, "postgres", "REVOKE SELECT, INSERT, UPDATE ON fence.snowfence_lease FROM u")
	refused(t, early, "GRANT SELECT, INSERT, UPDATE ON snowfence_lease, snowfence_meta to it")
	_, late := connect(t, user) // which finds the tables
	p.SQL(t, "postgres", fleet.Statements(t, late))
	must(t, swap(t, early, "a", record(1, "b")))
	must(t, tests.ErrOf(early.Report(t.Context())))
	if n := p.SQL(t, "postgres", "SELECT count(*) FROM fence.snowfence_lease"); n != "1" {
		t.Errorf("%s records in the schema", n)
	}
	_, nowhere := connect(t, p.URL("postgres")+"&search_path=nowhere")
	refused(t, nowhere, "search_path names no schema that exists: set it, or create the schema")
	p.SQL(t, "postgres", "CREATE SCHEMA nowhere")
	must(t, swap(t, nowhere, "", record(1, "a")))
}

// TestUnloggedTables refuses tables that a crash empties, and does what the
// error says.
func TestUnloggedTables(t *testing.T) {
	t.Parallel()
	d := onPostgres(t, servers.StartPostgres(t))
	_, st := connect(t, d.dsn)
	must(t, swap(t, st, "", record(1, "a")))
	for _, table := range []string{"snowfence_lease", "snowfence_meta"} {
		d.sql("ALTER TABLE " + table + " SET UNLOGGED")
		_, later := connect(t, d.dsn)
		refused(t, later, "ALTER TABLE snowfence_lease SET LOGGED; ALTER TABLE snowfence_meta SET LOGGED")
		d.sql("ALTER TABLE " + table + " SET LOGGED")
		_, later = connect(t, d.dsn)
		_, _, err := later.Heads(t.Context())
		must(t, err)
	}
}

// TestPostgreSQLLookalikes refuses servers that speak the protocol alone:
// here by a version() that hides the server's.
func TestPostgreSQLLookalikes(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	for _, c := range []struct{ version, want string }{
		{"CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/06/01 00:00:00, go1.23.7)", "the server is CockroachDB"},
		{"PostgreSQL 15.12-YB-2.25.2.0-b0 on x86_64-pc-linux-gnu, compiled by clang", "the server is YugabyteDB"},
	} {
		name := p.NewDatabase(t)
		p.SQL(t, name, "CREATE SCHEMA fence; CREATE FUNCTION fence.version() RETURNS text LANGUAGE sql"+
			" AS $$ SELECT '"+c.version+"' $$")
		_, st := connect(t, p.URL(name)+"&search_path=fence,pg_catalog")
		refused(t, st, c.want)
		if n := p.SQL(t, name, "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'snowfence%'"); n != "0" {
			t.Errorf("%s: %s tables were made", c.want, n)
		}
	}
}

// TestPostgreSQLPassword looks for a password in errors.
func TestPostgreSQLPassword(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	p.SQL(t, "postgres", "CREATE USER u PASSWORD 'right'")
	hba := filepath.Join(p.Dir, "pg_hba.conf")
	rules, err := os.ReadFile(hba)
	if err == nil {
		err = os.WriteFile(hba, append([]byte("host all u 127.0.0.1/32 scram-sha-256\n"), rules...), 0o600)
	}
	must(t, err)
	p.SQL(t, "postgres", "SELECT pg_reload_conf()")
	port := servers.Ports(t, 1)[0]
	for _, at := range []string{
		fmt.Sprintf("127.0.0.1:%d/postgres", p.Port), fmt.Sprintf("127.0.0.1:%d/nothing", p.Port),
		fmt.Sprintf("127.0.0.1:%d/postgres", port),
	} {
		const secret = "s3cr3t/%&"
		_, st := connect(t, "postgres://u:"+url.QueryEscape(secret)+"@"+at+"?sslmode=disable")
		err := swap(t, st, "", record(1, "a"))
		if err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("at %s: %v", at, err)
		}
	}
}
