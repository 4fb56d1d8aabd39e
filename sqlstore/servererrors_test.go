package sqlstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// state is an error as drivers of PostgreSQL have them.
type state string

func (s state) Error() string    { return "ERROR: something (SQLSTATE " + string(s) + ")" }
func (s state) SQLState() string { return string(s) }

func TestServerErrors(t *testing.T) {
	lost := errors.New("unexpected EOF")
	deadlock := errors.New("Error 1213 (40001): Deadlock found when trying to get lock")
	for _, c := range []struct {
		d    Dialect
		err  error
		busy bool
		want string // in the advice
	}{
		{PostgreSQL(), state("40001"), true, ""},
		{PostgreSQL(), fmt.Errorf("making the tables: %w", state("40P01")), true, ""},
		{PostgreSQL(), errors.Join(state("55P03"), lost), true, ""}, // the rollback had no answer
		{PostgreSQL(), &commitError{state("40001")}, false, ""},
		{PostgreSQL(), errors.Join(&commitError{lost}, state("40001")), false, ""},
		{PostgreSQL(), state("57P01"), false, "shut down"},
		{PostgreSQL(), state("25006"), false, "connect to the primary"},
		{PostgreSQL(), lost, false, "unexpected EOF"},
		{PostgreSQL(), deadlock, false, ""},
		{MySQL(), deadlock, true, ""},
		{MySQL(), errors.New("Error 1205: Lock wait timeout exceeded"), true, ""},
		{MySQL(), fmt.Errorf("making the tables: %w", errors.Join(deadlock, lost)), true, ""},
		{MySQL(), &commitError{deadlock}, false, ""},
		{MySQL(), errors.Join(&commitError{lost}, deadlock), false, ""},
		{MySQL(), errors.New("Error 1290 (HY000): read-only"), false, "connect to the primary"},
		{MySQL(), errors.New("invalid connection: Error 1213"), false, ""},
		{MySQL(), lost, false, "unexpected EOF"},
	} {
		if busy := c.d.busy(c.err); busy != c.busy {
			t.Errorf("%s: %v: busy is %v", c.d.name, c.err, busy)
		}
		if got := c.d.advice(c.err); !strings.Contains(got.Error(), c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v becomes %v, which should say %q", c.err, got, c.want)
		}
	}
}
