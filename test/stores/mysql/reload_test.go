package mysql

import (
	"errors"
	"net/url"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func identity(t *testing.T, st *sqlstore.Store) string {
	t.Helper()
	if _, err := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}}); err != nil {
		t.Fatal(err)
	}
	id, err := st.Identity(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestReloadIsNoticed puts data back into the tables that it was dumped
// from. Triggers notice; without them, MariaDB's versions of the table of
// the identity do.
func TestReloadIsNoticed(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	for name, c := range map[string]struct {
		harm, reload string // statements before and after the rows of the dump are there again
		unseen       bool
	}{
		"all rows":                              {"DELETE FROM snowfence_lease; DELETE FROM snowfence_meta", "leases, meta", false},
		"the leases alone":                      {"TRUNCATE snowfence_lease", "leases", false},
		"the row of one node":                   {"CREATE TABLE kept AS SELECT * FROM snowfence_lease WHERE node = 1; DELETE FROM snowfence_lease WHERE node = 1; INSERT INTO snowfence_lease SELECT * FROM kept", "", false},
		"the description alone":                 {"DELETE FROM snowfence_meta", "meta", false},
		"all rows, without triggers":            {"DROP TRIGGER snowfence_lease_reload; DROP TRIGGER snowfence_meta_reload; TRUNCATE snowfence_lease; DELETE FROM snowfence_meta", "leases, meta", false},
		"the description, without triggers":     {"DROP TRIGGER snowfence_lease_reload; DROP TRIGGER snowfence_meta_reload; DELETE FROM snowfence_meta", "meta", false},
		"the leases, without triggers: not yet": {"DROP TRIGGER snowfence_lease_reload; TRUNCATE snowfence_lease", "leases", true},
		"upkeep":                                {"ANALYZE TABLE snowfence_lease, snowfence_meta; OPTIMIZE TABLE snowfence_meta", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := m.NewDatabase(t)
			_, st := connect(t, m.DSN(database))
			for _, err := range st.Swap(t.Context(), []store.Write{
				{New: record(store.NamespaceNode, "a")},
				{New: record(1, "a")},
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			leases, meta := rows(t, m, database, "snowfence_lease"), rows(t, m, database, "snowfence_meta")
			if err := swap(t, st, "a", record(1, "b")); err != nil {
				t.Fatal(err)
			}
			before := identity(t, st)
			m.SQL(t, database, c.harm)
			switch c.reload {
			case "leases":
				m.Load(t, database, leases)
			case "meta":
				m.Load(t, database, meta)
			case "leases, meta":
				m.Load(t, database, leases)
				m.Load(t, database, meta)
			}
			after := identity(t, st)
			if (after == before) != c.unseen {
				t.Errorf("before %s, after %s", before, after)
			}
			for range 2 {
				_, again := connect(t, m.DSN(database))
				if id := identity(t, again); id != after {
					t.Errorf("it is %s, after %s", id, after)
				}
			}
		})
	}
}

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
			if err := swap(t, st, "", record(1, "a")); err != nil {
				t.Fatal(err)
			}
			before := identity(t, st)
			time.Sleep(1100 * time.Millisecond) // tables are told apart by the second
			m.SQL(t, database, "CREATE TABLE kept LIKE snowfence_lease; INSERT INTO kept SELECT * FROM snowfence_lease")
			if err := swap(t, st, "a", record(1, "b")); err != nil {
				t.Fatal(err)
			}
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
	if err := swap(t, st, "", record(1, "a")); err != nil {
		t.Fatal(err)
	}
	before := identity(t, st)
	db, _ := connect(t, m.DSN(database))
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("SELECT * FROM snowfence_lease"); err != nil {
		t.Fatal(err)
	}
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

// rows dumps the data of a table alone.
func rows(t *testing.T, m *servers.MariaDB, database, table string) string {
	t.Helper()
	out, err := exec.Command(servers.Need(t, "mysql", "mariadb-dump")[0], "--no-defaults", "--protocol=tcp",
		"-uroot", "-h127.0.0.1", "-P"+strconv.Itoa(m.Port),
		"--no-create-info", "--hex-blob", "--skip-triggers", database, table).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
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
		if err := swap(t, st, "", r); err != nil {
			t.Fatal(err)
		}
	}
	if after := identity(t, st); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
}
