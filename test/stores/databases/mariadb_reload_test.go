package databases

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestTableMadeAgainWhileHeld puts another table in the place of the leases
// below a store that is in use, and restores one. It is noticed at the next
// statement.
func TestTableMadeAgainWhileHeld(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	for name, harm := range map[string]string{
		"renamed": "RENAME TABLE snowfence_lease TO old, kept TO snowfence_lease",
		"dropped": "DROP TABLE snowfence_lease; CREATE TABLE snowfence_lease LIKE kept; SET @snowfence_swap = 1; " +
			"INSERT INTO snowfence_lease SELECT * FROM kept",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := m.NewDatabase(t)
			_, st := connect(t, m.DSN(database))
			must(t, swap(t, st, "", record(1, "a")))
			before := identity(t, st)
			time.Sleep(1100 * time.Millisecond) // tables are told apart by the second
			m.SQL(t, database, "CREATE TABLE kept LIKE snowfence_lease; INSERT INTO kept SELECT * FROM snowfence_lease")
			must(t, swap(t, st, "a", record(1, "b")))
			m.SQL(t, database, harm)
			if after := identity(t, st); after == before {
				t.Errorf("it is still %s", after)
			}
		})
	}
}

// TestTimeZone opens a database with another time zone, while a transaction
// keeps the table: it is the same database, and nothing that waits for the
// transaction is run.
func TestTimeZone(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	database := m.NewDatabase(t)
	_, st := connect(t, m.DSN(database))
	must(t, swap(t, st, "", record(1, "a")))
	before := identity(t, st)
	db, _ := connect(t, m.DSN(database))
	tx, err := db.Begin()
	must(t, err)
	defer tx.Rollback()
	must(t, tests.ErrOf(tx.Exec("SELECT * FROM snowfence_lease")))
	for _, zone := range []string{"+08:00", "-09:30", "SYSTEM"} {
		_, far := connect(t, m.DSN(database)+"?time_zone=%27"+url.QueryEscape(zone)+"%27")
		if id := identity(t, far); id != before {
			t.Errorf("in the time zone %s it is %s, not %s", zone, id, before)
		}
		if err := swap(t, far, "", record(2, zone)); err != nil && !errors.Is(err, store.ErrLost) {
			t.Error(err)
		}
	}
	if id := identity(t, st); id != before {
		t.Errorf("it is %s, not %s", id, before)
	}
}

// TestOwnNamespaceIsNoReload makes a namespace in a store that is in use:
// the identity stays.
func TestOwnNamespaceIsNoReload(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	_, st := connect(t, m.DSN(m.NewDatabase(t)))
	before := identity(t, st)
	for _, name := range []string{"one", "two"} {
		r := record(store.NamespaceNode, "a")
		r.Namespace = name
		must(t, swap(t, st, "", r))
	}
	if after := identity(t, st); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
}
