package scale

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
)

const (
	namespace = "scale"
	ttl       = time.Minute
)

func overSQL(t testing.TB, driver, dsn string, d sqlstore.Dialect) store.Store {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(8)
	st, err := sqlstore.New(db, d)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

func percent(of float64, known bool) string {
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*of)
}
