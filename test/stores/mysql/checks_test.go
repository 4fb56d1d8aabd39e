package mysql

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// record is one to write.
func record(node int64, nonce string) store.Record {
	return store.Record{Key: store.Key{Namespace: "n", Node: node}, Nonce: nonce, Revision: 1, Label: "läbel 日本 😀"}
}

func swap(t *testing.T, st store.Store, old string, r store.Record) error {
	t.Helper()
	return st.Swap(t.Context(), []store.Write{{Old: old, New: r}})[0]
}

// refused checks that a store refuses reads and writes with a text.
func refused(t *testing.T, st store.Store, want string) {
	t.Helper()
	_, err := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a read: %v, which should say %q", err, want)
	}
	batch := []store.Write{{New: record(98, "x")}, {New: record(99, "x")}}
	for _, writes := range [][]store.Write{batch, batch[:1]} {
		for _, err := range st.Swap(t.Context(), writes) {
			if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), want) {
				t.Errorf("a write: %v, which should say %q", err, want)
			}
		}
	}
}

// TestSettings changes settings under a store in use.
func TestSettings(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t, "--log-bin", "--sync-binlog=1", "--server-id=3")
	name := m.NewDatabase(t)
	_, st := connect(t, m.DSN(name))
	if err := swap(t, st, "", record(1, "a")); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ set, back, want string }{
		{"innodb_flush_log_at_trx_commit = 2", "innodb_flush_log_at_trx_commit = 1", "innodb_flush_log_at_trx_commit is not 1: SET GLOBAL innodb_flush_log_at_trx_commit = 1,"},
		{"innodb_flush_log_at_trx_commit = 0", "innodb_flush_log_at_trx_commit = 1", "innodb_flush_log_at_trx_commit is not 1"},
		{"sync_binlog = 0", "sync_binlog = 1", "sync_binlog is not 1: SET GLOBAL sync_binlog = 1,"},
		{"read_only = 1", "read_only = 0", "read_only, as replicas are"},
	} {
		m.SQL(t, "", "SET GLOBAL "+c.set)
		refused(t, st, c.want)
		m.SQL(t, "", "SET GLOBAL "+c.back)
		if err := swap(t, st, "", record(int64(i+10), "a")); err != nil {
			t.Errorf("after %s: %v", c.back, err)
		}
	}
	_, uncommitted := connect(t, m.DSN(name)+"?autocommit=0")
	refused(t, uncommitted, "autocommit=0")
	_, dirty := connect(t, m.DSN(name)+"?tx_isolation=%27READ-UNCOMMITTED%27")
	refused(t, dirty, "READ-UNCOMMITTED, and reads what may never be committed: set REPEATABLE-READ")
	_, clean := connect(t, m.DSN(name)+"?tx_isolation=%27REPEATABLE-READ%27")
	if err := swap(t, clean, "", record(20, "a")); err != nil {
		t.Errorf("with REPEATABLE-READ: %v", err)
	}
	for _, format := range []string{"ROW", "STATEMENT"} {
		m.SQL(t, "", "SET GLOBAL binlog_format = "+format)
		_, st := connect(t, m.DSN(name))
		found, err := st.Report(t.Context())
		advised := map[string]bool{}
		for _, f := range found {
			advised[f.Name] = f.Advice != ""
		}
		if err != nil || !advised["log_bin"] || advised["binlog_format"] != (format == "STATEMENT") {
			t.Errorf("%s: %+v, %v", format, found, err)
		}
	}
}

// TestDoubleWrite uses a server that may write half a page, and one with
// the advised setting.
func TestDoubleWrite(t *testing.T) {
	t.Parallel()
	for value, advised := range map[string]bool{"OFF": true, "ON": false} {
		m := servers.StartMariaDB(t, "--innodb-doublewrite="+value)
		_, st := connect(t, m.DSN(m.NewDatabase(t)))
		found, err := st.Report(t.Context())
		if err != nil || advised != slices.ContainsFunc(found, func(f sqlstore.Finding) bool {
			return f.Name == "innodb_doublewrite" && strings.HasSuffix(f.Advice, ": set it to on elsewhere")
		}) {
			t.Errorf("%s: %+v, %v", value, found, err)
		}
	}
}

