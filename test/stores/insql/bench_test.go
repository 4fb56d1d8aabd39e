package insql

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

var (
	period = flag.Duration("period", 2*time.Second, "how long BenchmarkInserts measures each side of a round")
	rounds = flag.Int("rounds", 5, "how many rounds BenchmarkInserts has")
)

// BenchmarkInserts compares inserts of one row a transaction, whose IDs the
// functions make, with those whose numbers the database counts. The two
// sides take turns; commits wait for the disk.
func BenchmarkInserts(b *testing.B) {
	b.Run("PostgreSQL", func(b *testing.B) {
		d := newPGBase(b, servers.StartPostgres(b), pgText(b))
		d.do("CREATE SEQUENCE counted",
			"CREATE TABLE counted_orders (id bigint PRIMARY KEY DEFAULT nextval('counted'), item int)")
		compare(b, d.db, "nextval")
	})
	b.Run("MariaDB", func(b *testing.B) {
		d := mariadbOpener(servers.StartMariaDB(b))(b, mariadbText(b))
		d.do("CREATE TABLE counted_orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, item INT NOT NULL)")
		compare(b, d.db, "AUTO_INCREMENT")
	})
}

// compare prints how many rows a second each side inserts, and the median
// of their ratios.
func compare(b *testing.B, db *sql.DB, counted string) {
	for _, connections := range []int{1, 16} {
		var times []float64
		for range *rounds {
			ours := insert(b, db, "INSERT INTO orders (item) VALUES (1)", connections)
			theirs := insert(b, db, "INSERT INTO counted_orders (item) VALUES (1)", connections)
			if b.Failed() {
				return
			}
			times = append(times, ours/theirs)
			fmt.Printf("%s, %d connections: %.0f rows a second with snowfence_next(), %.0f with %s: %.2f\n",
				b.Name(), connections, ours, theirs, counted, ours/theirs)
		}
		slices.Sort(times)
		fmt.Printf("%s, %d connections: %.2f × %s (median of %d pairs of runs, %.2f–%.2f)\n", b.Name(), connections,
			times[len(times)/2], counted, len(times), times[0], times[len(times)-1])
	}
}

// insert returns how many rows a second all connections insert.
func insert(b *testing.B, db *sql.DB, statement string, connections int) float64 {
	var rows atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range connections {
		all.Go(func() {
			c, err := db.Conn(context.Background())
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			for time.Since(began) < *period {
				if _, err := c.ExecContext(b.Context(), statement); err != nil {
					b.Error(err)
					return
				}
				rows.Add(1)
			}
		})
	}
	all.Wait()
	return float64(rows.Load()) / time.Since(began).Seconds()
}
