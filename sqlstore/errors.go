package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// commitError is an error of a commit, or behind one. The write may be
// done, so it is never tried again.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

// behindWrite returns the error of a read behind a write, which is
// committed by then unless the transaction is a caller's.
func behindWrite(c querier, err error) error {
	if _, own := c.(*sql.Conn); own && err != nil {
		return &commitError{fmt.Errorf("reading behind a write: %w", err)}
	}
	return err
}

// errorTexts has the meanings of a database's errors.
type errorTexts struct {
	code    func(error) string // what names its kind; "" if it is not known
	busy    []string           // nothing was done, because others are at work
	noTable []string           // the tables do not exist
	noRight []string           // the user lacks a right
	advice  map[string]string  // what to do, by code
}

// hasCode reports whether an error has one of the codes. A commitError does
// not count.
func (e errorTexts) hasCode(err error, codes []string) bool {
	return err != nil && !errors.As(err, new(*commitError)) && slices.Contains(codes, e.code(err))
}

// explainError says where an error comes from and what to do about it.
func (s *Store) explainError(err error) error {
	e, where, advice := s.dialect.errors, "sqlstore: "+s.dialect.name, ""
	switch {
	case err == nil:
		return nil
	case s.tx != nil && e.hasCode(err, e.busy):
		return fmt.Errorf("%s: %w: %w", where, sequence.ErrRetry, err)
	case s.tx != nil && e.hasCode(err, e.noTable):
		return fmt.Errorf("%s: %w: there are no tables yet: create it: %w", where, sequence.ErrNoSequence, err)
	case s.tx != nil && e.hasCode(err, s.dialect.sources.codes) && !strings.Contains(err.Error(), "for table"):
		advice = closedToTx
	case !errors.Is(err, errPool):
		advice = e.advice[e.code(err)]
	}
	text := shorter(err.Error())
	if advice != "" {
		text = advice + ": " + text
	}
	for _, own := range []error{errPool, ErrSlow, errReloaded} {
		if errors.Is(err, own) {
			advice = own.Error()
		}
	}
	f := &store.Failure{Err: err, Text: where + ": " + text, Public: where}
	if advice != "" {
		f.Public += ": " + advice
	}
	if s.dialect.embedded { // a file has no host and no user
		f.Public = f.Text
	}
	return f
}

// again is what pgx says behind an address.
var again = regexp.MustCompile(` \(\S+\): (dial error: dial \S+ \S+ )?`)

// shorter names each address once where pgx gets no connection.
func shorter(text string) string {
	if !strings.Contains(text, "failed to connect to `") {
		return text
	}
	lines := strings.Split(again.ReplaceAllString(text, ": "), "\n\t")
	said := lines[:1]
	for _, line := range lines[1:] { // one with TLS and one without say the same
		if !strings.HasSuffix(said[len(said)-1], line) {
			said = append(said, line)
		}
	}
	return strings.TrimSpace(said[0] + " " + strings.Join(said[1:], "; "))
}

// sqliteErrors go by the messages of SQLite, around which drivers put more.
var sqliteErrors = errorTexts{
	code:    sqliteCode,
	busy:    []string{"database is locked", "database table is locked"},
	noTable: []string{"no such table"},
	advice:  sqliteAdvice,
}

const sqliteLocked = "a transaction of this program or of another one (fuser FILE) has the write lock of the file: " +
	"end it within a third of the ttl, or keep the IDs in a file of their own"

var sqliteAdvice = map[string]string{
	"no such table":      "",
	"database is locked": sqliteLocked,
	"database table is locked": "another connection of this program keeps a table locked: end the " +
		"transaction that it holds open",
	"attempt to write a readonly database": "this user may not write the file: allow it, and " +
		"writing into its folder too, where SQLite makes files beside it",
	"disk I/O error": "the disk fails, or the file was changed by something else than SQLite: see the " +
		"system's log, and end all programs that use the file before it is touched",
	"database disk image is malformed": "the file is damaged: end all programs that use it, keep a copy, restore a " +
		"backup, and run snowfence store restored before one starts " +
		"(https://snowfence.github.io/snowfence/operate/operations#backup)",
	"database or disk is full": "the disk is full: make room, and leases go on by themselves",
	"unable to open database file": "the file cannot be opened: its folder must exist, and this " +
		"user must be allowed to write there",
	"file is not a database": "the file is something else than an SQLite database, or encrypted: name another path",
	"deadline":               sqliteLocked + "; or the disk is too slow",
}

