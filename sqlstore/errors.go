package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// commitError is a failed commit: not known to be undone, so never tried again, even if the database was busy.
type commitError struct{ err error }

func (e *commitError) Error() string { return fmt.Sprintf("committing: %v", e.err) }

// SQLite's primary result codes that say more than that something failed.
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

// sqliteErrors says what to do about a result code, and by which text of the library to know it. Drivers have error types of their own; those with a
// Code method, and the text, cover them.
var sqliteErrors = []struct {
	code   int
	text   string
	advice string
}{
	{codeBusy, "database is locked", "another program keeps the file locked: find it (fuser FILE), and end the transaction that it holds open"},
	{codeLocked, "database table is locked", "another connection of this program keeps a table locked: end the transaction that it holds open"},
	{codeReadOnly, "attempt to write a readonly database", "this user may not write the file: allow it, and writing into its folder too, where SQLite makes files beside it"},
	{codeIO, "disk I/O error", "the disk fails, or the file was changed by something else than SQLite: see the system's log, and end all programs that use the file before it is touched"},
	{codeCorrupt, "database disk image is malformed", "the file is damaged: end all programs that use it, and put a backup in its place, above which grants then start; keep the damaged one"},
	{codeFull, "database or disk is full", "the disk is full: make room, and leases go on by themselves"},
	{codeCantOpen, "unable to open database file", "the file cannot be opened: its folder must exist, and this user must be allowed to write there"},
	{codeNotADB, "file is not a database", "the file is something else than an SQLite database, or encrypted: name another path"},
}

// sqliteCode returns the primary result code of an error, and 0 where it is not one of those above.
func sqliteCode(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
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

// sqliteBusy reports whether nothing was done since another connection was at work.
func sqliteBusy(err error) bool {
	var undone *commitError
	if errors.As(err, &undone) {
		return false
	}
	code := sqliteCode(err)
	return code == codeBusy || code == codeLocked
}

// sqliteAdvice puts what to do before an error, where that is known.
func sqliteAdvice(err error) error {
	code := sqliteCode(err)
	for _, e := range sqliteErrors {
		if e.code == code {
			return fmt.Errorf("%s: %w", e.advice, err)
		}
	}
	return err
}
