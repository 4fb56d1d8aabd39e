package lease_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// leaseOnce leases any node, gives it back and returns it, with what was
// logged.
func leaseOnce(t *testing.T, st store.Store, o lease.Options) (node int64, log string) {
	t.Helper()
	var buf bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&buf, nil))
	l := open(t, st, thousand(t), o)
	node = l.Status().Grant.Node
	noError(t, l.Close())
	return node, buf.String()
}

// The file brings the node back under any label. Without it the chance is
// one in a thousand for each start.
func TestStickyFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, path := store.NewMemory(), filepath.Join(t.TempDir(), "sticky")
		first, log := leaseOnce(t, st, lease.Options{StickyFile: path, Label: "pod-a"})
		if strings.Contains(log, "sticky") {
			t.Errorf("the first start logs %s", log)
		}
		for _, label := range []string{"pod-b", "pod-c", "pod-d"} {
			if node, log := leaseOnce(t, st, lease.Options{StickyFile: path, Label: label}); node != first ||
				strings.Contains(log, "sticky") {
				t.Errorf("%s leased node %d, not %d; log: %s", label, node, first, log)
			}
		}
		if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
			t.Errorf("files left behind: %v, %v", files, err)
		}
	})
}

// The store's own memory, by the label, needs no file.
func TestStickyLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		first, _ := leaseOnce(t, st, lease.Options{Label: "web-3"})
		for range 5 {
			if node, _ := leaseOnce(t, st, lease.Options{Label: "web-3"}); node != first {
				t.Errorf("leased node %d, not %d again", node, first)
			}
		}
	})
}

// Machines with a store each and one label lease the same node as rarely as
// if they chose at random: of the 130,816 pairs of 512 stores 128 ± 11,
// where the label alone would make 8,176.
func TestOneLabelInManyStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stores = 512
		pairs, had := 0, map[int64]int{}
		for range stores {
			node, _ := leaseOnce(t, store.NewMemory(), lease.Options{Label: "app"})
			pairs += had[node]
			had[node]++
		}
		if pairs > 230 {
			t.Errorf("%d pairs of %d stores lease the same node", pairs, stores)
		}
	})
}

// The file decides nothing: a node that is held, vetoed, outside of the
// range or that was never there is left alone.
func TestStickyFileIsAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, path := store.NewMemory(), filepath.Join(t.TempDir(), "sticky")
		holder := open(t, st, thousand(t), lease.Options{Label: "holder", StickyFile: path})
		defer holder.Orphan()
		held := holder.Status().Grant.Node
		node, log := leaseOnce(t, st, lease.Options{StickyFile: path})
		if node == held || strings.Contains(log, "ignored") {
			t.Errorf("leased node %d, which is held; log: %s", node, log)
		}
		if again, _ := leaseOnce(t, st, lease.Options{StickyFile: path}); again != node {
			t.Errorf("the file was not written: leased %d, not %d", again, node)
		}
		must(scope.Namespaces(st).Veto(t.Context(), "default", node, "retired"))
		if again, _ := leaseOnce(t, st, lease.Options{StickyFile: path}); again == node {
			t.Errorf("leased node %d, which is vetoed", again)
		}
	})
}

func TestStickyFileDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "sticky")
		for content, want := range map[string]string{
			"": "damaged",
			"snowfence sticky 1\nnamespace default\nnode 5":                 "damaged",
			"snowfence sticky 1\nnamespace default\nnode 5x\n":              "damaged",
			"snowfence sticky 1\nnamespace default\nnode -1\n":              "damaged",
			"snowfence sticky 1\nnamespace default\nnode 5\nnode 6\n":       "damaged",
			"snowfence sticky 1\nnamespace other\nnode 5\n":                 "of namespace",
			"snowfence sticky 1\nnamespace default\nnode 1024\n":            "", // of a larger layout
			"snowfence sticky 1\nnamespace default\nnode " + maxNode + "\n": "",
			strings.Repeat("\x00", 4096):                                    "damaged",
		} {
			noError(t, os.WriteFile(path, []byte(content), 0o600))
			st := store.NewMemory()
			node, log := leaseOnce(t, st, lease.Options{StickyFile: path})
			if !strings.Contains(log, want) || (want != "") != strings.Contains(log, "sticky file ignored") {
				t.Errorf("%q: log: %s", content, log)
			}
			if again, log := leaseOnce(t, st, lease.Options{StickyFile: path}); again != node ||
				strings.Contains(log, "ignored") {
				t.Errorf("%q was not repaired: leased %d, not %d; log: %s", content, again, node, log)
			}
		}
		if _, log := leaseOnce(t, store.NewMemory(),
			lease.Options{StickyFile: path + "/no/folder"}); !strings.Contains(log, "sticky file not written") {
			t.Errorf("a file that cannot be written: %s", log)
		}
	})
}

const maxNode = "9223372036854775807"
