package program

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// runAs runs the program over a store, and returns its exit code and what
// it printed.
func runAs(t *testing.T, url string, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.Command(servers.Program(t, servers.Snowfence), args...)
	cmd.Env = append(os.Environ(), "SNOWFENCE_STORE="+url, "SNOWFENCE_IGNORE=clock-sync")
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// TestDoctorMayOnlyRead looks at PostgreSQL with a role that may only read,
// and changes nothing: not an empty database, and not one whose data was
// restored.
func TestDoctorMayOnlyRead(t *testing.T) {
	p := servers.StartPostgres(t)
	db := p.NewDatabase(t)
	p.SQL(t, db, "CREATE ROLE reader LOGIN; CREATE ROLE half LOGIN")
	owner := p.URL(db)
	as := func(role string) string { return strings.Replace(owner, "postgres@", role+"@", 1) }
	expect := func(url string, want int, lines ...string) {
		t.Helper()
		code, out := runAs(t, url, "doctor")
		if code != want {
			t.Errorf("exit code %d, want %d\n%s", code, want, out)
		}
		for _, line := range lines {
			if !regexp.MustCompile("(?m)^" + line).MatchString(out) {
				t.Errorf("%q is missing\n%s", line, out)
			}
		}
	}
	expect(owner, 3, "store-missing: finding: ")
	if n := p.SQL(t, db, "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'snowfence%'"); n != "0" {
		t.Errorf("doctor made %s tables", n)
	}
	if code, out := runAs(t, owner, "new"); code != 0 {
		t.Fatal(out)
	}
	p.SQL(t, db, "GRANT SELECT ON snowfence_meta, snowfence_lease TO reader, half;"+
		"GRANT INSERT ON snowfence_lease TO half")
	expect(as("reader"), 0, "store-rights: not checked: this role may only read", "good: .*clock-offset",
		"good: .*store-durability", "good: .*store-version", "good: .*store-identity")
	expect(as("half"), 3, "store-rights: finding: the role has SELECT, INSERT on the tables")
	expect(owner, 0, "good: .*store-rights")

	// A row that no swap wrote: programs give the data another identity,
	// doctor does not.
	p.SQL(t, db, "UPDATE snowfence_lease SET label = 'by hand'")
	const state = "SELECT string_agg(name || '=' || value, ',' ORDER BY name) FROM snowfence_meta"
	before := p.SQL(t, db, state)
	for _, url := range []string{as("reader"), owner} {
		expect(url, 3, "store-restored: finding: ")
	}
	if after := p.SQL(t, db, state); after != before {
		t.Errorf("doctor changed %s to %s", before, after)
	}
}

// TestWhatAnswered: an error names first what the server answered, also
// where TLS failed before.
func TestWhatAnswered(t *testing.T) {
	p := servers.StartPostgres(t)
	p.SQL(t, "postgres", "CREATE USER app PASSWORD 'right'; GRANT CREATE ON SCHEMA public TO app")
	rules := "host all postgres 127.0.0.1/32 trust\nhost all app 127.0.0.1/32 scram-sha-256\n"
	must(t, os.WriteFile(filepath.Join(p.Dir, "pg_hba.conf"), []byte(rules), 0o600))
	p.SQL(t, "postgres", "SELECT pg_reload_conf()")
	at := func(password, database string) string {
		return fmt.Sprintf("postgres://app:%s@127.0.0.1:%d/%s", password, p.Port, database)
	}
	if code, out := runAs(t, at("right", "postgres"), "new"); code != 0 {
		t.Fatal(out)
	}
	db, err := sql.Open("pgx", p.URL("postgres"))
	must(t, err)
	defer db.Close()
	tx, err := db.Begin()
	if err == nil {
		_, err = tx.Exec("LOCK TABLE snowfence_lease, snowfence_meta")
	}
	must(t, err)
	deadline := time.Now().Add(fleet.Patience())
	for url, want := range map[string]string{
		at("another", "postgres"): "the password is wrong",
		at("right", "none"):       "the database does not exist",
		at("right", "postgres"):   "another session locks snowfence_lease",
	} {
		for _, command := range [][]string{{"lease", "list"}, {"doctor"}} {
			code, out := runAs(t, url, command...)
			// A slow machine has no answer in time, now and then.
			for strings.Contains(out, "is it running") && time.Now().Before(deadline) {
				code, out = runAs(t, url, command...)
			}
			before, _, ok := strings.Cut(out, want)
			if code == 0 || !ok || strings.Contains(before, "tls error") || strings.Contains(out, "is it running") {
				t.Errorf("%v: exit code %d, want %q first\n%s", command, code, want, out)
			}
		}
	}
	must(t, tx.Rollback())
}
