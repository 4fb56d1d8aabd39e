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

// TestTooManyConnections has a program take all connections that the server allows. It
// uses fewer then, as the error says, and both its work and the store go on.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "max_connections=8", "superuser_reserved_connections=1")
	p.SQL(t, "postgres", "CREATE USER u; GRANT CREATE ON SCHEMA public TO u")
	db, st := connect(t, fmt.Sprintf("postgres://u@127.0.0.1:%d/postgres?sslmode=disable", p.Port))
	work := func(n int) (release func()) {
		t.Helper()
		var conns []*sql.Conn
		for range n {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
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
	refused(t, st, "the server has too many connections: let this program use fewer (SetMaxOpenConns), or allow more")
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
