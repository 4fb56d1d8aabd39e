package mysql

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// hold takes connections as a user, and keeps them.
func hold(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	for range n {
		var c *sql.Conn
		fleet.Eventually(t, "a connection", func() (err error) { // the server ends earlier ones a moment later
			c, err = db.Conn(t.Context())
			return err
		})
		t.Cleanup(func() { _ = c.Close() }) // the test may have ended it
	}
}

// TestTooManyConnections has a program take all connections, and allows
// more, as the error says.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t, "--max-connections=10")
	name := m.NewDatabase(t)
	m.SQL(t, "", "CREATE USER u; GRANT ALL ON "+name+".* TO u")
	dsn := fmt.Sprintf("u@tcp(127.0.0.1:%d)/%s", m.Port, name)
	others, _ := connect(t, dsn)
	hold(t, others, 10)
	_, st := connect(t, dsn)
	refused(t, st, "the server has too many connections: let programs use fewer, or allow more (max_connections)")
	m.SQL(t, "", "SET GLOBAL max_connections = 20") // one more is kept for root
	if err := swap(t, st, "", record(1, "a")); err != nil {
		t.Error(err)
	}
}

// TestHeldSchemaLock has a connection keep the lock under which tables are
// made. The error, after 30 s, says how to find it.
func TestHeldSchemaLock(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	name := m.NewDatabase(t)
	stuck, st := connect(t, m.DSN(name))
	c, err := stuck.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got, number int
	if err := c.QueryRowContext(t.Context(), "SELECT GET_LOCK('snowfence_schema', 0), CONNECTION_ID()").Scan(&got,
		&number); err != nil || got != 1 {
		t.Fatal(got, err)
	}
	const query = "SELECT IS_USED_LOCK('snowfence_schema')"
	if err := swap(t, st, "", record(1, "a")); err == nil || !strings.Contains(err.Error(),
		"end it ("+query+" names its connection)") {
		t.Fatal(err)
	}
	found := m.SQL(t, "", query)
	if found != fmt.Sprint(number) {
		t.Fatalf("connection %d has the lock, and the query names %s", number, found)
	}
	m.SQL(t, "", "KILL "+found)
	if err := swap(t, st, "", record(1, "a")); err != nil {
		t.Error(err)
	}
}