// TestLostAnswer loses the answer to a commit: the result is unknown, which
// is neither done nor lost.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	name := m.NewDatabase(t)
	c := fleet.NewCutter(t, servers.Address(m.Port))
	_, direct := connect(t, m.DSN(name))
	db, st := connect(t, fmt.Sprintf("root@tcp(127.0.0.1:%d)/%s", c.Port, name))
	db.SetMaxOpenConns(1)
	for i, word := range []string{"UPDATE snowfence_lease SET nonce", "COMMIT"} {
		nodes := []int64{int64(i) * 10, int64(i)*10 + 1}[:i+1]
		var first, second []store.Write
		for _, n := range nodes {
			first = append(first, store.Write{New: record(n, "a")})
			second = append(second, store.Write{Old: "a", New: record(n, "b")})
		}
		for _, err := range st.Swap(t.Context(), first) {
			if err != nil {
				t.Fatal(err)
			}
		}
		c.Cut(word)
		for _, err := range st.Swap(t.Context(), second) {
			if err == nil || errors.Is(err, store.ErrLost) {
				t.Errorf("a swap without an answer: %v", err)
			}
		}
		if c.Cuts() != i+1 {
			t.Fatal("nothing was cut")
		}
		for _, n := range nodes { // it was done
			if err := swap(t, direct, "b", record(n, "c")); err != nil {
				t.Errorf("what was written without an answer: %v", err)
			}
		}
	}
}

// TestRights uses the tables as a user who cannot make them, and whose
// password must not be told. It does what the errors say.
func TestRights(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	name := m.NewDatabase(t)
	m.SQL(t, "", "CREATE USER u IDENTIFIED BY 'right'; GRANT SELECT ON "+name+".* TO u")
	dsn := fmt.Sprintf("u:right@tcp(127.0.0.1:%d)/%s", m.Port, name)
	_, user := connect(t, dsn)
	m.SQL(t, "", fleet.Statements(t, user))
	_, user = connect(t, dsn) // connections keep the rights they began with
	if err := swap(t, user, "", record(1, "a")); err != nil {
		t.Fatal(err)
	}
	m.SQL(t, "", "REVOKE UPDATE ON "+name+".snowfence_lease FROM u")
	_, user = connect(t, dsn)
	if err := swap(t, user, "a", record(1, "b")); err == nil || !strings.Contains(err.Error(),
		"GRANT SELECT, INSERT, UPDATE on the tables") {
		t.Errorf("without the right to write: %v", err)
	}
	m.SQL(t, "", "GRANT SELECT, INSERT, UPDATE ON "+name+".snowfence_lease TO u")
	db, user := connect(t, dsn)
	if err := swap(t, user, "a", record(1, "b")); err != nil {
		t.Error(err)
	}
	fleet.OneLine(t, user, func(o *lease.Options) (*snowfence.Generator, error) {
		return sqlstore.Open(t.Context(), db, sqlstore.MySQL(), o)
	})
	if _, err := user.Report(t.Context()); err != nil {
		t.Error(err)
	}
	port := servers.Ports(t, 1)[0]
	for _, dsn := range []string{
		fmt.Sprintf("u:s3cr3t@tcp(127.0.0.1:%d)/%s", m.Port, name), fmt.Sprintf("u:s3cr3t@tcp(127.0.0.1:%d)/%s",
			port, name), fmt.Sprintf("root:s3cr3t@tcp(127.0.0.1:%d)/nothing", m.Port),
	} {
		_, st := connect(t, dsn)
		if err := swap(t, st, "", record(1, "a")); err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("a password: %v", err)
		}
	}
}

