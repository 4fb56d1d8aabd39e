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

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// A base is a database with the functions of a text and the table orders,
// and the test that fails where they are wrong.
type base struct {
	testing.TB
	db         *sql.DB
	name, text string
	postgres   *servers.Postgres // nil on MariaDB
	mariadb    *servers.MariaDB  // nil on PostgreSQL
	st         *sqlstore.Store   // with sequences; nil for other texts
}

// An opener makes a database and runs a text there.
type opener func(t testing.TB, text string) base

// must ends the test at an error.
func (b base) must(errs ...error) {
	b.Helper()
	must(b, errs...)
}

// connect opens the database. It keeps connections for a crowd.
func (b *base) connect(driver, dsn string) {
	b.Helper()
	db, err := sql.Open(driver, dsn)
	b.must(err)
	db.SetMaxIdleConns(16)
	b.Cleanup(func() { db.Close() })
	b.db = db
}

// load runs a text with the client program, as an operator does.
func (b base) load(text string) error {
	name := "psql"
	args := []string{"-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres", "-d", b.name, "-p"}
	if b.mariadb != nil {
		name, args = "mariadb", []string{"--no-defaults", "--protocol=tcp", "-uroot", "-h127.0.0.1", b.name, "-P"}
		args = append(args, strconv.Itoa(b.mariadb.Port))
	} else {
		args = append(args, strconv.Itoa(b.postgres.Port))
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// A session is a connection, which ends with its settings.
type session struct {
	base
	*sql.Conn
	ctx context.Context
	end func()
}

// open begins a session with statements.
func (b base) open(statements ...string) (s session, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	s = session{base: b, ctx: ctx}
	if s.Conn, err = b.db.Conn(ctx); err != nil {
		cancel()
		return s, err
	}
	s.end = func() {
		_ = s.Raw(func(any) error { return driver.ErrBadConn }) // the pool does not keep it
		cancel()
	}
	if err = s.try(statements...); err != nil {
		s.end()
	}
	return s, err
}

func (b base) session(statements ...string) session {
	b.Helper()
	s, err := b.open(statements...)
	b.must(err)
	return s
}

// try runs statements in a session of its own.
func (b base) try(statements ...string) error {
	s, err := b.open(statements...)
	if err == nil {
		s.end()
	}
	return err
}

// do is try, for what must not fail.
func (b base) do(statements ...string) {
	b.Helper()
	b.must(b.try(statements...))
}

// fails runs statements of which one must fail with a text.
func (b base) fails(why string, statements ...string) {
	b.Helper()
	b.failing(b.try(statements...), why)
}

// failing ends the test unless an error has a text.
func (b base) failing(err error, why string) {
	b.Helper()
	if err == nil || !strings.Contains(err.Error(), why) {
		b.Fatalf("got error %v, want one with %q", err, why)
	}
}

func (s session) try(statements ...string) error {
	for _, text := range statements {
		if _, err := s.ExecContext(s.ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

func (s session) do(statements ...string) {
	s.Helper()
	s.must(s.try(statements...))
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// selected runs a query, and returns the numbers that it selects.
func selected(ctx context.Context, c querier, query string, args ...any) (out []snowfence.ID, err error) {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return out, err
		}
		out = append(out, snowfence.ID(id))
	}
	return out, rows.Err()
}

func (s session) ids(query string, args ...any) []snowfence.ID {
	s.Helper()
	ids, err := selected(s.ctx, s, query, args...)
	s.must(err)
	return ids
}

// scan runs a query without arguments for one row.
func (s session) scan(query string, to ...any) {
	s.Helper()
	s.must(s.QueryRowContext(s.ctx, query).Scan(to...))
}

// ask takes n IDs in a session of its own, each in a transaction of its
// own.
func (b base) ask(n int, statements ...string) (out []snowfence.ID, err error) {
	s, err := b.open(statements...)
	if err != nil {
		return nil, err
	}
	defer s.end()
	for range n {
		got, err := selected(s.ctx, s, "SELECT snowfence_next()")
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
	}
	return out, nil
}

// next is ask, for what must not fail.
func (b base) next(n int, statements ...string) []snowfence.ID {
	b.Helper()
	ids, err := b.ask(n, statements...)
	b.must(err)
	return ids
}

// none asks for an ID, which must fail with a text.
func (b base) none(why string, statements ...string) {
	b.Helper()
	if ids, err := b.ask(1, statements...); err == nil || !strings.Contains(err.Error(), why) {
		b.Fatalf("IDs %v, error %v, want one with %q", ids, err, why)
	}
}

// asking asks for n IDs while the test goes on.
func (b base) asking(l *ledger, n int, statements ...string) chan error {
	done := make(chan error, 1)
	go func() {
		ids, err := b.ask(n, statements...)
		l.add(ids...)
		done <- err
	}()
	return done
}

// series is a table with the column seq, from 1 to n.
func (b base) series(n int) string {
	if b.mariadb != nil {
		return fmt.Sprintf("seq_1_to_%d", n)
	}
	return fmt.Sprintf("generate_series(1, %d) seq", n)
}

// client makes n IDs in one session: a third is selected, a third rolled
// back, a third inserted, many at a time and one by one.
func (b base) client(l *ledger, n int) error {
	s, err := b.open()
	if err != nil {
		return err
	}
	defer s.end()
	for made, turn := 0, 0; made < n; turn++ {
		got, err := s.some(turn/2%3, b.series(1+turn%2*63))
		l.add(got...)
		made += len(got)
		// Neighbours on a page of InnoDB can deadlock, as in any table: the
		// client tries again.
		if err != nil && (b.mariadb == nil || !meets(err)) {
			return err
		}
	}
	return nil
}

func (s session) some(way int, series string) ([]snowfence.ID, error) {
	ask := "SELECT snowfence_next() FROM " + series
	switch way {
	case 0:
		return selected(s.ctx, s, ask)
	case 1:
		tx, err := s.BeginTx(s.ctx, nil)
		if err != nil {
			return nil, err
		}
		got, err := selected(s.ctx, tx, ask)
		return got, errors.Join(err, tx.Rollback())
	}
	return selected(s.ctx, s, "INSERT INTO orders (item) SELECT seq FROM "+series+" RETURNING id")
}

// crowd runs clients at once, and fails if they saw an ID twice.
func (b base) crowd(l *ledger, clients, each int) {
	b.Helper()
	errs := make(chan error, clients)
	for range clients {
		go func() { errs <- b.client(l, each) }()
	}
	var all error
	for range clients {
		all = errors.Join(all, <-errs)
	}
	b.must(all, l.repeated())
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
