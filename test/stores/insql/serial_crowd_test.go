package insql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestSerialPostgreSQL runs the functions on a server.
func TestSerialPostgreSQL(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "max_prepared_transactions=5")
	kept(t, serialProbes(*long), serialText("postgres"), serialPostgres(p))
}

// TestSerialMariaDB runs the functions on a server.
func TestSerialMariaDB(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	m := servers.StartMariaDB(t)
	kept(t, []probe{{"without zones", nil, serialWithoutZones}}, serialText("mariadb"), serialMariaDB(m))
	zones(t, m)
	kept(t, serialProbes(*long), serialText("mariadb"), serialMariaDB(m))
}

// serialCrowd takes numbers of two sequences on sixteen connections, in SQL
// and in Go. Transactions are rolled back, in part or as a whole, and lose
// their connections: the numbers in the table have no gap, and come once.
func serialCrowd(total int64) func(b base) {
	return func(b base) {
		var taken atomic.Int64
		errs := make(chan error, 16)
		for client := range uint64(16) {
			go func() {
				random := rand.New(rand.NewPCG(1, client))
				var err error
				for err == nil && taken.Load() < total {
					var n int64
					n, err = b.invoices(random)
					taken.Add(n)
				}
				errs <- err
			}()
		}
		var all error
		for range 16 {
			all = errors.Join(all, <-errs)
		}
		b.must(all)
		var periods, gaps, count int64
		const ask = "SELECT COUNT(*), SUM(CASE WHEN count = high THEN 0 ELSE 1 END), SUM(count) FROM " +
			"(SELECT COUNT(*) AS count, MAX(n) AS high FROM invoice GROUP BY period) x"
		b.must(b.db.QueryRow(ask).Scan(&periods, &gaps, &count))
		if count != taken.Load() || count < total || periods < 2 || gaps != 0 {
			b.Fatalf("%d numbers of %d committed ones, in %d periods; %d of them have gaps",
				count, taken.Load(), periods, gaps)
		}
		b.looksOwn()
	}
}

// invoices writes one or two invoices in a transaction, and returns how
// many were committed.
func (b base) invoices(random *rand.Rand) (committed int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dated := random.IntN(2) == 0
	tx, err := b.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	steps := []string{"", "", "", "SAVEPOINT a", "RELEASE SAVEPOINT a", "ROLLBACK TO SAVEPOINT a"}
	for _, step := range [][]int{{0}, {0}, {0}, {0, 1}, {3}, {3, 4}, {3, 5}, {0, 3, 5}}[random.IntN(8)] {
		if steps[step] != "" {
			if _, err := tx.ExecContext(ctx, steps[step]); err != nil {
				return 0, err
			}
		}
		if steps[step] == "ROLLBACK TO SAVEPOINT a" {
			committed--
		}
		if err := b.invoice(ctx, tx, dated, random.IntN(2) == 0); err != nil {
			if meets(err) {
				err = nil
			}
			return 0, err
		}
		committed++
	}
	switch random.IntN(12) {
	case 0:
		return 0, tx.Rollback()
	case 1:
		return 0, b.kill(ctx, tx)
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	return committed, nil
}

// invoice takes a number in SQL or in Go, and writes it down.
func (b base) invoice(ctx context.Context, tx *sql.Tx, dated, inGo bool) (err error) {
	var s sequence.Serial
	name, text := "orders", ""
	if dated {
		name = "dated"
	}
	switch {
	case inGo:
		s, err = sqlstore.SequenceTx(ctx, tx, b.dialect(), name)
	case dated:
		err = tx.QueryRowContext(ctx, "SELECT snowfence_serial_text('dated')").Scan(&text)
		if err == nil {
			s.Period, s.N, err = number(text)
		}
	default:
		err = tx.QueryRowContext(ctx, "SELECT snowfence_serial('orders')").Scan(&s.N)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO invoice VALUES (%d, %d)", s.Period, s.N))
	}
	return err
}

// kill ends the connection of a transaction from another one.
func (b base) kill(ctx context.Context, tx *sql.Tx) error {
	ask, by := "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%d)"
	if b.mariadb != nil {
		ask, by = "SELECT CONNECTION_ID()", "KILL %d"
	}
	var id int64
	if err := tx.QueryRowContext(ctx, ask).Scan(&id); err != nil {
		return err
	}
	if _, err := b.db.ExecContext(ctx, fmt.Sprintf(by, id)); err != nil {
		return err
	}
	if err := tx.Commit(); err == nil {
		return errors.New("a killed connection has committed")
	}
	return nil
}

// looksOwn checks that a program which opens the database finds nothing
// that was put back, and goes on with the next numbers.
func (b base) looksOwn() {
	b.Helper()
	ctx := b.Context()
	before, err := store.Identity(ctx, b.st, "")
	b.must(err)
	fresh, err := sqlstore.New(b.db, b.dialect())
	b.must(err)
	s, err := sequence.Open(ctx, fresh, "orders", nil)
	b.must(err)
	defer s.Close()
	d, err := sequence.OpenDated(ctx, fresh, "dated", nil)
	b.must(err)
	defer d.Close()
	n, err := s.Next(ctx)
	b.must(err)
	serial, err := d.Next(ctx)
	b.must(err)
	for period, got := range map[int64]int64{0: n, serial.Period: serial.N} {
		var high int64
		b.must(b.db.QueryRow(fmt.Sprint("SELECT COALESCE(MAX(n), 0) FROM invoice WHERE period = ", period)).Scan(&high))
		if got != high+1 {
			b.Fatalf("Next gave %d after %d of period %d", got, high, period)
		}
	}
	if now, err := store.Identity(ctx, fresh, ""); err != nil || now != before {
		b.Fatalf("the database was %s, and is %s: %v", before, now, err)
	}
}
