package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// coded is an error as drivers have them: the number says what happened, in a text of their own.
type coded int

func (c coded) Error() string { return fmt.Sprintf("driver: failed (%d)", int(c)) }
func (c coded) Code() int     { return int(c) }

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
		busy bool
	}{
		{coded(5), "keeps the file locked", true},
		{coded(517), "keeps the file locked", true}, // SQLITE_BUSY_SNAPSHOT
		{coded(6), "keeps a table locked", true},
		{coded(8), "may not write the file", false},
		{coded(10), "the disk fails", false},
		{coded(522), "the disk fails", false}, // SQLITE_IOERR_SHORT_READ
		// A file that exists, on a full disk: the index beside it cannot grow.
		{coded(4874), "the disk is full: make room", false},
		{coded(11), "replace it by a backup", false},
		{coded(13), "the disk is full: make room", false},
		{coded(14), "its folder must exist", false},
		{coded(26), "name another path", false},
		{errors.New("database or disk is full"), "the disk is full: make room", false},
		{errors.New("database is locked"), "keeps the file locked", true},
		{&commitError{errors.New("database is locked (5) (SQLITE_BUSY)")}, "keeps the file locked", false},
		{&commitError{errors.New("disk I/O error")}, "the disk fails", false},
		{fmt.Errorf("making the tables: %w", coded(13)), "the disk is full: make room", false},
		{context.DeadlineExceeded, "keeps the file locked", false}, // what becomes of a long wait for the lock
		{coded(1), "driver: failed (1)", false},
		{errors.New("no such table"), "no such table", false},
	} {
		got := sqliteAdvice(c.err)
		if !strings.Contains(got.Error(), c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v becomes %v, which should say %q", c.err, got, c.want)
		}
		if busy := sqliteBusy(c.err); busy != c.busy {
			t.Errorf("%v: busy is %v", c.err, busy)
		}
	}
}
