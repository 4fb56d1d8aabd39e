package insql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// serialText prints the functions that take numbers of sequences.
func serialText(dialect string) printer { return printing("--serial", "--dialect", dialect) }

// serialPostgres makes databases on a server. The functions have the clock
// of the table test_clock where that has a time.
func serialPostgres(p *servers.Postgres) opener {
	return func(t testing.TB, text string) base {
		t.Helper()
		b := pgBase(t, p, p.NewDatabase(t), strings.ReplaceAll(text, "clock_timestamp()", "public.test_now()"))
		p.SQL(t, b.name, `CREATE TABLE test_clock (at timestamptz); GRANT SELECT ON test_clock TO PUBLIC;
			CREATE FUNCTION test_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
				$$ SELECT coalesce((SELECT at FROM public.test_clock), pg_catalog.clock_timestamp()) $$`)
		return b.withSequences()
	}
}

// serialMariaDB makes databases on a server.
func serialMariaDB(m *servers.MariaDB) opener {
	return func(t testing.TB, text string) base {
		t.Helper()
		b := base{TB: t, mariadb: m, name: m.NewDatabase(t), text: text}
		b.connect("mysql", m.DSN(b.name))
		return b.withSequences()
	}
}

// withSequences makes the strict sequences orders and dated, a table with
// their numbers, and the functions.
func (b base) withSequences() base {
	b.Helper()
	var err error
	b.st, err = sqlstore.New(b.db, b.dialect())
	b.must(err)
	b.create("orders", sequence.Definition{})
	b.create("dated", sequence.Definition{Pattern: "RE-{year}-{n:6+}", Zone: "Europe/Berlin"})
	b.do("CREATE TABLE invoice (period BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (period, n))")
	b.must(b.load(b.text))
	return b
}

func (b base) dialect() sqlstore.Dialect {
	if b.mariadb != nil {
		return sqlstore.MySQL()
	}
	return sqlstore.PostgreSQL()
}

func (b base) create(name string, d sequence.Definition) {
	b.Helper()
	d.Mode = sequence.Strict
	b.must(sequence.Create(b.Context(), b.st, name, d))
}

// in runs do in a transaction of a session, after statements.
func (b base) in(level sql.IsolationLevel, do func(context.Context, *sql.Tx) error, before ...string) error {
	s, err := b.open(before...)
	if err != nil {
		return err
	}
	defer s.end()
	tx, err := s.BeginTx(s.ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(s.ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// take takes a number in SQL, in a transaction of its own, after
// statements.
func (b base) take(name string, before ...string) (text string, err error) {
	err = b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT snowfence_serial_text('"+name+"')").Scan(&text)
	}, before...)
	return text, err
}

// taken is take, for what must not fail.
func (b base) taken(name string, before ...string) string {
	b.Helper()
	text, err := b.take(name, before...)
	b.must(err)
	return text
}

// wants takes a number in SQL, and compares its text.
func (b base) wants(name, want string, before ...string) {
	b.Helper()
	if got := b.taken(name, before...); got != want {
		b.Fatalf("%s gave %q, not %q", name, got, want)
	}
}

// refuses takes a number in SQL, which fails with a text.
func (b base) refuses(name, why string, before ...string) {
	b.Helper()
	_, err := b.take(name, before...)
	b.failing(err, why)
}

// at returns the statements that set the clock of the functions.
func (b base) at(t time.Time) []string {
	if b.mariadb != nil {
		return []string{fmt.Sprintf("SET timestamp = %d", t.Unix())}
	}
	return []string{"DELETE FROM test_clock", "INSERT INTO test_clock VALUES ('" + t.Format(time.RFC3339) + "')"}
}

// number returns the number in a text of the sequence dated.
func number(text string) (period, n int64, err error) {
	parts := strings.Split(text, "-")
	if len(parts) != 3 || parts[0] != "RE" || len(parts[2]) < 6 {
		return 0, 0, fmt.Errorf("the text %q", text)
	}
	period, err = strconv.ParseInt(parts[1], 10, 64)
	n, also := strconv.ParseInt(parts[2], 10, 64)
	return period, n, errors.Join(err, also)
}

// zones gives a MariaDB server the zones of this machine.
func zones(t testing.TB, m *servers.MariaDB) {
	t.Helper()
	list, err := exec.Command(servers.Need(t, "mysql", "mariadb-tzinfo-to-sql")[0], "/usr/share/zoneinfo").Output()
	must(t, err)
	m.Load(t, "mysql", string(list))
}