// sqliteCode returns the first message in an error. An index beside the
// file that cannot grow (4874) is an I/O error to SQLite.
func sqliteCode(err error) (code string) {
	text := err.Error()
	if strings.Contains(text, "(4874)") {
		return "database or disk is full"
	}
	first := len(text)
	for message := range sqliteAdvice {
		if at := strings.Index(text, message); at >= 0 && at < first {
			code, first = message, at
		}
	}
	if code == "" && errors.Is(err, context.DeadlineExceeded) {
		return "deadline" // SQLite waits for a lock longer than the lease could
	}
	return code
}

// poolerDrops is what transaction pooling does to a driver.
const poolerDrops = "a pooler between this program and the server drops or mixes up prepared statements: for pgx set " +
	"default_query_exec_mode=exec in the URL"

// postgresErrors go by SQLSTATE. Busy are serialization failure, deadlock,
// lock not available.
var postgresErrors = errorTexts{
	code: func(err error) string {
		var coded interface{ SQLState() string }
		if errors.As(err, &coded) {
			return coded.SQLState()
		}
		return ""
	},
	busy:    []string{"40001", "40P01", "55P03"},
	noTable: []string{"42P01"},
	noRight: []string{"42501"},
	advice: map[string]string{
		"25006": "the server or the connection is read-only: connect to the primary, and leave " +
			"default_transaction_read_only off",
		"42501": "this user lacks a right: GRANT SELECT, INSERT, UPDATE ON snowfence_lease, snowfence_meta to it, or " +
			"EXECUTE ON FUNCTION, if the error names a function",
		"42P01": "the tables are not there: the search_path is another one, or they were dropped: then stop all " +
			"programs and restore or make them as https://snowfence.github.io/snowfence/operate/operations#backup says",
		"42703": "a table of the name snowfence_lease is another program's: use a schema of your own (search_path)",
		"42809": "something that is no table has the name of one of the tables: use a schema of your own (search_path)",
		"53100": "the disk is full: make room, and leases go on by themselves",
		"53300": "the server has too many connections: let programs use fewer, or allow more (max_connections)",
		"26000": poolerDrops,
		"08P01": "perhaps " + poolerDrops,
		"42P05": poolerDrops,
		"28000": "the server lets this user in by no rule: see pg_hba.conf",
		"28P01": "the password is wrong",
		"3D000": "the database does not exist: CREATE DATABASE, or correct its name",
		"57014": "a statement_timeout, or somebody, ended the statement: end the session that it waits for, or " +
			"ALTER ROLE … SET statement_timeout = '10s'",
		"57P01": "the server is being shut down: what was written last is not known, and is asked for when it is back",
	},
}

const mysqlGrant = "this user lacks a right: GRANT SELECT, INSERT, UPDATE on the tables snowfence_lease and " +
	"snowfence_meta to it"

// mysqlErrors go by the number of an error. Busy are deadlock, lock wait
// timeout, snapshot too old.
var mysqlErrors = errorTexts{
	code:    mysqlCode,
	busy:    []string{"1213", "1205", "1020"},
	noTable: []string{"1146"},
	noRight: []string{"1044", "1142", "1143"},
	advice: map[string]string{
		"1044": mysqlGrant,
		"1142": mysqlGrant,
		"1054": "a table of the name snowfence_lease is another program's: use a database of your own",
		"1146": "the tables are not there: they were dropped: stop all programs, and restore or make them as " +
			"https://snowfence.github.io/snowfence/operate/operations#backup says",
		"1290": "the server is read_only, as replicas are: connect to the primary",
		"1690": errDivided.Error(), // mysqlOnly
		"1792": "the connection is read-only: leave transaction_read_only (tx_read_only) off",
		"1836": "the server is read-only: connect to the primary",
		"1969": "max_statement_time, or somebody, ended the statement: allow this user 10 seconds",
		"1021": "the disk is full: make room, and leases go on by themselves",
		"1114": "the disk is full: make room, and leases go on by themselves",
		"1040": "the server has too many connections: let programs use fewer, or allow more (max_connections)",
		"1045": "the user or the password is wrong",
		"1049": "the database does not exist: CREATE DATABASE, or correct its name",
		"1053": "the server is being shut down: what was written last is not known, and is asked for when it is back",
	},
}

// mysqlCode returns the number that begins the text of an error, or of an
// error in it.
func mysqlCode(err error) (code string) {
	for err != nil {
		if rest, ok := strings.CutPrefix(err.Error(), "Error "); ok && len(rest) >= 4 {
			return rest[:4]
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				if code := mysqlCode(e); code != "" {
					return code
				}
			}
			return ""
		}
		err = errors.Unwrap(err)
	}
	return ""
}
