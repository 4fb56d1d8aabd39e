package sequences

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// BenchmarkStrict compares the numbers of a strict sequence with a counter
// of one's own on PostgreSQL, which sixteen connections raise with one
// statement each: first with sixteen callers of one program, and then with
// sixteen programs that have a connection and a caller each. All are in
// this process; no program knows of another one. The sides take turns.
func BenchmarkStrict(b *testing.B) {
	p := servers.StartPostgres(b)
	d := database{"pgx", p.URL(p.NewDatabase(b))}
	d.invoices(b, sequence.Definition{})
	hand := d.pool(b, 16)
	for _, s := range []string{
		"CREATE TABLE counter (name VARCHAR(64) NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
		"INSERT INTO counter VALUES ('orders', 0)",
	} {
		must(hand.ExecContext(b.Context(), s))
	}
	byHand := func(ctx context.Context, _ int) (n int64, err error) {
		return update(ctx, hand)
	}
	open := func() *sequence.Sequence {
		s := must(sequence.Open(b.Context(), d.store(b), "orders", nil))
		b.Cleanup(func() { s.Close() })
		return s
	}
	one := open()
	var many []*sequence.Sequence
	for range 16 {
		many = append(many, open())
	}
	var out *os.File
	if *figures != "" {
		out = must(os.Create(*figures))
		defer out.Close()
	}
	for _, side := range []struct {
		name string
		take func(ctx context.Context, caller int) (int64, error)
	}{
		{"one", func(ctx context.Context, _ int) (int64, error) { return one.Next(ctx) }},
		{"many", func(ctx context.Context, caller int) (int64, error) { return many[caller].Next(ctx) }},
	} {
		b.Run(side.name, func(b *testing.B) {
			for range *rounds {
				mine, theirs := perSecond(b, side.take), perSecond(b, byHand)
				b.Logf("%s: %.0f a second, by hand %.0f: %.2f", side.name, mine, theirs, mine/theirs)
				if out != nil {
					fmt.Fprintf(out, "strict/%s/rate %g\nstrict/%s/hand %g\nstrict/%s/times %g\n", side.name, mine,
						side.name, theirs, side.name, mine/theirs)
				}
			}
		})
	}
}

func update(ctx context.Context, db *sql.DB) (n int64, err error) {
	err = db.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 WHERE name = 'orders' RETURNING n").Scan(&n)
	return n, err
}

// perSecond returns how many numbers sixteen callers get in a second.
func perSecond(b *testing.B, take func(ctx context.Context, caller int) (int64, error)) float64 {
	var done atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for caller := range 16 {
		wg.Go(func() {
			for time.Since(start) < *period {
				if _, err := take(b.Context(), caller); err != nil {
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
