package postgres

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestTooManyConnections has a program take all connections that the server
// allows. It uses fewer then, as the error says, and both its work and the
// store go on.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "max_connections=8", "superuser_reserved_connections=1")
	p.SQL(t, "postgres", "CREATE USER u; GRANT CREATE ON SCHEMA public TO u")
	db, st := connect(t, fmt.Sprintf("postgres://u@127.0.0.1:%d/postgres?sslmode=disable", p.Port))
	work := func(n int) (release func()) {
		t.Helper()
		var conns []*sql.Conn
		for range n {
			var c *sql.Conn
			fleet.Eventually(t, "a connection", func() (err error) { // the server ends earlier ones a moment later
				c, err = db.Conn(t.Context())
				return err
			})
			conns = append(conns, c)
		}
		return func() {
			for _, c := range conns {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	release := work(7)
	refused(t, st, "the server has too many connections: let programs use fewer, or allow more (max_connections)")
	release()
	db.SetMaxOpenConns(4)
	release = work(4)
	time.AfterFunc(50*time.Millisecond, release)
	deadline := time.Now().Add(fleet.Patience()) // the server takes a moment to free a connection that was closed
	err := swap(t, st, "", record(1, "a"))
	for err != nil && strings.Contains(err.Error(), "too many connections") && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
		err = swap(t, st, "", record(1, "a"))
	}
	if err != nil {
		t.Error(err)
	}
}

// TestStatementTimeout: a statement that waits for a lock is ended, and the
// error says what to do.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t)
	p.SQL(t, "postgres", "CREATE USER u; GRANT CREATE ON SCHEMA public TO u")
	url := fmt.Sprintf("postgres://u@127.0.0.1:%d/postgres?sslmode=disable", p.Port)
	_, st := connect(t, url)
	if err := swap(t, st, "", record(1, "a")); err != nil {
		t.Fatal(err)
	}
	locker, _ := connect(t, p.URL("postgres"))
	tx, err := locker.Begin()
	if err == nil {
		_, err = tx.Exec("LOCK TABLE snowfence_lease")
	}
	if err != nil {
		t.Fatal(err)
	}
	p.SQL(t, "postgres", "ALTER ROLE u SET statement_timeout = '100ms'")
	_, st = connect(t, url)
	refused(t, st, "ALTER ROLE … SET statement_timeout = '10s'")
	p.SQL(t, "postgres", "ALTER ROLE u SET statement_timeout = '10s'")
	_, st = connect(t, url)
	time.AfterFunc(200*time.Millisecond, func() { _ = tx.Rollback() })
	if _, err := st.Now(t.Context()); err != nil {
		t.Error(err)
	}
	if err := swap(t, st, "", record(2, "a")); err != nil {
		t.Error(err)
	}
}
