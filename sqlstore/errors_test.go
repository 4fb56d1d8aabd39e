package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
)

// state is an error as drivers of PostgreSQL have them.
type state string

func (s state) Error() string    { return "ERROR: something (SQLSTATE " + string(s) + ")" }
func (s state) SQLState() string { return string(s) }

// failing is a server whose statements fail.
type failing struct {
	driver.Connector
	driver.Conn
	err  error
	sent string // the last statement
}

func (f *failing) Connect(context.Context) (driver.Conn, error) { return f, nil }

func (*failing) Close() error { return nil }

func (f *failing) QueryContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	f.sent = query
	if f.err == nil { // it is silent
		<-ctx.Done()
	}
	return nil, cmp.Or(f.err, ctx.Err())
}

// Where sources are closed, a look at the rights takes no time from the
// statement.
func TestSilentServerGetsTheStatement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &failing{}
		st, err := New(sql.OpenDB(server), PostgreSQL())
		noError(t, err)
		defer st.db.Close()
		st.ready, st.closedSources = true, noLog
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_, _, err = st.Get(ctx, []store.Key{{Namespace: "n", Node: 1}})
		tests.WantErr(t, err, ErrSlow, "a silent server")
		if !strings.Contains(server.sent, "snowfence_lease") {
			t.Errorf("it got %q last", server.sent)
		}
	})
}

// Only an error that says so closes a source. After another one the sources
// are asked again, though the rights are the same.
func TestTransientErrorClosesNoSource(t *testing.T) {
	server := &failing{err: state("57014")}
	st, err := New(sql.OpenDB(server), PostgreSQL())
	noError(t, err)
	st.closedSources, st.rights = noLog, "tttt"
	ask := func(failed bool, want closed) {
		t.Helper()
		st.closedAt = time.Time{}
		if st.findClosed(t.Context(), failed) != (want != noLog) || st.closedSources != want {
			t.Errorf("after %v the sources %b are closed", server.err, st.closedSources)
		}
	}
	ask(true, noLog)
	ask(false, noLog)
	server.err = state("42501")
	ask(false, noLog|noSystem)
}

func TestErrors(t *testing.T) {
	lost := errors.New("unexpected EOF")
	deadlock := errors.New("Error 1213 (40001): Deadlock found when trying to get lock")
	locked, full := errors.New("database is locked (5) (SQLITE_BUSY)"), errors.New("database or disk is full (13)")
	for _, c := range []struct {
		d    Dialect
		err  error
		busy bool
		want string // in the advice
	}{
		{SQLite(), locked, true, "write lock of the file"},
		{SQLite(), errors.New("database is locked (517)"), true, "write lock of the file"}, // SQLITE_BUSY_SNAPSHOT
		{SQLite(), errors.New("sqlite3: database table is locked"), true, "keeps a table locked"},
		{SQLite(), errors.New("attempt to write a readonly database (8)"), false, "may not write the file"},
		{SQLite(), errors.New("disk I/O error (522)"), false, "the disk fails"},
		// A file that exists, on a full disk: the index beside it cannot
		// grow.
		{SQLite(), errors.New("disk I/O error (4874)"), false, "the disk is full: make room"},
		{SQLite(), errors.New("database disk image is malformed (11)"), false, "run snowfence store restored before"},
		{SQLite(), full, false, "the disk is full: make room"},
		{SQLite(), errors.New("unable to open database file (14)"), false, "its folder must exist"},
		{SQLite(), errors.New("file is not a database (26)"), false, "name another path"},
		{SQLite(), &commitError{locked}, false, "write lock of the file"},
		{SQLite(), errors.Join(full, locked), false, "the disk is full"}, // the first one counts
		{SQLite(), fmt.Errorf("making the tables: %w", full), false, "the disk is full: make room"},
		{SQLite(), context.DeadlineExceeded, false, "write lock of the file"}, // what becomes of a long wait for the lock
		{SQLite(), errors.New("no such table"), false, "no such table"},
		{PostgreSQL(), state("40001"), true, ""},
		{PostgreSQL(), fmt.Errorf("making the tables: %w", state("40P01")), true, ""},
		{PostgreSQL(), errors.Join(state("55P03"), lost), true, ""}, // the rollback had no answer
		{PostgreSQL(), &commitError{state("40001")}, false, ""},
		{PostgreSQL(), errors.Join(&commitError{lost}, state("40001")), false, ""},
		{PostgreSQL(), state("57P01"), false, "shut down"},
		{PostgreSQL(), state("25006"), false, "connect to the primary"},
		{PostgreSQL(), state("42501"), false, "EXECUTE ON FUNCTION"},
		{PostgreSQL(), lost, false, "unexpected EOF"},
		{PostgreSQL(), deadlock, false, ""},
		{MySQL(), deadlock, true, ""},
		{MySQL(), errors.New("Error 1205: Lock wait timeout exceeded"), true, ""},
		{MySQL(), fmt.Errorf("making the tables: %w", errors.Join(deadlock, lost)), true, ""},
		{MySQL(), &commitError{deadlock}, false, ""},
		{MySQL(), errors.Join(&commitError{lost}, deadlock), false, ""},
		{MySQL(), errors.New("Error 1290 (HY000): read-only"), false, "connect to the primary"},
		{MySQL(), errors.New("Error 1792 (25006): read-only"), false, "leave transaction_read_only"},
		{MySQL(), errors.New("Error 1969 (70100): interrupted"), false, "max_statement_time"},
		{MySQL(), errors.New("invalid connection: Error 1213"), false, ""},
		{MySQL(), lost, false, "unexpected EOF"},
	} {
		if got := c.d.errors.hasCode(c.err, c.d.errors.busy); got != c.busy {
			t.Errorf("%s: %v: busy is %v", c.d.name, c.err, got)
		}
		got := (&Store{dialect: c.d}).explainError(c.err)
		if !strings.Contains(got.Error(), c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v becomes %v, which should say %q", c.err, got, c.want)
		}
	}
}

