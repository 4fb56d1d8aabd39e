package sequences

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowfence/snowfence/sequence"
)

// blocks takes numbers from a sequence of PostgreSQL as Hibernate does:
// nextval is the top of a block (pooled) or its bottom (pooled-lo). Without
// a size, it takes the column's default.
type blocks struct {
	db            *sql.DB
	size, initial int64
	lo            bool
	next, end     int64 // what is left of the block: [next, end)
}

// insert inserts a row.
func (b *blocks) insert(ctx context.Context) error {
	if b.size == 0 {
		_, err := b.db.ExecContext(ctx, "INSERT INTO orders (note) VALUES ('old')")
		return err
	}
	if b.next == b.end {
		var n int64
		if err := b.db.QueryRowContext(ctx, "SELECT nextval('orders_id_seq')").Scan(&n); err != nil {
			return err
		}
		switch {
		case b.lo:
			b.next, b.end = n, n+b.size
		case n == b.initial:
			b.next, b.end = n, n+1
		default:
			b.next, b.end = n-b.size+1, n+1
		}
	}
	b.next++
	_, err := b.db.ExecContext(ctx, "INSERT INTO orders (id, note) VALUES ($1, 'old')", b.next-1)
	return err
}

// restart loses the rest of the block.
func (b *blocks) restart() { b.next = b.end }

// Old programs take blocks of a sequence of PostgreSQL until it ends, while
// new ones insert numbers above it. A key that comes twice is an error of
// an insert.
func TestBesideBlocks(t *testing.T) {
	const numbers, before, each = 600, 105, 100 // of the old sequence; of an old, and of a new program
	statement, start := readMove(t, "postgres")
	last := numberIn(t, statement)
	const numbered = "INSERT INTO orders (id, note) VALUES ($1, 'new')"
	on := databases(t)["postgres"]
	for _, b := range []blocks{
		{}, {size: 1}, {size: 10}, {size: 50}, {size: 1, lo: true}, {size: 10, lo: true}, {size: 50, lo: true},
	} {
		t.Run(fmt.Sprintf("%d lo=%v", b.size, b.lo), func(t *testing.T) {
			db, st, err := on(t).open()
			noError(t, err)
			defer db.Close()
			b.db, b.initial = db, last-numbers
			runAll(t, db, fmt.Sprintf("CREATE SEQUENCE orders_id_seq START %d INCREMENT %d", b.initial, max(b.size, 1)))
			runAll(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY DEFAULT nextval('orders_id_seq'), note TEXT)")
			moved := make(chan struct{})
			var programs, restarts sync.WaitGroup // both restart before one comes to the last block
			restarts.Add(2)
			for range 2 {
				programs.Go(func() {
					restarted := sync.OnceFunc(restarts.Done)
					defer restarted()
					program := b
					var err error
					for n := 0; err == nil; n++ {
						if n == before { // inside a block
							<-moved
						}
						if n == before+3 {
							program.restart()
							restarted()
							restarts.Wait()
						}
						err = program.insert(t.Context())
					}
					// reached maximum value of sequence
					if e := (*pgconn.PgError)(nil); !errors.As(err, &e) || e.Code != "2200H" {
						t.Error("an old program:", err)
					}
				})
			}
			runAll(t, db, statement)
			close(moved)
			s := startSequence(t, st, sequence.Definition{Start: &start})
			for range 2 {
				programs.Go(func() {
					for range each {
						if err := insertNumbered(t.Context(), db, s, numbered); err != nil {
							t.Error("a new program:", err)
							return
						}
					}
				})
			}
			programs.Wait()
			end := last
			if b.lo {
				end += b.size - 1
			}
			if n := one(t, db, "SELECT max(id) FROM orders WHERE note = 'old'"); n != end {
				t.Errorf("old programs ended at %d, not at %d", n, end)
			}
			if n := one(t, db, "SELECT count(*) FROM orders WHERE note = 'new'"); n != 2*each {
				t.Errorf("%d rows of new programs", n)
			}
		})
	}
}
