package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
)

func TestConformance(t *testing.T) {
	open := func(t *testing.T) store.Store {
		_, st := openFile(t, filepath.Join(t.TempDir(), "ids.db"))
		return st
	}
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}
