package insql

import (
	"sync"
	"testing"
)

// TestSQLite makes IDs in several connections beside a Go program on other nodes, and looks at
// each promise.
func TestSQLite(t *testing.T) {
	t.Parallel()
	t.Run("crowd", func(t *testing.T) {
		f, err := newFile(t, sqliteText(t))
		if err != nil {
			t.Fatal(err)
		}
		total := 1_000
		if *long {
			total = 20_000
		}
		var l ledger
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				if err := f.orders(new(ledger), 1); err != nil {
					t.Error(err)
				}
				for i := range total / 4 {
					id, err := f.order(t.Context(), i%3 > 0)
					if err != nil {
						t.Error(err)
						return
					}
					if i%3 > 0 {
						l.add(id)
					}
				}
			})
		}
		clients.Go(func() {
			if err := generate(&l, node+1, total); err != nil {
				t.Error(err)
			}
		})
		clients.Wait()
		l.audit(t, "snowfence")
	})
	kept(t, sqliteProbes, sqliteText, sqliteAgain)
}
