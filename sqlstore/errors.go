package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// commitError is a failed commit, which may have worked: it is never tried again.
type commitError struct{ err error }

func (e *commitError) Error() string { return fmt.Sprintf("committing: %v", e.err) }

// Primary result codes of SQLite that say what is wrong.
const (
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

// codeNoIndex is the extended code of an index beside the file that cannot grow. SQLite calls that
// an I/O error.
const codeNoIndex = codeIO | 19<<8

// sqliteErrors says what to do about a result code, or about a text where a driver's errors
// have no Code method.
var sqliteErrors = []struct {
	code   int
	text   string
	advice string
}{
	{codeBusy, "database is locked", "another program keeps the file locked: find it (fuser FILE), and end the " +
		"transaction that it holds open"},
	{codeLocked, "database table is locked", "another connection of this program keeps a table locked: end the " +
		"transaction that it holds open"},
	{codeReadOnly, "attempt to write a readonly database", "this user may not write the file: allow it, and " +
		"writing into its folder too, where SQLite makes files beside it"},
	{codeIO, "disk I/O error", "the disk fails, or the file was changed by something else than SQLite: see the " +
		"system's log, and end all programs that use the file before it is touched"},
	{codeCorrupt, "database disk image is malformed", "the file is damaged: end all programs that use it, and " +
		"replace it by a backup; grants then start above all earlier ones; keep the damaged file"},
	{codeFull, "database or disk is full", "the disk is full: make room, and leases go on by themselves"},
	{codeCantOpen, "unable to open database file", "the file cannot be opened: its folder must exist, and this " +
		"user must be allowed to write there"},
	{
		codeNotADB, "file is not a database",
		"the file is something else than an SQLite database, or encrypted: name another path",
	},
}

// sqliteCode returns the primary result code, or 0 for one not listed above.
func sqliteCode(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		if coded.Code() == codeNoIndex {
			return codeFull
		}
		return coded.Code() & 0xff // without what extended codes add
	}
	text := err.Error()
	for _, e := range sqliteErrors {
		if strings.Contains(text, e.text) {
			return e.code
		}
	}
	return 0
}

// sqliteBusy reports whether nothing was done because another connection was at work.
func sqliteBusy(err error) bool {
	var undone *commitError
	if errors.As(err, &undone) {
		return false
	}
	code := sqliteCode(err)
	return code == codeBusy || code == codeLocked
}

// sqliteAdvice puts what to do before an error, if known.
func sqliteAdvice(err error) error {
	code := sqliteCode(err)
	for _, e := range sqliteErrors {
		if e.code == code {
			return fmt.Errorf("%s: %w", e.advice, err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) { // SQLite waits for a lock longer than the lease could
		return fmt.Errorf("another program keeps the file locked: find it (fuser FILE), and end the transaction "+
			"that it holds open; or the disk is too slow: %w", err)
	}
	return err
}

// sqlState returns the SQLSTATE of a PostgreSQL error, "" where it has none.
func sqlState(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}

// postgresBusy reports whether a transaction was rolled back for others.
func postgresBusy(err error) bool {
	var undone *commitError
	if errors.As(err, &undone) {
		return false
	}
	switch sqlState(err) {
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return true
	}
	return false
}

var postgresErrors = map[string]string{
	"25006": "the server or the connection is read-only: connect to the primary, and leave " +
		"default_transaction_read_only off",
	"42501": "this user lacks a right: GRANT SELECT, INSERT, UPDATE ON snowfence_lease, snowfence_meta to it",
	"42P01": "the tables are not there: the search_path is another one, or they were dropped: then stop all " +
		"programs and restore or make them as docs/operate/operations.md says (Backup)",
	"42703": "a table of the name snowfence_lease is another program's: use a schema of your own (search_path)",
	"42809": "something that is no table has the name of one of the tables: use a schema of your own (search_path)",
	"53100": "the disk is full: make room, and leases go on by themselves",
	"53300": "the server has too many connections: let this program use fewer (SetMaxOpenConns), or allow more",
	"26000": "a pooler between this program and the server drops prepared statements: for pgx set " +
		"default_query_exec_mode=exec in the URL",
	"08P01": "perhaps a pooler between this program and the server drops prepared statements: for pgx set " +
		"default_query_exec_mode=exec in the URL",
	"42P05": "a pooler between this program and the server mixes up prepared statements: for pgx set " +
		"default_query_exec_mode=exec in the URL",
	"57P01": "the server is being shut down: what was written last is not known, and is asked for when it is back",
}

// postgresAdvice puts what to do before an error, if known.
func postgresAdvice(err error) error {
	if advice := postgresErrors[sqlState(err)]; advice != "" {
		return fmt.Errorf("%s: %w", advice, err)
	}
	return err
}

// mysqlCode returns the number that begins the text of a MySQL error, or 0.
func mysqlCode(err error) (code int) {
	for err != nil {
		if n, _ := fmt.Sscanf(err.Error(), "Error %d", &code); n == 1 {
			return code
		}
		if sideFilesFor, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range sideFilesFor.Unwrap() {
				if code := mysqlCode(e); code != 0 {
					return code
				}
			}
			return 0
		}
		err = errors.Unwrap(err)
	}
	return 0
}

// mysqlBusy reports whether a statement was rolled back for others.
func mysqlBusy(err error) bool {
	var undone *commitError
	if errors.As(err, &undone) {
		return false
	}
	code := mysqlCode(err)
	return code == 1213 || code == 1205 || code == 1020 // deadlock, lock wait timeout, snapshot too old
}

var mysqlErrors = map[int]string{
	1044: "this user lacks a right: GRANT SELECT, INSERT, UPDATE on the tables snowfence_lease and " +
		"snowfence_meta to it",
	1142: "this user lacks a right: GRANT SELECT, INSERT, UPDATE on the tables snowfence_lease and " +
		"snowfence_meta to it",
	1054: "a table of the name snowfence_lease is another program's: use a database of your own",
	1146: "the tables are not there: they were dropped: stop all programs, and restore or make them as " +
		"docs/operate/operations.md says (Backup)",
	1290: "the server is read_only, as replicas are: connect to the primary",
	1836: "the server is read-only: connect to the primary",
	1021: "the disk is full: make room, and leases go on by themselves",
	1114: "the disk is full: make room, and leases go on by themselves",
	1040: "the server has too many connections: let this program use fewer (SetMaxOpenConns), or allow more",
	1053: "the server is being shut down: what was written last is not known, and is asked for when it is back",
}

// mysqlAdvice puts what to do before an error, if known.
func mysqlAdvice(err error) error {
	if advice := mysqlErrors[mysqlCode(err)]; advice != "" {
		return fmt.Errorf("%s: %w", advice, err)
	}
	return err
}