// TestTables: the store refuses tables of another shape.
func TestTables(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	for _, c := range []struct{ setup, want string }{
		{"CREATE TABLE snowfence_lease (id int)", "another program's"},
		{"CREATE TABLE snowfence_lease (id int) ENGINE=MyISAM", "engine MyISAM"},
		{"CREATE TABLE snowfence_meta (name varchar(64) primary key, value varchar(255)); INSERT INTO snowfence_meta VALUES ('id', 'x'), ('version', '99')", "use the program that made them"},
	} {
		name := m.NewDatabase(t)
		m.SQL(t, name, c.setup)
		_, st := connect(t, m.DSN(name))
		refused(t, st, c.want)
	}
	_, none := connect(t, m.DSN(""))
	refused(t, none, "has no database")
	name := m.NewDatabase(t)
	_, st := connect(t, m.DSN(name))
	if err := swap(t, st, "", record(1, "a")); err != nil {
		t.Fatal(err)
	}
	m.SQL(t, name, "DROP TABLE snowfence_lease")
	refused(t, st, "the tables are not there")
}

// TestLookalikes: the store refuses a server that only speaks the protocol
// of MySQL, here by the version that it names.
func TestLookalikes(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t, "--version=8.0.11-TiDB-v8.5.1")
	name := m.NewDatabase(t)
	_, st := connect(t, m.DSN(name))
	refused(t, st, "the server is TiDB")
	if n := m.SQL(t, name, "SHOW TABLES"); n != "" {
		t.Errorf("tables were made: %s", n)
	}
}

// TestEngine does what the error says.
func TestEngine(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	name := m.NewDatabase(t)
	_, st := connect(t, m.DSN(name))
	if err := swap(t, st, "", record(1, "a")); err != nil {
		t.Fatal(err)
	}
	m.SQL(t, name, "ALTER TABLE snowfence_lease ENGINE=MyISAM")
	_, st = connect(t, m.DSN(name))
	refused(t, st, "which forgets grants: ALTER TABLE snowfence_lease ENGINE=InnoDB")
	m.SQL(t, name, "ALTER TABLE snowfence_lease ENGINE=InnoDB")
	if err := swap(t, st, "a", record(1, "b")); err != nil {
		t.Error(err)
	}
}

// TestBytes keeps texts apart that a collation may take for the same, also
// over connections with odd settings.
func TestBytes(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	for _, params := range []string{
		"", "?clientFoundRows=true&parseTime=true",
		"?charset=latin1&interpolateParams=true", "?sql_mode=" + url.QueryEscape("'ANSI,NO_BACKSLASH_ESCAPES'"),
		"?sql_mode=%27%27",
	} {
		_, st := connect(t, m.DSN(m.NewDatabase(t))+params)
		var keys []store.Key
		var want []store.Record
		for i, namespace := range []string{"a", "A", "á", "a ", "ä", "a\u0308", "'\\\"?😀"} {
			var rs []store.Record
			for n := range int64(3) { // one by itself and two in a batch
				r := record(n, fmt.Sprint("nonce ", i))
				r.Namespace, r.Label, r.Holder = namespace, namespace, namespace
				keys, rs = append(keys, r.Key), append(rs, r)
			}
			want = append(want, rs...)
			if err := swap(t, st, "", rs[0]); err != nil {
				t.Errorf("%q: %v", namespace, err)
			}
			for _, err := range st.Swap(t.Context(), []store.Write{{New: rs[1]}, {New: rs[2]}}) {
				if err != nil {
					t.Errorf("%q: %v", namespace, err)
				}
			}
			for _, wrong := range []string{fmt.Sprint("NONCE ", i), fmt.Sprint("nonce ", i, " "), ""} {
				changed := slices.Clone(rs)
				for n := range changed {
					changed[n].Nonce = "other"
				}
				batch := []store.Write{{Old: wrong, New: changed[0]}, {Old: wrong, New: changed[1]}}
				for _, writes := range [][]store.Write{batch, batch[:1]} {
					for _, err := range st.Swap(t.Context(), writes) {
						if !errors.Is(err, store.ErrLost) {
							t.Errorf("%s: nonce %q: %v", params, wrong, err)
						}
					}
				}
			}
		}
		rs, err := st.Get(t.Context(), keys)
		if err != nil || !slices.Equal(rs, want) {
			t.Errorf("%s: %+v, %v", params, rs, err)
		}
	}
}