// What pgx says of a server that does not run had its address four times,
// and a caller of Next read it, with the user.
func TestNoConnection(t *testing.T) {
	refused := "10.0.0.7:5432 (db.example): dial error: dial tcp 10.0.0.7:5432: connect: connection refused"
	lookup := "lookup db.example on 10.0.0.2:53: no such host"
	for said, want := range map[string]string{
		" " + refused:                       " 10.0.0.7:5432: connect: connection refused",
		"\n\t" + refused + "\n\t" + refused: " 10.0.0.7:5432: connect: connection refused",
		"\n\t" + refused + "\n\t" + strings.ReplaceAll(refused, ".7", ".8"): " 10.0.0.7:5432: connect: connection refused; " +
			"10.0.0.8:5432: connect: connection refused",
		"\n\thostname resolving error: " + lookup + "\n\t" + lookup: " hostname resolving error: " + lookup,
		" /run/.s.PGSQL.5432 (/run): dial error: dial unix /run/.s.PGSQL.5432: connect: no such file": " " +
			"/run/.s.PGSQL.5432: connect: no such file",
		` 10.0.0.7:5432 (db.example): server error: FATAL: no "shop" (SQLSTATE 28P01)`: ` 10.0.0.7:5432: server error: ` +
			`FATAL: no "shop" (SQLSTATE 28P01)`,
	} {
		start := "failed to connect to `user=shop database=ids`:"
		err := (&Store{dialect: PostgreSQL()}).explainError(errors.New(start + said))
		if want = "sqlstore: postgres: " + start + want; err.Error() != want {
			t.Errorf("%q\nnot %q", err, want)
		}
		wrapped := fmt.Errorf("renewing: %w", errors.Join(err, errors.New("twice"), fmt.Errorf("more: %w", err)))
		got := "renewing: sqlstore: postgres (the log says more)\ntwice\nmore: sqlstore: postgres (the log says more)"
		if text := store.Discreet(wrapped).Error(); text != got {
			t.Errorf("callers read %q", text)
		}
		if !errors.Is(store.Discreet(wrapped), err) {
			t.Error("callers cannot tell errors apart")
		}
	}
	wrong := state("28P01")
	for own, err := range map[string]error{
		"the password is wrong (the log says more)": wrong, errPool.Error(): fmt.Errorf("%w: %w", errPool, wrong),
		ErrSlow.Error(): fmt.Errorf("%w: %w", ErrSlow, errors.New("canceled")),
	} {
		text := store.Discreet((&Store{dialect: PostgreSQL()}).explainError(err)).Error()
		if !strings.Contains(text, own) || strings.Contains(text, "SQLSTATE") {
			t.Errorf("%v: callers read %q", err, text)
		}
	}
	locked := (&Store{dialect: SQLite()}).explainError(errors.New("database is locked (5)"))
	if text := store.Discreet(locked).Error(); text != locked.Error() {
		t.Errorf("callers read %q of a file", text)
	}
}
