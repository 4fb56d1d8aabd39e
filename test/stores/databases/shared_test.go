package databases

import (
	"bytes"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/relay"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestLostAnswer loses the answer to a commit: the result is unknown, which
// is neither done nor lost.
func TestLostAnswer(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string, open func(testing.TB) database) {
		d := open(t)
		var commits atomic.Pointer[string] // the next statement with this is answered into nowhere
		var lose atomic.Bool
		way := relay.Start(t, d.address, func(_ *relay.Conn, b []byte) []byte {
			if word := commits.Load(); word != nil && bytes.Contains(b, []byte(*word)) {
				commits.Store(nil)
				lose.Store(true)
			}
			return b
		}, func(_ *relay.Conn, b []byte) []byte {
			if lose.Swap(false) {
				return nil
			}
			return b
		})
		_, direct := connect(t, d.dsn)
		db, st := connect(t, strings.Replace(d.dsn, d.address, way.Address, 1))
		db.SetMaxOpenConns(1)
		words := []string{"secondnonce", "secondnonce"} // of the statement that commits: one record, and a batch
		if kind == "MariaDB" {
			words = []string{"UPDATE snowfence_lease SET nonce", "COMMIT"}
		}
		for i, word := range words {
			var first, second []store.Write
			for _, n := range []int64{int64(i) * 10, int64(i)*10 + 1}[:i+1] {
				first = append(first, store.Write{New: record(n, "a")})
				second = append(second, store.Write{Old: "a", New: record(n, "secondnonce")})
			}
			kinds.Put(t, st, first...)
			commits.Store(&word)
			errs, _, _ := st.Swap(t.Context(), second)
			for _, err := range errs {
				if err == nil || errors.Is(err, store.ErrLost) {
					t.Errorf("a swap without an answer: %v", err)
				}
			}
			if commits.Load() != nil {
				t.Fatal("nothing was cut")
			}
			// It was done, if perhaps a moment later: a lock of the row is
			// only had after it.
			for _, w := range second {
				tests.WantErr(t, swap(t, direct, "secondnonce", record(w.New.Node, "c")), nil,
					"what was written without an answer")
			}
		}
	})
}

// TestTables finds tables that are not the ones it needs.
func TestTables(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string, open func(testing.TB) database) {
		const (
			meta  = "CREATE TABLE snowfence_meta (name varchar(64) primary key, value varchar(255)); "
			later = "INSERT INTO snowfence_meta VALUES ('id', 'x'), ('version', '99'); "
			other = "CREATE TABLE snowfence_lease (id int)"
		)
		wants := map[string]string{other: "another program's", meta + later + other: "use the program that made them"}
		if kind == "PostgreSQL" {
			wants["CREATE TABLE snowfence_meta (id int)"] = "does not exist"
		} else {
			wants[other+" ENGINE=MyISAM"] = "engine MyISAM"
		}
		for setup, want := range wants {
			d := open(t)
			d.sql(setup)
			_, st := connect(t, d.dsn)
			refused(t, st, want)
		}
		d := open(t)
		_, st := connect(t, d.dsn)
		must(t, swap(t, st, "", record(1, "a")))
		d.sql("DROP TABLE snowfence_lease")
		refused(t, st, "the tables are not there")
	})
}

// TestTooManyConnections has a program take all connections that the server
// allows. The error says what to do; with fewer of them, or more allowed,
// the store goes on.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		p := servers.StartPostgres(t, "max_connections=8", "superuser_reserved_connections=1")
		d := onPostgres(t, p)
		d.sql("CREATE USER u; GRANT CREATE ON SCHEMA public TO u")
		tooMany(t, strings.Replace(d.dsn, "postgres@", "u@", 1), 7, func(one *sql.Conn) { must(t, one.Close()) })
	})
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		d := onMariaDB(t, servers.StartMariaDB(t, "--max-connections=10"))
		d.sql("CREATE USER u; GRANT ALL ON " + d.name + ".* TO u")
		tooMany(t, strings.Replace(d.dsn, "root@", "u@", 1), 10, func(*sql.Conn) {
			d.sql("SET GLOBAL max_connections = 20") // one more is kept for root
		})
	})
}

// tooMany takes all connections of a user, and then does what the error
// says.
func tooMany(t *testing.T, dsn string, all int, heed func(one *sql.Conn)) {
	t.Helper()
	others, _ := connect(t, dsn)
	others.SetMaxIdleConns(-1)
	var one *sql.Conn
	for range all {
		fleet.Eventually(t, "a connection", func() (err error) { // the server ends earlier ones a moment later
			one, err = others.Conn(t.Context())
			return err
		})
	}
	_, st := connect(t, dsn)
	refused(t, st, "the server has too many connections: let programs use fewer, or allow more (max_connections)")
	heed(one)
	fleet.Eventually(t, "a swap", func() error { return swap(t, st, "", record(1, "a")) })
}
