package insql

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgStalled lets a session stall between its look at the lane and its move,
// while others come.
func pgStalled(b pgBase) error {
	var l ledger
	// A clock that goes on would hide a position that comes again.
	if err := b.do("UPDATE test_clock SET at = '2027-06-01'"); err != nil {
		return err
	}
	return b.with(func(ctx context.Context, gate *pgx.Conn) error {
		tx, err := gate.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(-1, -1)"); err != nil {
			return err
		}
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			ids, err := b.next(1, "SET test.stall = 'on'")
			l.add(ids...)
			first <- err
		}()
		if err := pgAwaitLocks(ctx, gate, 1, first); err != nil {
			return err
		}
		go func() {
			ids, err := b.next(3)
			l.add(ids...)
			second <- err
		}()
		if err := pgAwaitLocks(ctx, gate, 2, second); err != nil {
			return err
		}
		if err := tx.Rollback(ctx); err != nil {
			return err
		}
		return errors.Join(<-first, <-second, l.repeated())
	})
}

// pgAwaitLocks waits until so many sessions wait for locks, or those that
// should are done.
func pgAwaitLocks(ctx context.Context, c *pgx.Conn, n int, done chan error) error {
	for len(done) == 0 {
		var waiting int
		err := c.QueryRow(ctx, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE NOT granted AND datname = current_database()`).Scan(&waiting)
		if err != nil || waiting >= n {
			return err
		}
		if _, err := c.Exec(ctx, "SELECT pg_sleep(0.01)"); err != nil {
			return err
		}
	}
	return nil
}

// pgCancelled cancels a statement that has the only lane: others get it
// when the transaction ends.
func pgCancelled(b pgBase) error {
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "SELECT snowfence_next(), pg_sleep(1000)"); err == nil {
			return errors.New("a statement of 1000 s was not cancelled")
		}
		if _, err := c.Exec(ctx, "SET statement_timeout = 0"); err != nil {
			return err
		}
		_, err := b.next(1, "SET lock_timeout = '20 s'")
		return err
	}, "SET statement_timeout = '200 ms'")
}

// pgSavepoints rolls back to savepoints around IDs, and lets others take
// what becomes free.
func pgSavepoints(b pgBase) error {
	var l ledger
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		for range 5 {
			for step := range strings.SplitSeq("BEGIN,SAVEPOINT a,SELECT,ROLLBACK TO a,SELECT,RELEASE a,COMMIT", ",") {
				if step == "SELECT" {
					ids, err := pgIDs(ctx, c, "SELECT snowfence_next() FROM generate_series(1, 3)")
					if err != nil {
						return err
					}
					l.add(ids...)
				} else if _, err := c.Exec(ctx, step); err != nil {
					return err
				}
				ids, err := b.next(2)
				if err != nil {
					return err
				}
				l.add(ids...)
			}
		}
		return l.repeated()
	}, "UPDATE test_clock SET at = '2027-06-01'")
}

// pgSlices opens a transaction on each lane, and takes more numbers than a
// tick has, while the clock stands: each lane keeps to its slice.
func pgSlices(b pgBase) error {
	s, err := schemeOf("time=41,node=10,seq=6,first=5,epoch=2025-01-01,tick=1ms")
	if err != nil {
		return err
	}
	if err := b.do("UPDATE test_clock SET at = '2027-06-01'"); err != nil {
		return err
	}
	var l ledger
	owner := map[int64]int{} // of each sequence number
	var hold func(lane int) error
	hold = func(lane int) error {
		if lane == 8 {
			return nil
		}
		return b.with(func(ctx context.Context, c *pgx.Conn) error {
			ids, err := pgIDs(ctx, c, "SELECT snowfence_next() FROM generate_series(1, 30)")
			if err != nil {
				return err
			}
			l.add(ids...)
			for _, id := range ids {
				p, err := s.Decode(id)
				if err != nil {
					return err
				}
				if was, ok := owner[p.Sequence]; ok && was != lane || p.Sequence < 5 || p.Node != node {
					return fmt.Errorf("%+v is of lanes %d and %d", p, was, lane)
				}
				owner[p.Sequence] = lane
			}
			return hold(lane + 1)
		}, "BEGIN")
	}
	if err := hold(0); err != nil {
		return err
	}
	if len(owner) != 56 {
		return fmt.Errorf("%d sequence numbers were used, want 8 × 7", len(owner))
	}
	return l.repeated()
}

// pgReset resets the sequence of a lane.
func pgReset(b pgBase) error {
	err := b.do(`DO $$ BEGIN FOR i IN 0..63 LOOP
		EXECUTE 'ALTER SEQUENCE snowfence_lane_64_' || i || ' RESTART';
	END LOOP; END $$`)
	if err != nil {
		return err
	}
	if ids, err := b.next(1); err == nil || !strings.Contains(err.Error(), "was reset") {
		return fmt.Errorf("lanes that were reset: %v, %w", ids, err)
	}
	if err := b.do("SELECT snowfence_confirm('0 s')"); err != nil {
		return err
	}
	_, err = b.next(1)
	return err
}

// pgOtherLanes prints the functions with other lanes: they begin above all
// that the old ones took.
func pgOtherLanes(b pgBase) error {
	var l ledger
	if err := b.do("UPDATE test_clock SET at = '2027-06-01'"); err != nil {
		return err
	}
	for i, text := range []string{
		b.text, pgRelaned(b.text, 4, 16), pgRelaned(b.text, 4, 2), b.text,
	} {
		if err := b.load(text); err != nil {
			return err
		}
		before := l.ids
		if err := b.crowd(&l, 6, 200); err != nil {
			return err
		}
		for _, id := range l.ids[len(before):] {
			for _, old := range before {
				if id>>22 <= old>>22 {
					return fmt.Errorf("print %d: tick %d came again", i, id>>22)
				}
			}
		}
	}
	// A print of later begins where the lanes are, but not on data that was
	// restored.
	later := pgStart.ReplaceAllString(b.text, "start bigint := 2199023255000;")
	if err := b.load(pgRelaned(later, 4, 16)); err != nil {
		return err
	}
	if _, err := b.next(1); err != nil {
		return err
	}
	if err := errors.Join(b.do("UPDATE snowfence_state SET node = node"), b.load(later)); err != nil {
		return err
	}
	if ids, err := b.next(1); err == nil || !strings.Contains(err.Error(), "ahead of the clock") {
		return fmt.Errorf("lanes of restored data begin below those that were printed: %v, %w", ids, err)
	}
	return nil
}

var pgStart = regexp.MustCompile(`start bigint := \d+;`)

// pgBusyTable prints other lanes while one transaction has the only lane,
// and another one has written to the table and waits for that lane.
func pgBusyTable(b pgBase) error {
	return b.with(func(ctx context.Context, holder *pgx.Conn) error {
		return b.with(func(ctx context.Context, writer *pgx.Conn) error {
			printed, waits := make(chan error, 1), make(chan error, 1)
			go func() { printed <- b.load(pgRelaned(b.text, 1, 2)) }()
			if err := pgAwaitLocks(ctx, holder, 1, printed); err != nil {
				return err
			}
			go func() {
				_, err := pgIDs(ctx, writer, "SELECT snowfence_next()") // its lane may be gone meanwhile
				var told *pgconn.PgError
				if errors.As(err, &told) && told.Code == "42P01" {
					err = nil
				}
				_, end := writer.Exec(ctx, "COMMIT")
				waits <- errors.Join(err, end)
			}()
			if err := pgAwaitLocks(ctx, holder, 2, waits); err != nil {
				return err
			}
			_, err := holder.Exec(ctx, "COMMIT")
			if err := errors.Join(err, <-printed, <-waits); err != nil {
				return err
			}
			_, err = b.next(2)
			return err
		}, "BEGIN", "INSERT INTO orders (id, item) VALUES (-1, 1)")
	}, "BEGIN", "INSERT INTO orders (item) VALUES (1)")
}

// pgRelaned is the text with other lanes, as the program prints it with
// --lanes.
func pgRelaned(text string, from, to int) string {
	per := 4096 / from
	return strings.NewReplacer(
		fmt.Sprintf("snowfence_lane_%d_", from), fmt.Sprintf("snowfence_lane_%d_", to),
		fmt.Sprintf("%% %d;", from), fmt.Sprintf("%% %d;", to),
		fmt.Sprintf("had.lanes = %d ", from), fmt.Sprintf("had.lanes = %d ", to),
		fmt.Sprintf("lanes = %d;", from), fmt.Sprintf("lanes = %d;", to),
		fmt.Sprintf("lanes = %d,", from), fmt.Sprintf("lanes = %d,", to),
		fmt.Sprintf("0 .. %d - 1", from), fmt.Sprintf("0 .. %d - 1", to),
		fmt.Sprintf(" %d, '', '0'", per), fmt.Sprintf(" %d, '', '0'", 4096/to),
		fmt.Sprint(per), fmt.Sprint(4096/to),
	).Replace(text)
}

// pgPrepared leaves prepared transactions behind, which keep their lanes.
func pgPrepared(b pgBase) error {
	var l ledger
	for i := range 2 {
		if i == 1 { // the other lane is kept by the one before
			if err := b.do("UPDATE test_clock SET at = '2027-06-01'"); err != nil {
				return err
			}
		}
		err := b.with(func(ctx context.Context, c *pgx.Conn) error {
			ids, err := pgIDs(ctx, c, "SELECT snowfence_next() FROM generate_series(1, 5)")
			if err != nil {
				return err
			}
			l.add(ids...)
			_, err = c.Exec(ctx, fmt.Sprintf("PREPARE TRANSACTION '%s %d'", b.name, i))
			return err
		}, "BEGIN")
		if err != nil {
			return err
		}
	}
	if ids, err := b.next(1, "SET lock_timeout = '100 ms'"); err == nil {
		return fmt.Errorf("both lanes are kept, and %v came", ids)
	}
	for i, end := range []string{"COMMIT", "ROLLBACK"} {
		if err := b.do(fmt.Sprintf("%s PREPARED '%s %d'", end, b.name, i)); err != nil {
			return err
		}
	}
	ids, err := b.next(5)
	l.add(ids...)
	return errors.Join(err, l.repeated())
}
