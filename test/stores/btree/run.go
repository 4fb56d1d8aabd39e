package btree

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A database that keys are measured in.
type database struct {
	name       string
	db         *sql.DB
	column     func(kind) string
	create     string   // of the table, with the type of the key
	log        string   // bytes of its log
	settle     []string // statements before sizes are read
	keyBytes   string   // bytes of the primary key's index
	indexBytes string   // and of the other one
	fill       string   // percent of its leaf pages that is full; "" where nothing tells
	restart    func()
}

// A result is the price of one kind of key in one database.
type result struct {
	LogBytes   float64 // of the log, a row
	KeyBytes   float64 // of the primary key's index, a row; in MariaDB it has the rows
	IndexBytes float64 // of the secondary index, a row
	Fill       float64 // percent; -1 unknown
	Day        float64 // milliseconds for the rows of a day
}

const batch = 50 // rows of an insert

// begin is when the first row was made.
func begin() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// measureKind inserts rows with a kind of key, and reads some of them.
func (d *database) measureKind(ctx context.Context, k kind, rows int) (r result, err error) {
	if err := d.exec(ctx, "DROP TABLE IF EXISTS orders", fmt.Sprintf(d.create, d.column(k)),
		"CREATE INDEX orders_made ON orders (made_at)"); err != nil {
		return r, err
	}
	log, err := d.queryNumber(ctx, d.log)
	if err != nil {
		return r, err
	}
	if err := d.insertRows(ctx, k, rows); err != nil {
		return r, err
	}
	after, err := d.queryNumber(ctx, d.log)
	if err != nil {
		return r, err
	}
	n := float64(rows)
	r.LogBytes = (after - log) / n
	if err := d.exec(ctx, d.settle...); err != nil {
		return r, err
	}
	for to, query := range map[*float64]string{&r.KeyBytes: d.keyBytes, &r.IndexBytes: d.indexBytes, &r.Fill: d.fill} {
		if *to, err = d.queryNumber(ctx, query); err != nil {
			return r, err
		}
	}
	r.KeyBytes, r.IndexBytes = r.KeyBytes/n, r.IndexBytes/n
	r.Day, err = d.readDay(ctx, k)
	return r, err
}

func (d *database) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func (d *database) queryNumber(ctx context.Context, query string) (float64, error) {
	if query == "" {
		return -1, nil
	}
	var x float64
	if err := d.db.QueryRowContext(ctx, query).Scan(&x); err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	return x, nil
}

// insertRows inserts the rows by all writers at once.
func (d *database) insertRows(ctx context.Context, k kind, rows int) error {
	var next atomic.Uint64
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for errs[w] == nil {
				first := next.Add(batch) - batch
				if first >= uint64(rows) {
					return
				}
				var values []string
				for n := first; n < min(first+batch, uint64(rows)); n++ {
					made := begin().Add(time.Duration(float64(n) / float64(rows) * days * 24 * float64(time.Hour)))
					row := fmt.Sprintf("%d, '%s', 'an order with some words in it, as rows have'", n%1000,
						made.Format("2006-01-02 15:04:05.000"))
					if k.key != nil {
						row = k.key(made, w, n) + ", " + row
					}
					values = append(values, "("+row+")")
				}
				columns := "customer, made_at, note"
				if k.key != nil {
					columns = "id, " + columns
				}
				errs[w] = d.exec(ctx, "INSERT INTO orders ("+columns+") VALUES "+strings.Join(values, ", "))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// readDay restarts the server, and reads the rows of a day. It returns the
// milliseconds.
func (d *database) readDay(ctx context.Context, k kind) (float64, error) {
	day := begin().AddDate(0, 0, days/2)
	from, to := day.Format("'2006-01-02'"), day.AddDate(0, 0, 1).Format("'2006-01-02'")
	where := "made_at >= " + from + " AND made_at < " + to
	if k.low != nil {
		where = "id >= " + k.low(day) + " AND id < " + k.low(day.AddDate(0, 0, 1))
	}
	d.restart()
	began := time.Now()
	_, err := d.queryNumber(ctx, "SELECT SUM(LENGTH(note)) FROM orders WHERE "+where)
	return float64(time.Since(began).Microseconds()) / 1000, err
}
