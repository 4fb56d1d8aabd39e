package databases

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestMariaDBSettings changes settings under a store in use.
func TestMariaDBSettings(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t, "--log-bin", "--sync-binlog=1", "--server-id=3")
	name := m.NewDatabase(t)
	_, st := connect(t, m.DSN(name))
	must(t, swap(t, st, "", record(1, "a")))
	for i, c := range []struct{ set, back, want string }{
		{"innodb_flush_log_at_trx_commit = 2", "innodb_flush_log_at_trx_commit = 1", "innodb_flush_log_at_trx_commit is not 1: SET GLOBAL innodb_flush_log_at_trx_commit = 1,"},
		{"innodb_flush_log_at_trx_commit = 0", "innodb_flush_log_at_trx_commit = 1", "innodb_flush_log_at_trx_commit is not 1"},
		{"sync_binlog = 0", "sync_binlog = 1", "sync_binlog is not 1: SET GLOBAL sync_binlog = 1,"},
		{"read_only = 1", "read_only = 0", "read_only, as replicas are"},
	} {
		m.SQL(t, "", "SET GLOBAL "+c.set)
		refused(t, st, c.want)
		m.SQL(t, "", "SET GLOBAL "+c.back)
		tests.WantErr(t, swap(t, st, "", record(int64(i+10), "a")), nil, "after %s", c.back)
	}
	_, uncommitted := connect(t, m.DSN(name)+"?autocommit=0")
	refused(t, uncommitted, "autocommit=0")
	_, short := connect(t, m.DSN(name)+"?sql_select_limit=1")
	refused(t, short, "leave sql_select_limit at its default")
	_, dirty := connect(t, m.DSN(name)+"?tx_isolation=%27READ-UNCOMMITTED%27")
	refused(t, dirty, "READ-UNCOMMITTED, and reads what may never be committed: set REPEATABLE-READ")
	_, clean := connect(t, m.DSN(name)+"?tx_isolation=%27REPEATABLE-READ%27")
	tests.WantErr(t, swap(t, clean, "", record(20, "a")), nil, "with REPEATABLE-READ")
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

// TestMariaDBRights uses the tables as a user who cannot make them, and
// whose password must not be told. It does what the errors say.
func TestMariaDBRights(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	name := m.NewDatabase(t)
	m.SQL(t, "", "CREATE USER u IDENTIFIED BY 'right'; GRANT SELECT ON "+name+".* TO u")
	dsn := fmt.Sprintf("u:right@tcp(127.0.0.1:%d)/%s", m.Port, name)
	_, user := connect(t, dsn)
	m.SQL(t, "", fleet.Statements(t, user))
	_, user = connect(t, dsn) // connections keep the rights they began with
	must(t, swap(t, user, "", record(1, "a")))
	m.SQL(t, "", "REVOKE UPDATE ON "+name+".snowfence_lease FROM u")
	_, user = connect(t, dsn)
	tests.Says(t, swap(t, user, "a", record(1, "b")),
		"GRANT SELECT, INSERT, UPDATE on the tables", "without the right to write")
	m.SQL(t, "", "GRANT SELECT, INSERT, UPDATE ON "+name+".snowfence_lease TO u")
	db, user := connect(t, dsn)
	must(t, swap(t, user, "a", record(1, "b")))
	fleet.OneLine(t, user, func(o *lease.Options) (*snowfence.Generator, error) {
		return sqlstore.Open(t.Context(), db, sqlstore.MySQL(), o)
	})
	must(t, tests.ErrOf(user.Report(t.Context())))
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

// TestMariaDBLookalikes: the store refuses a server that only speaks the
// protocol of MySQL, here by the version that it names, and one that does
// not write.
func TestMariaDBLookalikes(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t, "--version=8.0.11-TiDB-v8.5.1")
	name := m.NewDatabase(t)
	_, st := connect(t, m.DSN(name))
	refused(t, st, "the server is TiDB")
	if n := m.SQL(t, name, "SHOW TABLES"); n != "" {
		t.Errorf("tables were made: %s", n)
	}
	m = servers.StartMariaDB(t, "--innodb-read-only") // as readers of Aurora have it
	_, st = connect(t, m.DSN(m.NewDatabase(t)))
	refused(t, st, "read_only, as replicas are")
}

// TestEngine does what the error says. The server makes other tables than
// the store needs, unless it is told which.
func TestEngine(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t, "--default-storage-engine=MyISAM")
	name := m.NewDatabase(t)
	_, st := connect(t, m.DSN(name))
	must(t, swap(t, st, "", record(1, "a")))
	engines := "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = DATABASE()"
	if got := m.SQL(t, name, engines); got != "InnoDB" {
		t.Errorf("the tables have the engines %q", got)
	}
	m.SQL(t, name, "ALTER TABLE snowfence_lease ENGINE=MyISAM")
	_, none := connect(t, m.DSN(""))
	refused(t, none, "has no database")
	_, st = connect(t, m.DSN(name))
	refused(t, st, "which forgets grants: ALTER TABLE snowfence_lease ENGINE=InnoDB")
	m.SQL(t, name, "ALTER TABLE snowfence_lease ENGINE=InnoDB")
	must(t, swap(t, st, "a", record(1, "b")))
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
			tests.WantErr(t, swap(t, st, "", rs[0]), nil, "%q", namespace)
			results, _, _ := st.Swap(t.Context(), []store.Write{{New: rs[1]}, {New: rs[2]}})
			tests.WantErr(t, errors.Join(results...), nil, "%q", namespace)
			for _, wrong := range []string{fmt.Sprint("NONCE ", i), fmt.Sprint("nonce ", i, " "), ""} {
				changed := slices.Clone(rs)
				for n := range changed {
					changed[n].Nonce = "other"
				}
				batch := []store.Write{{Old: wrong, New: changed[0]}, {Old: wrong, New: changed[1]}}
				for _, writes := range [][]store.Write{batch, batch[:1]} {
					results, _, _ := st.Swap(t.Context(), writes)
					for _, err := range results {
						tests.WantErr(t, err, store.ErrLost, "%s: nonce %q", params, wrong)
					}
				}
			}
		}
		rs, _, err := st.Get(t.Context(), keys)
		if err != nil || !slices.Equal(rs, want) {
			t.Errorf("%s: %+v, %v", params, rs, err)
		}
	}
}

// TestOpenTransaction uses a connection that a program gave back inside a
// transaction: what was acknowledged has to be committed.
func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	name := m.NewDatabase(t)
	db, st := connect(t, m.DSN(name))
	db.SetMaxOpenConns(1)
	must(t, swap(t, st, "", record(1, "a")))
	must(t, tests.ErrOf(db.Exec("START TRANSACTION")))
	must(t, swap(t, st, "a", record(1, "b")))
	if got := m.SQL(t, name, "SELECT nonce FROM snowfence_lease"); !strings.HasPrefix(got, "b") {
		t.Errorf("others see %q", got)
	}
	_, chained := connect(t, m.DSN(name)+"?completion_type=%27CHAIN%27")
	refused(t, chained, "completion_type=CHAIN")
}
