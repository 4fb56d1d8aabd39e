package databases

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/lib/pq"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestStatementTimeout: a statement that waits for a lock is ended, or a
// function is closed, and the error says what to do.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	p.SQL(t, "postgres", "CREATE USER u; GRANT CREATE ON SCHEMA public TO u")
	url := fmt.Sprintf("postgres://u@127.0.0.1:%d/postgres?sslmode=disable", p.Port)
	_, st := connect(t, url)
	p.SQL(t, "postgres", "REVOKE EXECUTE ON FUNCTION pg_advisory_xact_lock(bigint) FROM PUBLIC")
	refused(t, st, "EXECUTE ON FUNCTION") // and no tables that an administrator shall make
	p.SQL(t, "postgres", "GRANT EXECUTE ON FUNCTION pg_advisory_xact_lock(bigint) TO PUBLIC")
	must(t, swap(t, st, "", record(1, "a")))
	locker, _ := connect(t, p.URL("postgres"))
	tx, err := locker.Begin()
	if err == nil {
		_, err = tx.Exec("LOCK TABLE snowfence_lease")
	}
	must(t, err)
	p.SQL(t, "postgres", "ALTER ROLE u SET statement_timeout = '100ms'")
	_, st = connect(t, url)
	refused(t, st, "ALTER ROLE … SET statement_timeout = '10s'")
	p.SQL(t, "postgres", "ALTER ROLE u SET statement_timeout = '10s'")
	_, st = connect(t, url)
	time.AfterFunc(200*time.Millisecond, func() { _ = tx.Rollback() })
	must(t, tests.ErrOf(store.Ask(t.Context(), st, "")))
	must(t, swap(t, st, "", record(2, "a")))
}

// TestHeldSchemaLock has a connection keep the lock under which MariaDB's
// tables are made. The error, after 30 s, says how to find it.
func TestHeldSchemaLock(t *testing.T) {
	t.Parallel()
	d := onMariaDB(t, servers.StartMariaDB(t))
	stuck, st := connect(t, d.dsn)
	c, err := stuck.Conn(t.Context())
	must(t, err)
	defer c.Close()
	var got, number int
	lock := c.QueryRowContext(t.Context(), "SELECT GET_LOCK('snowfence_schema', 0), CONNECTION_ID()")
	must(t, lock.Scan(&got, &number))
	const query = "SELECT IS_USED_LOCK('snowfence_schema')"
	tests.Says(t, swap(t, st, "", record(1, "a")), "end it ("+query+" names its connection)", "a swap")
	found := d.sql(query)
	if got != 1 || found != fmt.Sprint(number) {
		t.Fatalf("connection %d has the lock, and the query names %s", number, found)
	}
	d.sql("KILL " + found)
	must(t, swap(t, st, "", record(1, "a")))
}

// TestPgbouncer puts pgbouncer between programs and PostgreSQL, with the
// settings of docs/choose/stores.md: each transaction gets another
// connection.
func TestPgbouncer(t *testing.T) {
	servers.Later(t)
	path := servers.Need(t, "pgbouncer", "pgbouncer")[0]
	p := servers.StartPostgres(t)
	dir, err := os.MkdirTemp("", "pgbouncer") // which its user can enter
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	port, file := servers.Ports(t, 1)[0], filepath.Join(dir, "ini")
	text := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d user=postgres\n[pgbouncer]\nauth_type = any\n"+
		"listen_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\npool_mode = transaction\n"+
		"ignore_startup_parameters = extra_float_digits,search_path\n", p.Port, port)
	must(t, os.WriteFile(file, []byte(text), 0o644))
	args := []string{file}
	if os.Getuid() == 0 { // it refuses to run as root
		args = append(args, "-u", "postgres")
		must(t, os.Chmod(dir, 0o755))
	}
	servers.Start(t, "pgbouncer", path, args, nil).Ready(t, func() error {
		return opened(t, "pgx", pooled(port, "postgres", "default_query_exec_mode=exec")).Ping()
	})
	other := pooled(port, p.NewDatabase(t), "default_query_exec_mode=exec&search_path=snowfence")
	create := exec.Command(servers.Program(t, servers.Snowfence), "namespace", "create", "x", "--store", other)
	if out, err := create.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("ALTER ROLE name SET")) {
		t.Errorf("a pooler dropped it: %s, %v", out, err)
	}
	for driver, setting := range map[string]string{
		"pgx": "default_query_exec_mode=exec", "postgres": "binary_parameters=yes", // lib/pq
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Store {
				db := opened(t, driver, pooled(port, p.NewDatabase(t), setting))
				db.SetMaxOpenConns(4) // many tests at once
				st, err := sqlstore.New(db, sqlstore.PostgreSQL())
				must(t, err)
				return st
			})
			db := opened(t, driver, pooled(port, p.NewDatabase(t), setting))
			ids, err := sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL(),
				&lease.Options{Create: true, TTL: 2 * time.Second})
			must(t, err)
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				must(t, tests.ErrOf(ids.Next(t.Context())))
			}
			must(t, ids.Close())
			st, err := sqlstore.New(db, sqlstore.PostgreSQL())
			if err == nil {
				err = sequence.Create(t.Context(), st, "bills", sequence.Definition{Mode: sequence.Strict})
			}
			must(t, err)
			for want := int64(1); want <= 3; want++ {
				tx, err := db.BeginTx(t.Context(), nil)
				must(t, err)
				n, err := sqlstore.SequenceTx(t.Context(), tx, sqlstore.PostgreSQL(), "bills")
				if err == nil {
					err = tx.Commit()
				}
				if err != nil || n.N != want {
					t.Fatalf("in a transaction: %+v, want %d: %v", n, want, err)
				}
			}
		})
	}
}

// pooled is the URL of a database behind pgbouncer.
func pooled(port int, database, setting string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable&%s", port, database, setting)
}
