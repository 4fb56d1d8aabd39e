package postgres

import (
	"testing"

	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/fleet"
	"github.com/snowfence/snowfence/test/servers"
)

func TestStartNumber(t *testing.T) {
	t.Parallel()
	db, _ := connect(t, servers.StartPostgres(t).URL("postgres"))
	fleet.StartNumbers(t, db, sqlstore.PostgreSQL())
}
