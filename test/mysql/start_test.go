package mysql

import (
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
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

func TestGeneratorInOneLine(t *testing.T) {
	t.Parallel()
	m := servers.StartMariaDB(t)
	db, st := connect(t, m.DSN(m.NewDatabase(t)))
	fleet.OneLine(t, st, func(o *lease.GeneratorOptions) (*snowfence.Generator, error) {
		return sqlstore.Generator(t.Context(), db, sqlstore.MySQL(), o)
	})
}
