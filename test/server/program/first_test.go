package program

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// firstMinutes starts the server on a fresh database, gets an ID, and has a Go program
// make IDs in the same database with one line.
func firstMinutes(t *testing.T, url, driver, dsn string, dialect sqlstore.Dialect) {
	t.Helper()
	path := servers.Program(t, servers.Snowfence)
	address := servers.Address(servers.Ports(t, 1)[0])
	server := servers.Start(t, "snowfence", path, []string{"serve", "--store", url, "--http", address, "--resp", ""},
		[]string{"HOME=" + t.TempDir()})
	ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience())
	defer cancel()
	var answer struct{ IDs []snowfence.ID }
	server.Ready(t, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/default/next", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode == http.StatusOK {
			err = json.Unmarshal(body, &answer)
		}
		if err != nil || len(answer.IDs) != 1 {
			err = fmt.Errorf("%s: %s, %w", res.Status, body, err)
		}
		return err
	})

	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ids, err := sqlstore.Open(ctx, db, dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ids.Close()
	first := answer.IDs[0]
	second, err := ids.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	a, errA := ids.Scheme().Decode(first)
	b, errB := ids.Scheme().Decode(second)
	if errA != nil || errB != nil || a.Node == b.Node || time.Since(a.Time).Abs() > time.Hour ||
		time.Since(b.Time).Abs() > time.Hour {
		t.Errorf("the server made %d, %+v (%v), and the program %d, %+v (%v)", first, a, errA, second, b, errB)
	}
}

func TestFirstMinutesOnPostgreSQL(t *testing.T) {
	p := servers.StartPostgres(t)
	url := p.URL("postgres")
	firstMinutes(t, url, "pgx", url, sqlstore.PostgreSQL())
}

func TestFirstMinutesOnMariaDB(t *testing.T) {
	m := servers.StartMariaDB(t)
	database := m.NewDatabase(t)
	firstMinutes(t, m.URL(database), "mysql", m.DSN(database), sqlstore.MySQL())
}
