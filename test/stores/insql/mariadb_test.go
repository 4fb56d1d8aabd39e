package insql

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// mariadbText prints the text for MariaDB.
var mariadbText = textOf("mariadb")

// mariadbOpener makes databases on a server.
func mariadbOpener(m *servers.MariaDB) opener {
	return func(t testing.TB, text string) base {
		t.Helper()
		b := base{TB: t, mariadb: m, name: m.NewDatabase(t), text: text}
		b.connect("mysql", m.DSN(b.name)+"?interpolateParams=true&multiStatements=true")
		b.do("CREATE TABLE orders (id BIGINT PRIMARY KEY, item INT NOT NULL)")
		b.must(b.load(text))
		return b
	}
}

// TestMariaDB runs the text on a server.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t, noFlush...)
	open := mariadbOpener(m)
	t.Run("crowd", func(t *testing.T) { insqlCrowd(open(t, mariadbText(t))) })
	kept(t, mariadbProbes, mariadbText, open)
	t.Run("narrow column", func(t *testing.T) {
		b := open(t, mariadbText(t))
		elsewhere := mariadbText(t, "--schema", m.NewDatabase(t)) // the table is not where the functions are
		for _, kind := range []string{"INT UNSIGNED", "DOUBLE", "DECIMAL(18)"} {
			b.do("ALTER TABLE orders MODIFY id " + kind)
			for _, text := range []string{b.text, elsewhere} {
				b.failing(b.load(text), "first ALTER TABLE … MODIFY it to BIGINT")
			}
		}
		b.do("ALTER TABLE orders MODIFY id BIGINT UNSIGNED")
		b.must(b.load(b.text))
	})
	t.Run("killed", func(t *testing.T) { mariadbKilled(open(t, mariadbText(t, "--lead", "172800000"))) })
}

// mariadbKilled kills the server while a transaction is open, and sets the
// clock back by a day. The lead is two days, so that IDs are made at once:
// above all that a client saw, not above the clock.
func mariadbKilled(b base) {
	lib, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(lib) == 0 {
		b.Skip("libfaketime is not installed; make test installs it")
	}
	var l ledger
	c := b.session("START TRANSACTION", "SELECT snowfence_next()") // counts from COMMIT, which does not come
	defer c.end()
	l.add(b.next(50)...)
	b.mariadb.Kill()
	b.mariadb.Environ("LD_PRELOAD="+lib[0], "FAKETIME=-1d", "FAKETIME_DONT_FAKE_MONOTONIC=1")
	b.mariadb.Restart(b)
	b.mariadb.Up(b)
	now := b.mariadb.SQL(b, "", "SELECT UTC_TIMESTAMP()")
	if now >= time.Now().Add(-12*time.Hour).UTC().Format(time.DateTime) {
		b.Fatalf("the clock of the server says %s", now)
	}
	after := b.next(50)
	if after[0] <= l.highest() {
		b.Errorf("%d after %d", after[0], l.highest())
	}
	l.add(after...)
	l.audit(b, "snowfence")
}
