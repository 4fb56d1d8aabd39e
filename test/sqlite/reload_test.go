package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	modernc "modernc.org/sqlite"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/fleet"
)

// record is one to write.
func record(node int64, nonce string) lease.Record {
	return lease.Record{Key: lease.Key{Namespace: "n", Node: node}, Nonce: nonce, Revision: 1}
}

func swap(t *testing.T, st lease.Store, old string, r lease.Record) {
	t.Helper()
	if err := st.Swap(t.Context(), []lease.Write{{Old: old, New: r}})[0]; err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

// identity returns who a store says it is, after it has read all records.
func identity(t *testing.T, st *sqlstore.Store) string {
	t.Helper()
	among := snowfence.NodeRange{From: lease.NamespaceNode, Until: 101}
	if _, err := st.List(t.Context(), lease.Query{Nodes: among}); err != nil {
		t.Fatal(err)
	}
	id, err := st.Identity(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// opened returns the identity that a program sees which opens a file and reads nothing.
func opened(t *testing.T, path string) string {
	t.Helper()
	db, st := openFile(t, path)
	defer db.Close()
	id, err := st.Identity(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// scene makes a file with records and a copy of before the last swap, and returns its identity.
func scene(t *testing.T) (path, copied, id string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ids.db")
	copied = path + ".backup"
	db, st := openFile(t, path)
	defer db.Close()
	swap(t, st, "", record(lease.NamespaceNode, "a"))
	swap(t, st, "", record(1, "a"))
	swap(t, st, "", record(2, "a"))
	if _, err := db.Exec("VACUUM INTO '" + copied + "'"); err != nil {
		t.Fatal(err)
	}
	swap(t, st, "a", record(1, "b"))
	return path, copied, identity(t, st)
}

// copyOver writes the bytes of one file over another one, as cp does.
func copyOver(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// restore is sqlite3's .restore.
func restore(t *testing.T, path, copied string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(conn any) error {
		b, err := conn.(interface {
			NewRestore(string) (*modernc.Backup, error)
		}).NewRestore(copied)
		if err != nil {
			return err
		}
		_, err = b.Step(-1)
		return errors.Join(err, b.Finish())
	})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	clearLeases = "DELETE FROM snowfence_lease; "
	putLeases   = "INSERT INTO snowfence_lease SELECT * FROM b.snowfence_lease; "
	clearMeta   = "DELETE FROM snowfence_meta; "
	putMeta     = "INSERT INTO snowfence_meta SELECT * FROM b.snowfence_meta; "
)

// reloads put rows back into the file that they come from.
var reloads = map[string]func(t *testing.T, path, copied string){
	"restore": restore,
	"copied over": func(t *testing.T, path, copied string) {
		for _, suffix := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + suffix) // the last connection did so as a rule
		}
		copyOver(t, copied, path)
	},
	"tables dropped": func(t *testing.T, path, copied string) {
		execute(t, path, "ATTACH '"+copied+"' AS b; DROP TABLE snowfence_lease; DROP TABLE snowfence_meta; "+
			"CREATE TABLE snowfence_lease AS SELECT * FROM b.snowfence_lease; CREATE TABLE snowfence_meta AS SELECT * FROM b.snowfence_meta; "+
			"CREATE UNIQUE INDEX x ON snowfence_meta (name)")
	},
	"rows deleted": func(t *testing.T, path, copied string) {
		execute(t, path, "ATTACH '"+copied+"' AS b; "+clearLeases+clearMeta+putLeases+putMeta)
	},
	"the leases alone": func(t *testing.T, path, copied string) {
		execute(t, path, "ATTACH '"+copied+"' AS b; "+clearLeases+putLeases)
	},
}

// TestReloadIsNoticed puts old rows back while nobody runs: the data has another
// identity, which stays.
func TestReloadIsNoticed(t *testing.T) {
	for name, reload := range reloads {
		t.Run(name, func(t *testing.T) {
			path, copied, before := scene(t)
			reload(t, path, copied)
			alarmed(t, path, before)
		})
	}
}

// TestOneRowPutBackIsNoticed puts one old row back below a later swap of another row,
// which keeps the highest number. It made 604,000 IDs twice.
func TestOneRowPutBackIsNoticed(t *testing.T) {
	path, copied, _ := scene(t)
	db, st := openFile(t, path)
	swap(t, st, "a", record(2, "b"))
	before := identity(t, st)
	_ = db.Close()
	same(t, path, before, "swaps")
	execute(t, path, "ATTACH '"+copied+"' AS b; DELETE FROM snowfence_lease WHERE node = 1; "+
		putLeases[:len(putLeases)-2]+" WHERE node = 1")
	alarmed(t, path, before)
}

// TestGoneRowsAreNoticed deletes rows without putting any back.
func TestGoneRowsAreNoticed(t *testing.T) {
	for _, gone := range []string{
		clearLeases, clearMeta, "DELETE FROM snowfence_lease WHERE node = 2",
		"DELETE FROM snowfence_lease WHERE node = 1",
	} {
		path, _, before := scene(t)
		execute(t, path, gone)
		alarmed(t, path, before)
	}
}

// TestLastRowGoneIsNoticed deletes the row that came last, after a crash that forgot that it was
// noted: the numbers of swaps are as they should be, and only the count of rows is not.
func TestLastRowGoneIsNoticed(t *testing.T) {
	path, _, before := scene(t)
	old, err := os.ReadFile(path + "-witness")
	if err != nil {
		t.Fatal(err)
	}
	db, st := openFile(t, path)
	swap(t, st, "", record(3, "a"))
	_ = db.Close()
	if err := os.WriteFile(path+"-witness", old, 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, path, "DELETE FROM snowfence_lease WHERE node = 3")
	alarmed(t, path, before)
}

// alarmed checks that a file has another identity than before, and keeps that one.
func alarmed(t *testing.T, path, before string) {
	t.Helper()
	after := opened(t, path)
	if after == before {
		t.Errorf("it is still %s", after)
	}
	same(t, path, after, "it was opened")
	db, st := openFile(t, path)
	defer db.Close()
	swap(t, st, "", record(50, "a"))
	swap(t, st, "a", record(50, "b"))
	same(t, path, after, "writes")
}

func same(t *testing.T, path, id, after string) {
	t.Helper()
	if now := opened(t, path); now != id {
		t.Errorf("after %s the identity is %s, no longer %s", after, now, id)
	}
}

// TestReloadUnderConnectedStore does so under a store that is open, of which nothing else
// is in use.
func TestReloadUnderConnectedStore(t *testing.T) {
	for name, reload := range reloads {
		if name == "copied over" || name == "tables dropped" {
			continue // the one breaks open connections of SQLite, and the other fails while they read
		}
		t.Run(name, func(t *testing.T) {
			path, copied, before := scene(t)
			db, st := openFile(t, path)
			defer db.Close()
			if id := identity(t, st); id != before {
				t.Fatal(id)
			}
			other, swaps := openFile(t, path) // what this one does, only the witness knows
			swap(t, swaps, "b", record(1, "c"))
			identity(t, swaps)
			_ = other.Close()
			reload(t, path, copied)
			after := identity(t, st)
			if after == before {
				t.Errorf("it is still %s", after)
			}
			swap(t, st, "", record(50, "a"))
			same(t, path, after, "writes")
			if id := identity(t, st); id != after {
				t.Errorf("it is %s, after %s", id, after)
			}
		})
	}
}

// TestReadsBehindTheWitness reads a file that lost what another program did: only the witness knows
// of it.
func TestReadsBehindTheWitness(t *testing.T) {
	path, _, before := scene(t)
	db, st := openFile(t, path)
	defer db.Close()
	if id := identity(t, st); id != before {
		t.Fatal(id)
	}
	copied := path + ".now"
	if _, err := db.Exec("VACUUM INTO '" + copied + "'"); err != nil {
		t.Fatal(err)
	}
	other, swaps := openFile(t, path)
	swap(t, swaps, "a", record(2, "b"))
	identity(t, swaps) // a lease reads before it uses what it swapped
	_ = other.Close()
	reloads["the leases alone"](t, path, copied)
	if id := identity(t, st); id == before {
		t.Errorf("it is still %s", id)
	}
}

// TestSwapsThatMakeUpForWhatIsGone swaps in a file that was rolled back by as many swaps.
// Afterwards the numbers are those of before, so a look after the swap is too late: none of these
// was noticed.
func TestSwapsThatMakeUpForWhatIsGone(t *testing.T) {
	for _, pinned := range []bool{false, true} {
		for _, batch := range []bool{false, true} {
			for _, who := range []string{"the store", "another one", "the store, and the witness went back too"} {
				t.Run(fmt.Sprintf("pinned %v, batch %v, by %s", pinned, batch, who), func(t *testing.T) {
					swapsThatMakeUp(t, pinned, batch, who)
				})
			}
		}
	}
}

func swapsThatMakeUp(t *testing.T, pinned, batch bool, who string) {
	path, _, before := scene(t)
	db, st := openFile(t, path)
	if pinned {
		pin(t, st)
	}
	if id := identity(t, st); id != before {
		t.Fatal(id)
	}
	copied := path + ".now"
	witness, err := os.ReadFile(path + "-witness")
	if err == nil {
		_, err = db.Exec("VACUUM INTO '" + copied + "'")
	}
	if err != nil {
		t.Fatal(err)
	}
	gone := st // who does what will be gone
	if who == "another one" {
		_, gone = openFile(t, path)
	}
	writes := []lease.Write{{Old: "a", New: record(2, "x")}}
	swap(t, gone, "b", record(1, "c"))
	if batch {
		writes = append(writes, lease.Write{Old: "a", New: record(lease.NamespaceNode, "x")})
		swap(t, gone, "c", record(1, "d"))
	}
	identity(t, gone) // a lease reads before it uses what it swapped
	reloads["the leases alone"](t, path, copied)
	if who == "the store, and the witness went back too" {
		if err := os.WriteFile(path+"-witness", witness, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, st, writes)
	after := identity(t, st)
	if after == before {
		t.Errorf("it is still %s", after)
	}
	same(t, path, after, "the swap")
}

// TestSwapsOfLabels changes labels, which renewals leave as they are: it counts like each swap.
func TestSwapsOfLabels(t *testing.T) {
	path, _, before := scene(t)
	db, st := openFile(t, path)
	nonce := "a"
	for _, batch := range []bool{false, true} {
		for _, label := range []string{"x", "y", ""} {
			r := record(2, nonce+"b")
			r.Label = label
			writes := []lease.Write{{Old: nonce, New: r}}
			if batch {
				writes = append(writes, lease.Write{Old: "gone", New: record(1, "z")})
			}
			if err := st.Swap(t.Context(), writes); err[0] != nil || batch && !errors.Is(err[1], lease.ErrLost) {
				t.Fatal(err)
			}
			among := snowfence.NodeRange{Until: 10}
			rs, err := st.List(t.Context(), lease.Query{Namespace: "n", Nodes: among, Label: label})
			if err != nil || !slices.Contains(rs, r) {
				t.Errorf("with the label %q there are %+v, %v", label, rs, err)
			}
			nonce = r.Nonce
		}
	}
	_ = db.Close()
	same(t, path, before, "swaps of labels")
}

// pin keeps a connection open, as a lease does.
func pin(t *testing.T, st *sqlstore.Store) {
	t.Helper()
	unpin, err := st.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unpin)
}

// refused checks that swaps write nothing, and do not say that somebody else was faster.
func refused(t *testing.T, st *sqlstore.Store, writes []lease.Write) {
	t.Helper()
	for i, err := range st.Swap(t.Context(), writes) {
		if err == nil || errors.Is(err, lease.ErrLost) {
			t.Errorf("a swap in a file that went back: %v", err)
		}
		rs, err := st.Get(t.Context(), []lease.Key{writes[i].New.Key})
		if err != nil || rs[0].Nonce != writes[i].Old {
			t.Errorf("it was written: %+v, %v", rs, err)
		}
	}
}

// TestSwapsBesideADamagedWitness swaps where nothing is known: it may have been put back.
func TestSwapsBesideADamagedWitness(t *testing.T) {
	for name, writes := range map[string][]lease.Write{
		"one":     {{Old: "a", New: record(2, "x")}},
		"a batch": {{Old: "a", New: record(2, "x")}, {Old: "a", New: record(lease.NamespaceNode, "x")}},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, before := scene(t)
			_, st := openFile(t, path)
			if id := identity(t, st); id != before {
				t.Fatal(id)
			}
			if err := os.Truncate(path+"-witness", 0); err != nil {
				t.Fatal(err)
			}
			refused(t, st, writes)
			if id := identity(t, st); id == before {
				t.Errorf("it is still %s", id)
			}
		})
	}
}

// TestSwapsAfterTheAlarmOfAnother swaps in data that another store has given another identity: its
// numbers are lower, and nothing is wrong with them.
func TestSwapsAfterTheAlarmOfAnother(t *testing.T) {
	path, copied, before := scene(t)
	_, st := openFile(t, path)
	if id := identity(t, st); id != before {
		t.Fatal(id)
	}
	reloads["the leases alone"](t, path, copied)
	after := opened(t, path)
	swap(t, st, "", record(3, "a"))
	if id := identity(t, st); id != after || id == before {
		t.Errorf("it is %s, after %s and %s", id, before, after)
	}
}

// TestUpkeepIsNoReload does what administrators do with a file: nothing was put back.
func TestUpkeepIsNoReload(t *testing.T) {
	path, copied, before := scene(t)
	for _, upkeep := range []string{
		"VACUUM", "REINDEX", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)",
		"CREATE TABLE other (x)", "ALTER TABLE snowfence_lease ADD COLUMN note TEXT", "DROP TABLE other",
	} {
		execute(t, path, upkeep)
		same(t, path, before, upkeep)
	}
	old, err := os.ReadFile(path + "-witness")
	if err != nil {
		t.Fatal(err)
	}
	db, st := openFile(t, path)
	defer db.Close()
	for _, nonce := range []string{"b", "c", "d"} {
		swap(t, st, nonce, record(1, string(nonce[0]+1)))
	}
	if err := os.WriteFile(path+"-witness", old, 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, path, before, "a crash that forgot what was noted last")
	_ = copied
}

