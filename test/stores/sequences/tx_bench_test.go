package sequences

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
)

var (
	figures = flag.String("figures", "", "write the figures of BenchmarkSequenceTx to this file")
	period  = flag.Duration("period", time.Second, "how long BenchmarkSequenceTx measures each side of a round")
	rounds  = flag.Int("rounds", 6, "how many rounds BenchmarkSequenceTx has")
)

// byHand is a counter as one writes it without Snowfence.
var byHand = map[string]func(ctx context.Context, tx *sql.Tx) (int64, error){
	"pgx":    returning,
	"sqlite": returning,
	"mysql": func(ctx context.Context, tx *sql.Tx) (int64, error) {
		res, err := tx.ExecContext(ctx, "UPDATE counter SET n = LAST_INSERT_ID(n + 1) WHERE name = 'orders'")
		if err != nil {
			return 0, err
		}
		return res.LastInsertId()
	},
}

func returning(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 WHERE name = 'orders' RETURNING n").Scan(&n)
	return n, err
}

// BenchmarkSequenceTx compares transactions that take a number and write an
// invoice with it, by SequenceTx and by a counter of one's own, over
// sixteen connections. The two sides take turns.
func BenchmarkSequenceTx(b *testing.B) {
	var out *os.File
	if *figures != "" {
		out = must(os.Create(*figures))
		defer out.Close()
	}
	for kind, on := range databases(b) {
		b.Run(kind, func(b *testing.B) {
			d := on(b)
			d.invoices(b, sequence.Definition{})
			db := d.pool(b, 16)
			for _, s := range []string{
				"CREATE TABLE counter (name VARCHAR(64) NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
				"INSERT INTO counter VALUES ('orders', 0)",
			} {
				must(db.ExecContext(b.Context(), s))
			}
			ours := func(ctx context.Context, tx *sql.Tx) (int64, error) {
				s, err := sqlstore.SequenceTx(ctx, tx, d.dialect(), "orders")
				return s.N, err
			}
			for range *rounds {
				mine, hand := d.rate(b, db, ours), d.rate(b, db, byHand[d.driver])
				b.Logf("%s: %.0f a second, by hand %.0f: %.2f", kind, mine, hand, mine/hand)
				if out != nil {
					fmt.Fprintf(out, "sequencetx/%s/rate %g\nsequencetx/%s/hand %g\nsequencetx/%s/times %g\n",
						kind, mine, kind, hand, kind, mine/hand)
				}
			}
		})
	}
}

// rate returns how many transactions a second commit.
func (d database) rate(b *testing.B, db *sql.DB, take func(context.Context, *sql.Tx) (int64, error)) float64 {
	ctx := b.Context()
	var done atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range 16 {
		wg.Go(func() {
			for time.Since(start) < *period {
				tx, err := d.begin(ctx, db)
				if err != nil {
					b.Error(err)
					return
				}
				n, err := take(ctx, tx)
				if err == nil {
					_, err = tx.ExecContext(ctx, fmt.Sprint("INSERT INTO invoice (n) VALUES (", n, ")"))
				}
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					_ = tx.Rollback()
					if errors.Is(err, sequence.ErrRetry) {
						continue
					}
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(start).Seconds()
}
