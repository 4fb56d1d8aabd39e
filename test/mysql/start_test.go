package mysql

import (
	"testing"

	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/fleet"
	"github.com/snowfence/snowfence/test/servers"
)

func TestStartNumber(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	db, _ := connect(t, m.DSN(m.NewDatabase(t)))
	fleet.StartNumbers(t, db, sqlstore.MySQL())
}

// TestGeneratorInOneLine needs the namespace to exist, and says how to make it.
func TestGeneratorInOneLine(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	db, st := connect(t, m.DSN(m.NewDatabase(t)))
	fleet.OneLine(t, db, st, sqlstore.MySQL())
}
