package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// TestReadsBehindTheWitness reads a file that lost another program's
// writes. Only the witness knows of them.
func TestReadsBehindTheWitness(t *testing.T) {
	path, _, before, db, st := connected(t)
	copied := path + ".now"
	must(t, tests.ErrOf(db.Exec("VACUUM INTO '"+copied+"'")))
	other, swaps := openFile(t, path)
	swap(t, swaps, "a", record(2, "b"))
	identity(t, swaps) // a lease reads before it uses what it swapped
	_ = other.Close()
	reloads["the leases alone"](t, path, copied)
	if id := identity(t, st); id == before {
		t.Errorf("it is still %s", id)
	}
}

// TestSwapsThatMakeUpForWhatIsGone swaps in a file that was rolled back by
// as many swaps. Afterwards the numbers are as before, so a look after the
// swap is too late: none of these was noticed.
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
	must(t, err)
	gone := st // who does what will be gone
	if who == "another one" {
		_, gone = openFile(t, path)
	}
	writes := []store.Write{{Old: "a", New: record(2, "x")}}
	swap(t, gone, "b", record(1, "c"))
	if batch {
		writes = append(writes, store.Write{Old: "a", New: record(store.NamespaceNode, "x")})
		swap(t, gone, "c", record(1, "d"))
	}
	identity(t, gone) // a lease reads before it uses what it swapped
	reloads["the leases alone"](t, path, copied)
	if who == "the store, and the witness went back too" {
		must(t, os.WriteFile(path+"-witness", witness, 0o600))
	}
	refused(t, st, writes)
	after := identity(t, st)
	if after == before {
		t.Errorf("it is still %s", after)
	}
	same(t, path, after, "the swap")
}

// pin keeps a connection open, as a lease does.
func pin(t *testing.T, st *sqlstore.Store) {
	t.Helper()
	unpin, err := st.Pin(t.Context())
	must(t, err)
	t.Cleanup(unpin)
}

// refused checks that swaps write nothing, and that their error is not
// ErrLost.
func refused(t *testing.T, st *sqlstore.Store, writes []store.Write) {
	t.Helper()
	results, _, _ := st.Swap(t.Context(), writes)
	for i, err := range results {
		if err == nil || errors.Is(err, store.ErrLost) {
			t.Errorf("a swap in a file that went back: %v", err)
		}
		rs, _, err := st.Get(t.Context(), []store.Key{writes[i].New.Key})
		if err != nil || rs[0].Nonce != writes[i].Old {
			t.Errorf("it was written: %+v, %v", rs, err)
		}
	}
}

// TestSwapsBesideADamagedWitness swaps where nothing is known: it may have
// been put back.
func TestSwapsBesideADamagedWitness(t *testing.T) {
	for name, writes := range map[string][]store.Write{
		"one":     {{Old: "a", New: record(2, "x")}},
		"a batch": {{Old: "a", New: record(2, "x")}, {Old: "a", New: record(store.NamespaceNode, "x")}},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, before, _, st := connected(t)
			must(t, os.Truncate(path+"-witness", 0))
			refused(t, st, writes)
			if id := identity(t, st); id == before {
				t.Errorf("it is still %s", id)
			}
		})
	}
}

// TestSwapsAfterTheAlarmOfAnother swaps in data that another store has
// given another identity: its numbers are lower, and nothing is wrong with
// them.
func TestSwapsAfterTheAlarmOfAnother(t *testing.T) {
	path, copied, before, _, st := connected(t)
	reloads["the leases alone"](t, path, copied)
	after := opened(t, path)
	swap(t, st, "", record(3, "a"))
	if id := identity(t, st); id != after || id == before {
		t.Errorf("it is %s, after %s and %s", id, before, after)
	}
}

// TestWitness deletes and damages the witness: what cannot be known counts
// as put back, once.
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
			path, _, before, _, st := connected(t)
			must(t, harm(path+"-witness"))
			alarmed(t, path, before)
			if connected, now := identity(t, st), opened(t, path); connected != now {
				t.Errorf("a connected store says %s, and a new one %s", connected, now)
			}
		})
	}
	path, _, _ := scene(t)
	must(t, errors.Join(os.Remove(path+"-witness"), os.Mkdir(path+"-witness", 0o700)))
	_, st := openFile(t, path)
	tests.Says(t, tests.ErrOf(store.Identity(t.Context(), st, "")),
		"witness beside the database", "with a folder in place of the witness")
}

// TestWitnessHasTheRightsOfTheFile lets the users of a group share a file:
// they share its witness.
func TestWitnessHasTheRightsOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	must(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o660)))
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
			if ids[i], err = store.Identity(t.Context(), st, ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, st := openFile(t, path)
	ns, err := scope.Namespaces(st).Show(t.Context(), "default")
	if err != nil || ns.Floor != 0 || ns.Generation != 1 {
		t.Errorf("%+v, %v", ns, err)
	}
	for _, id := range ids {
		if id != ns.Identity {
			t.Errorf("identities %q, and %q of the namespace", ids, ns.Identity)
		}
	}
}

// TestManyNoteSwaps has many stores swap at the same time, and notes come
// in any order.
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
				if _, err := store.Put(t.Context(), st, store.Write{Old: nonce, New: next}); err != nil {
					t.Error(err)
					return
				}
				nonce = next.Nonce
				if _, _, err := st.Get(t.Context(), []store.Key{next.Key}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	same(t, path, before, "many swaps")
}
