package btree

import (
	"database/sql"
	"flag"
	"fmt"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

var rows = flag.Int("rows", 0, "how many rows BenchmarkKeys inserts in each table")

// open opens a database for all writers.
func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxIdleConns(writers)
	return db
}

func postgres(t testing.TB) *database {
	p := servers.StartPostgres(t, "shared_buffers=32MB", "max_wal_size=4GB")
	db := open(t, "pgx", p.URL("postgres"))
	return &database{
		name: "PostgreSQL", db: db, column: func(k kind) string { return k.postgres },
		create:   "CREATE TABLE orders (id %s PRIMARY KEY, customer int, made_at timestamp(3), note text)",
		log:      "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn",
		settle:   []string{"VACUUM ANALYZE orders", "CREATE EXTENSION IF NOT EXISTS pgstattuple"},
		keyBytes: "SELECT pg_relation_size('orders_pkey')", indexBytes: "SELECT pg_relation_size('orders_made')",
		fill: "SELECT avg_leaf_density FROM pgstatindex('orders_pkey')",
		restart: func() {
			db.SetMaxIdleConns(0)
			p.StopCleanly(t)
			p.Again(t)
			db.SetMaxIdleConns(writers)
		},
	}
}

func mariadb(t testing.TB) *database {
	m := servers.StartMariaDB(t, "--innodb-buffer-pool-size=32M",
		"--innodb-buffer-pool-load-at-startup=0", "--innodb-log-file-size=512M")
	name := m.NewDatabase(t)
	db := open(t, "mysql", m.DSN(name))
	size := func(index string) string {
		return "SELECT stat_value * @@innodb_page_size FROM mysql.innodb_index_stats " +
			"WHERE database_name = DATABASE() AND table_name = 'orders' AND index_name = '" + index + "' AND stat_name = 'size'"
	}
	return &database{
		name: "MariaDB", db: db, column: func(k kind) string { return k.mariadb },
		create: "CREATE TABLE orders (id %s PRIMARY KEY, customer INT, made_at DATETIME(3), note VARCHAR(100)) " +
			"ENGINE = InnoDB STATS_SAMPLE_PAGES = 20",
		log: "SELECT variable_value FROM information_schema.global_status " +
			"WHERE variable_name = 'innodb_os_log_written'",
		settle: []string{"ANALYZE TABLE orders"}, keyBytes: size("PRIMARY"), indexBytes: size("orders_made"),
		restart: func() {
			db.SetMaxIdleConns(0)
			m.StopCleanly(t)
			m.Restart(t)
			m.Up(t)
			db.SetMaxIdleConns(writers)
		},
	}
}

// TestKeys runs the measurement with few rows: each figure is there.
func TestKeys(t *testing.T) {
	t.Parallel()
	all, err := kinds()
	must(t, err)
	d := postgres(t)
	for _, k := range []kind{all[2], all[3]} {
		r, err := d.measureKind(t.Context(), k, 2000)
		must(t, err)
		if r.LogBytes <= 0 || r.KeyBytes <= 0 || r.IndexBytes <= 0 || r.Fill <= 0 || r.Day <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

// BenchmarkKeys measures all kinds of keys in both databases, and prints
// rows for the page.
func BenchmarkKeys(b *testing.B) {
	if *rows < 1 {
		b.Skip("needs -rows")
	}
	all, err := kinds()
	must(b, err)
	fmt.Println()
	for _, start := range []func(testing.TB) *database{postgres, mariadb} {
		d := start(b)
		fmt.Printf("| **%s** | | | | | |\n", d.name)
		for _, k := range all {
			r, err := d.measureKind(b.Context(), k, *rows)
			must(b, err)
			fill := "–"
			if r.Fill >= 0 {
				fill = fmt.Sprintf("%.0f", r.Fill)
			}
			fmt.Printf("| %s | %.0f | %.1f | %.1f | %s | %.0f |\n", k.name, r.LogBytes, r.KeyBytes, r.IndexBytes, fill,
				r.Day)
		}
	}
}