// TestWitness deletes and damages the witness: what cannot be known counts as put back, once.
func TestWitness(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"deleted": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"of another database": func(path string) error {
			other, _, _ := scene(t)
			copyOver(t, other+"-witness", path)
			return nil
		},
		"of another database, as another file": func(path string) error {
			other, _, _ := scene(t)
			return os.Rename(other+"-witness", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, before := scene(t)
			db, st := openFile(t, path)
			defer db.Close()
			if id := identity(t, st); id != before {
				t.Fatal(id)
			}
			if err := harm(path + "-witness"); err != nil {
				t.Fatal(err)
			}
			alarmed(t, path, before)
			if connected, now := identity(t, st), opened(t, path); connected != now {
				t.Errorf("a connected store says %s, and a new one %s", connected, now)
			}
		})
	}
	path, _, _ := scene(t)
	if err := errors.Join(os.Remove(path+"-witness"), os.Mkdir(path+"-witness", 0o700)); err != nil {
		t.Fatal(err)
	}
	_, st := openFile(t, path)
	if _, err := st.Identity(t.Context(), ""); err == nil || !strings.Contains(err.Error(),
		"witness beside the database") {
		t.Errorf("with a folder in place of the witness: %v", err)
	}
}

// TestWitnessHasTheRightsOfTheFile lets the users of a group share a file: they share its witness.
func TestWitnessHasTheRightsOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o660)); err != nil {
		t.Fatal(err)
	}
	opened(t, path)
	info, err := os.Stat(path + "-witness")
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestNewFileNeedsNoWait: nothing can have been granted before.
func TestNewFileNeedsNoWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		_, st := openFile(t, path)
		wg.Go(func() {
			l, err := lease.Open(t.Context(), st, "default", fleet.Default(t), &lease.Options{Create: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Orphan()
			if ids[i], err = st.Identity(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, st := openFile(t, path)
	ns, err := lease.ShowNamespace(t.Context(), st, "default")
	if err != nil || ns.Floor != 0 || ns.Generation != 1 {
		t.Errorf("%+v, %v", ns, err)
	}
	for _, id := range ids {
		if id != ns.Identity {
			t.Errorf("identities %q, and %q of the namespace", ids, ns.Identity)
		}
	}
}

// TestManyNoteSwaps has many stores swap at the same time, and notes come in any order.
func TestManyNoteSwaps(t *testing.T) {
	path, _, before := scene(t)
	var wg sync.WaitGroup
	for i := range 6 {
		db, st := openFile(t, path)
		wg.Go(func() {
			defer db.Close()
			node := int64(60 + i)
			nonce := ""
			for n := range 40 {
				next := record(node, string(rune('A'+n)))
				if err := st.Swap(t.Context(), []lease.Write{{Old: nonce, New: next}})[0]; err != nil {
					t.Error(err)
					return
				}
				nonce = next.Nonce
				if _, err := st.Get(t.Context(), []lease.Key{next.Key}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	same(t, path, before, "many swaps")
}

// TestReloadBetweenRuns puts old rows back between leases: grants start above all that was granted.
func TestReloadBetweenRuns(t *testing.T) {
	for name, reload := range reloads {
		t.Run(name, func(t *testing.T) {
			granted, path := grantedAfter(t, reload)
			raised(t, path, granted)
		})
	}
}

// TestNamespaceMadeAgain deletes all leases with their namespace, which the next lease makes again.
func TestNamespaceMadeAgain(t *testing.T) {
	granted, path := grantedAfter(t, func(t *testing.T, path, _ string) { execute(t, path, clearLeases) })
	raised(t, path, granted)
}

// TestMadeAgainUnderConnectedStore does so under a store that is open.
func TestMadeAgainUnderConnectedStore(t *testing.T) {
	path, _, before := scene(t)
	db, st := openFile(t, path)
	defer db.Close()
	if id := identity(t, st); id != before {
		t.Fatal(id)
	}
	execute(t, path, "DELETE FROM snowfence_lease WHERE node = -1")
	swap(t, st, "", record(lease.NamespaceNode, "z"))
	if id := identity(t, st); id == before {
		t.Errorf("it is still %s", id)
	}
}

func grantedAfter(t *testing.T, harm func(t *testing.T, path, copied string)) (until int64, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ids.db")
	copied := path + ".backup"
	db, st := openFile(t, path)
	node := int64(7)
	l, err := lease.Open(t.Context(), st, "default", fleet.Default(t), &lease.Options{Create: true, Node: &node})
	if err == nil {
		_, err = db.Exec("VACUUM INTO '" + copied + "'")
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Orphan()
	again, err := lease.Open(t.Context(), st, "default", fleet.Default(t), &lease.Options{}) // not in the copy
	if err != nil {
		t.Fatal(err)
	}
	until = max(l.Status().Grant.Until, again.Status().Grant.Until)
	again.Orphan()
	_ = db.Close()
	harm(t, path, copied)
	return until, path
}

func raised(t *testing.T, path string, until int64) {
	t.Helper()
	_, st := openFile(t, path)
	l, err := lease.Open(t.Context(), st, "default", fleet.Default(t), &lease.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	l.Orphan()
	if from := l.Status().Grant.From; from < until {
		t.Errorf("granted from tick %d, and %d was granted", from, until)
	}
}

// TestEarlierTables brings a file of version 1 to the present one. It has no witness yet.
func TestEarlierTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	execute(t, path, `CREATE TABLE snowfence_meta (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(255) NOT NULL);
		CREATE TABLE snowfence_lease (
			namespace TEXT NOT NULL, node INTEGER NOT NULL, nonce TEXT NOT NULL, revision INTEGER NOT NULL, generation INTEGER NOT NULL,
			run_from INTEGER NOT NULL, until INTEGER NOT NULL, prev_until INTEGER NOT NULL, skip_from INTEGER NOT NULL, skip_until INTEGER NOT NULL,
			holder TEXT NOT NULL, label TEXT NOT NULL, veto TEXT NOT NULL, written_at INTEGER NOT NULL, data TEXT NOT NULL,
			PRIMARY KEY (namespace, node)) WITHOUT ROWID;
		INSERT INTO snowfence_meta VALUES ('version', '1'), ('id', 'ABC');
		INSERT INTO snowfence_lease VALUES ('n', 1, 'a', 1, 1, 0, 7, 0, 0, 0, '', 'l', '', 0, '')`)
	db, st := openFile(t, path)
	defer db.Close()
	rs, err := st.Get(t.Context(), []lease.Key{{Namespace: "n", Node: 1}})
	if err != nil || rs[0].Nonce != "a" || rs[0].Until != 7 {
		t.Errorf("%+v, %v", rs, err)
	}
	id := identity(t, st)
	swap(t, st, "a", record(1, "b"))
	same(t, path, id, "the first swap")
}
