package insql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// A serialBase is a database with the strict sequences orders and dated,
// and the functions of a text that take their numbers.
type serialBase struct {
	driver, dsn string
	dialect     sqlstore.Dialect
	db          *sql.DB
	st          *sqlstore.Store
	mariadb     *servers.MariaDB // nil on PostgreSQL
	text        string
}

// serialText returns the text for a dialect.
func serialText(dialect string) printer {
	return func(t testing.TB, flags ...string) string {
		return program(t, append([]string{"sql", "--serial", "--dialect", dialect}, flags...)...)
	}
}

// serialPostgres makes databases on a server. The functions have the clock
// of the table test_clock where that has a time.
func serialPostgres(p *servers.Postgres) opener[serialBase] {
	return func(t testing.TB, text string) (serialBase, error) {
		name := p.NewDatabase(t)
		b := serialBase{driver: "pgx", dsn: p.URL(name), dialect: sqlstore.PostgreSQL()}
		p.SQL(t, name, `CREATE TABLE test_clock (at timestamptz); GRANT SELECT ON test_clock TO PUBLIC;
			CREATE FUNCTION test_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
				$$ SELECT coalesce((SELECT at FROM public.test_clock), pg_catalog.clock_timestamp()) $$`)
		b.prepare(t)
		b.text = strings.ReplaceAll(text, "clock_timestamp()", "public.test_now()")
		return b, pgBase{p: p, name: name}.load(b.text)
	}
}

// serialMariaDB makes databases on a server.
func serialMariaDB(m *servers.MariaDB) opener[serialBase] {
	return func(t testing.TB, text string) (serialBase, error) {
		name := m.NewDatabase(t)
		b := serialBase{driver: "mysql", dsn: m.DSN(name), dialect: sqlstore.MySQL(), mariadb: m}
		b.prepare(t)
		return b, mariadbBase{m, name, text}.load()
	}
}

// prepare makes the sequences, and a table with their numbers.
func (b *serialBase) prepare(t testing.TB) {
	t.Helper()
	b.db = b.pool(t)
	st, err := sqlstore.New(b.db, b.dialect)
	if err != nil {
		t.Fatal(err)
	}
	b.st = st
	for name, d := range map[string]sequence.Definition{
		"orders": {}, "dated": {Pattern: "RE-{year}-{n:6+}", Zone: "Europe/Berlin"},
	} {
		if err := b.create(name, d); err != nil {
			t.Fatal(err)
		}
	}
	err = b.run("CREATE TABLE invoice (period BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (period, n))")
	if err != nil {
		t.Fatal(err)
	}
}

func (b *serialBase) pool(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(b.driver, b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(16)
	t.Cleanup(func() { db.Close() })
	return db
}

func (b *serialBase) create(name string, d sequence.Definition) error {
	d.Mode = sequence.Strict
	return sequence.Create(context.Background(), b.st, name, d)
}

// run runs statements on one connection.
func (b *serialBase) run(statements ...string) error {
	return b.in(sql.LevelDefault, func(ctx context.Context, tx *sql.Tx) error { return nil }, statements...)
}

// in runs statements on one connection, and then do in a transaction of it.
func (b *serialBase) in(
	level sql.IsolationLevel, do func(context.Context, *sql.Tx) error, before ...string,
) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := b.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_ = c.Raw(func(any) error { return driver.ErrBadConn }) // its settings end with it
		_ = c.Close()
	}()
	for _, s := range before {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	tx, err := c.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// take takes a number in SQL, in a transaction of its own, after
// statements.
func (b *serialBase) take(name string, before ...string) (text string, err error) {
	err = b.in(sql.LevelReadCommitted, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT snowfence_serial_text('"+name+"')").Scan(&text)
	}, before...)
	return text, err
}

// wants takes a number in SQL, and compares its text.
func (b *serialBase) wants(name, want string, before ...string) error {
	if got, err := b.take(name, before...); err != nil || got != want {
		return fmt.Errorf("%s gave %q, not %q: %w", name, got, want, err)
	}
	return nil
}

// refuses takes a number in SQL, which fails with a text.
func (b *serialBase) refuses(name, why string, before ...string) error {
	got, err := b.take(name, before...)
	if err := failing(err, why); err != nil {
		return fmt.Errorf("%s gave %q: %w", name, got, err)
	}
	return nil
}

// at returns the statements that set the clock of the functions.
func (b *serialBase) at(t time.Time) []string {
	if b.mariadb != nil {
		return []string{fmt.Sprintf("SET timestamp = %d", t.Unix())}
	}
	return []string{"DELETE FROM test_clock", "INSERT INTO test_clock VALUES ('" + t.Format(time.RFC3339) + "')"}
}

// meets reports whether an error means that the transaction met another
// one.
func meets(err error) bool {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	switch {
	case errors.Is(err, sequence.ErrRetry):
		return true
	case errors.As(err, &pg):
		return pg.Code == "40001" || pg.Code == "40P01"
	case errors.As(err, &my):
		return my.Number == 1213 || my.Number == 1205 || my.Number == 1020 || string(my.SQLState[:]) == "40001"
	}
	return false
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
	if err != nil {
		t.Fatal(err)
	}
	m.Load(t, "mysql", string(list))
}
