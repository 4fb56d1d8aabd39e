package insql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
)

// unique makes IDs on several connections, and looks whether the table of
// positions is empty afterwards.
func unique(b mariadbBase) error {
	if err := b.crowd(new(ledger), 8, 400); err != nil {
		return err
	}
	return b.with(func(ctx context.Context, c *sql.Conn) error {
		left, err := ids(ctx, c, "SELECT position FROM snowfence_position")
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d positions are left in the table", len(left))
		}
		return err
	})
}

// stalled stops two calls of the same tick between their look at the
// position and the move to now, and lets them go on one after the other,
// with other calls in between. The first one's transaction stays open: no
// call waits for it.
func stalled(b mariadbBase) error {
	const before = "    INSERT INTO snowfence_position VALUES (moved, CONNECTION_ID());"
	const stall = "    DO IF(@stall IS NULL, 0, GET_LOCK(@stall, 60) + RELEASE_LOCK(@stall));\n"
	if strings.Count(b.text, before) != 1 {
		return errors.New("the text has no place to stall at")
	}
	b.text = strings.Replace(b.text, before, stall+before, 1)
	// The counter begins at 1 again, far behind now.
	if err := errors.Join(b.load(), b.run("TRUNCATE snowfence_position")); err != nil {
		return err
	}
	var l ledger
	return b.with(func(ctx context.Context, holder *sql.Conn) error {
		made, end := make(chan error, 2), make(chan struct{})
		defer close(end)
		call := func(lock string) {
			_ = b.with(func(ctx context.Context, c *sql.Conn) error {
				_, err := c.ExecContext(ctx, "SET @stall = ?, innodb_lock_wait_timeout = 5, autocommit = 0", lock)
				if err == nil {
					var got []snowfence.ID
					got, err = ids(ctx, c, "SELECT snowfence_next()")
					l.add(got...)
				}
				made <- err
				<-end
				return nil
			})
		}
		locks := []string{b.name + ".a", b.name + ".b"}
		for i, lock := range locks {
			if _, err := holder.ExecContext(ctx, "DO GET_LOCK(?, 60)", lock); err != nil {
				return err
			}
			go call(lock)
			for waits := 0; waits <= i; { // in the lock, after the position was taken
				err := holder.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.processlist "+
					"WHERE db = DATABASE() AND state = 'User lock'").Scan(&waits)
				if err != nil {
					return err
				}
			}
		}
		for _, lock := range locks {
			if _, err := holder.ExecContext(ctx, "DO RELEASE_LOCK(?)", lock); err != nil {
				return err
			}
			if err := <-made; err != nil {
				return err
			}
			got, err := ids(ctx, holder, "SELECT snowfence_next() FROM seq_1_to_3000")
			l.add(got...)
			if err != nil {
				return err
			}
		}
		return l.repeated()
	})
}

func firstCalls(b mariadbBase) error {
	var l ledger
	errs := make([]error, 16)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range errs {
		wg.Go(func() {
			errs[i] = b.with(func(ctx context.Context, c *sql.Conn) error {
				<-start
				got, err := ids(ctx, c, "SELECT snowfence_next()")
				l.add(got...)
				return err
			})
		})
	}
	close(start)
	wg.Wait()
	return errors.Join(append(errs, l.repeated())...)
}

// even checks that the low bits of IDs that are rarely made are even.
func even(b mariadbBase) error {
	got, err := b.next(64)
	if err != nil {
		return err
	}
	low := map[snowfence.ID]int{}
	for _, id := range got {
		low[id%16]++
	}
	if len(low) < 8 {
		return fmt.Errorf("64 IDs have %d of the 16 values of the lowest bits", len(low))
	}
	return nil
}

// ahead checks that a statement with many rows waits for the clock. There
// are 4 IDs in 10 ms, so a slow machine makes them faster than the clock
// goes, too.
func ahead(b mariadbBase) error {
	s, err := schemeOf("time=38,node=10,seq=2,tick=10ms")
	if err != nil {
		return err
	}
	return b.with(func(ctx context.Context, c *sql.Conn) error {
		got, err := ids(ctx, c, "INSERT INTO orders (item) SELECT seq FROM seq_1_to_400 RETURNING id")
		if err != nil {
			return err
		}
		p, err := s.Decode(got[len(got)-1])
		if err != nil {
			return err
		}
		if lead := time.Until(p.Time); len(got) != 400 || lead > 60*time.Millisecond {
			return fmt.Errorf("%d IDs, the last %v ahead of the clock", len(got), lead)
		}
		l := ledger{ids: got}
		return l.repeated()
	})
}

// tooFar checks that a call does not wait longer than it was told.
func tooFar(b mariadbBase) error {
	s, err := schemeOf("time=36,node=10,seq=2")
	if err != nil {
		return err
	}
	// The counter as it is after the clock stepped back by a minute.
	position := (s.Layout().TickOf(time.Now()) + 60_000) * 4
	if err := b.run(fmt.Sprintf("INSERT INTO snowfence_position VALUES (%d, 0)", position)); err != nil {
		return err
	}
	_, err = b.next(1)
	if err := failing(err, "too far ahead of the clock"); err != nil {
		return err
	}
	if err := b.run(fmt.Sprintf("INSERT INTO snowfence_position VALUES (%d, 0)", (s.MaxTick()+1)*4)); err != nil {
		return err
	}
	_, err = b.next(1)
	return errors.Join(failing(err, "no ID for this time"),
		failing(b.run("CALL snowfence_confirm(0)"), "above all times of the layout"))
}

// increment checks servers that count in steps, as in a ring of two
// primaries.
func increment(b mariadbBase) error {
	var l ledger
	for range 3 {
		for _, step := range []string{"1", "10"} {
			err := b.with(func(ctx context.Context, c *sql.Conn) error {
				_, err := c.ExecContext(ctx, "SET auto_increment_increment = "+step+", auto_increment_offset = 3")
				if err != nil {
					return err
				}
				got, err := ids(ctx, c, "SELECT snowfence_next() FROM seq_1_to_50")
				l.add(got...)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return l.repeated()
}
