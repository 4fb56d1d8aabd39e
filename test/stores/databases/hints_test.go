package databases

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
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
