package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/leasetest"
)

func TestConformance(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) lease.Store {
		_, st := openFile(t, filepath.Join(t.TempDir(), "ids.db"))
		return st
	})
}
