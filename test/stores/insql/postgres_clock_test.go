package insql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/snowfence/snowfence"
)

// pgClockBack takes IDs while the clock stands, and after it stepped back a
// day.
func pgClockBack(b pgBase) error {
	var l ledger
	for _, at := range []string{"2027-06-02", "2027-06-02", "2027-06-01", "2027-06-01 12:00", "2027-06-02 00:00:01"} {
		if err := b.do("SET TimeZone = 'UTC'", "UPDATE test_clock SET at = '"+at+"'"); err != nil {
			return err
		}
		ids, err := b.next(5)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if len(l.ids) > 0 && id <= l.highest() {
				return fmt.Errorf("%d after %d", id, l.highest())
			}
			l.add(id)
		}
	}
	s, err := schemeOf("snowfence")
	if err != nil {
		return err
	}
	first := s.Layout().TickOf(time.Date(2027, 6, 2, 0, 0, 0, 0, time.UTC))
	if p, err := s.Decode(l.ids[0]); err != nil || p.Tick != first {
		return fmt.Errorf("the first ID has tick %d, want the clock's, %d: %w", p.Tick, first, err)
	}
	return nil
}

// pgAhead checks that IDs run at most the lead ahead of the clock: a call
// waits, or fails.
func pgAhead(b pgBase) error {
	if _, err := b.next(1); err != nil {
		return err
	}
	if err := b.do("UPDATE test_clock SET step = '-1 s'"); err != nil {
		return err
	}
	ids, err := b.next(1)
	if err != nil {
		return fmt.Errorf("a second back: %w", err)
	}
	s, err := schemeOf("snowfence")
	if err != nil {
		return err
	}
	parts, err := s.Decode(ids[0])
	if ahead := time.Until(parts.Time.Add(time.Second)); err != nil || ahead > 50*time.Millisecond {
		return fmt.Errorf("it came %v ahead of the clock: %w", ahead, err)
	}
	if err := b.do("UPDATE test_clock SET step = '-1 h'"); err != nil {
		return err
	}
	ids, err = b.next(1, "SET statement_timeout = '20 s'") // or it would sleep for an hour
	if err == nil || !strings.Contains(err.Error(), "ahead of the clock") {
		return fmt.Errorf("an hour back: %v, %w", ids, err)
	}
	return nil
}

// pgManyRows makes more rows in one statement than a lane has numbers for
// in the lead.
func pgManyRows(b pgBase) error {
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		n := 2000
		if *long {
			n = 1_000_000
		}
		var l ledger
		ids, err := pgIDs(ctx, c, "INSERT INTO orders SELECT FROM generate_series(1, $1) RETURNING id", n)
		if err != nil {
			return err
		}
		l.add(ids...)
		s, err := schemeOf("time=41,node=10,seq=4,epoch=2025-01-01,tick=1ms")
		if err != nil {
			return err
		}
		parts, err := s.Decode(l.highest())
		if ahead := time.Until(parts.Time); err != nil || ahead > 21*time.Millisecond {
			return fmt.Errorf("%d rows ended %v ahead of the clock: %w", n, ahead, err)
		}
		return l.repeated()
	})
}

// pgEven lets the clock move on between IDs: their low bits are even all
// the same.
func pgEven(b pgBase) error {
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		seen := map[snowfence.ID]bool{}
		for range 64 {
			_, err := c.Exec(ctx, "UPDATE test_clock SET at = coalesce(at, '2027-01-01') + interval '1 s'")
			if err != nil {
				return err
			}
			ids, err := pgIDs(ctx, c, "SELECT snowfence_next()")
			if err != nil {
				return err
			}
			seen[ids[0]&63] = true
		}
		if len(seen) != 64 {
			return fmt.Errorf("64 IDs of 64 seconds have %d endings", len(seen))
		}
		return nil
	})
}

// pgLifetime sets the clock before the epoch, and after the end of the
// layout's time.
func pgLifetime(b pgBase) error {
	for _, at := range []string{"2100-01-01", "1970-01-01"} {
		if err := b.do("SET TimeZone = 'UTC'", "UPDATE test_clock SET at = '"+at+"'"); err != nil {
			return err
		}
		if ids, err := b.next(1); err == nil || !strings.Contains(err.Error(), "no ID for this time") {
			return fmt.Errorf("%s: %v, %w", at, ids, err)
		}
	}
	return nil
}
