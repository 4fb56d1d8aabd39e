package insql

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/snowfence/snowfence"
)

// pgParts checks IDs of a layout whose node has parts below the sequence.
func pgParts(b pgBase) error {
	const spec = "time=41,seq=4,dc=4,worker=6,epoch=2025-01-01,tick=10ms"
	s, err := schemeOf(spec)
	if err != nil {
		return err
	}
	ids, err := b.next(20)
	if err != nil {
		return err
	}
	now := s.Layout().TickOf(time.Now())
	for _, id := range ids {
		if p, err := s.Decode(id); err != nil || p.Node != node || p.Tick > now+20 || p.Tick < now-60_000 {
			return fmt.Errorf("%+v, now is %d: %w", p, now, err)
		}
	}
	// The tick of a new ID is the clock's, not the one beside it.
	at := time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)
	if err := b.do("SET TimeZone = 'UTC'", "UPDATE test_clock SET at = '2027-06-01'"); err != nil {
		return err
	}
	last, err := b.next(1)
	if err != nil {
		return err
	}
	if p, err := s.Decode(last[0]); err != nil || p.Tick != s.Layout().TickOf(at) {
		return fmt.Errorf("at tick %d: %+v, %w", s.Layout().TickOf(at), p, err)
	}
	return pgSameFields(b, s, ids)
}

// pgBothWays compares SQL and Go: fields of any ID, and ranges of time.
func pgBothWays(spec string) func(b pgBase) error {
	return func(b pgBase) error {
		s, err := schemeOf(spec)
		if err != nil {
			return err
		}
		ids, err := b.next(2)
		if err != nil {
			return err
		}
		for _, tick := range []int64{0, 1, 999, s.MaxTick() / 2, s.MaxTick()/2 + 1, s.MaxTick()} {
			for _, node := range []int64{0, 5, s.Nodes() - 1} {
				for _, seq := range []int64{0, 7, 4095} {
					id, err := s.Compose(snowfence.Parts{Tick: tick, Node: node, Sequence: seq})
					if err != nil {
						return err
					}
					ids = append(ids, id)
				}
			}
		}
		if err := pgSameFields(b, s, ids); err != nil {
			return err
		}
		return b.with(func(ctx context.Context, c *pgx.Conn) error {
			if s.Layout().Width() < 64 {
				var n int
				err := c.QueryRow(ctx, "SELECT count(*) FROM snowfence_decode(-1)").Scan(&n)
				if err != nil || n != 0 {
					return fmt.Errorf("-1 is %d IDs: %w", n, err)
				}
			}
			l := s.Layout()
			half := l.TimeOf(s.MaxTick()/2 + 1)
			for _, d := range []time.Duration{-time.Hour, 0, 1e3, 999e3, 86_399_999_001e3} {
				for _, t := range []time.Time{l.Epoch, l.TimeOf(s.MaxTick() / 2), half, l.EndOfLife()} {
					at := t.Add(d)
					lo, _, err := s.Range(at, l.EndOfLife().Add(48*time.Hour))
					if err != nil {
						lo, _, err = s.Range(at, at)
					}
					if err != nil {
						return err
					}
					_, hi, err := s.Range(l.Epoch.Add(-time.Hour), at)
					if err != nil {
						_, hi, err = s.Range(l.TimeOf(s.MaxTick()/2+1), at)
					}
					if at.Before(l.Epoch) {
						hi, err = 0, nil
					}
					if err != nil {
						return err
					}
					var from, until int64
					err = c.QueryRow(ctx, "SELECT snowfence_from($1), snowfence_until($1)", at).
						Scan(&from, &until)
					if err != nil || from != int64(lo) && at.Before(l.EndOfLife()) || until != int64(hi) {
						return fmt.Errorf("%v: %d until %d in SQL, %d and %d in Go: %w", at, from, until, lo, hi, err)
					}
				}
			}
			var low, high int64
			err := c.QueryRow(ctx, "SELECT snowfence_from('-infinity'), snowfence_until('infinity')").Scan(&low, &high)
			if err == nil && (low != 0 || high <= 0 && l.Width() < 64) {
				err = fmt.Errorf("all time is %d to %d", low, high)
			}
			return err
		})
	}
}

// pgTags compares tags that SQL puts into IDs with those of Go. Others are
// refused.
func pgTags(b pgBase) error {
	s, err := schemeOf(pgTagged)
	if err != nil {
		return err
	}
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		for tag := range int64(8) {
			ids, err := pgIDs(ctx, c, "SELECT snowfence_tag(snowfence_next(), $1)", tag)
			if err != nil {
				return err
			}
			var made snowfence.ID
			if err := c.QueryRow(ctx, "SELECT snowfence_tag($1, 5)", int64(ids[0])).Scan((*int64)(&made)); err != nil {
				return err
			}
			p, err := s.Decode(ids[0])
			want, err2 := s.Tag(ids[0], 5)
			if err != nil || err2 != nil || p.Tag != tag || p.Node != node || made != want {
				return fmt.Errorf("%d with the tag %d is %+v, and %d with the tag 5: %w", ids[0], tag, p, made, err)
			}
			if err := pgSameFields(b, s, ids); err != nil {
				return err
			}
		}
		for _, tag := range []int64{-1, 8} {
			if ids, err := pgIDs(ctx, c, "SELECT snowfence_tag(snowfence_next(), $1)", tag); err == nil {
				return fmt.Errorf("the tag %d makes %v", tag, ids)
			}
		}
		return nil
	})
}

// pgCopy loads rows by COPY, and shows that a scalar subquery is evaluated
// once.
func pgCopy(b pgBase) error {
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		rows := make([][]any, 500)
		for i := range rows {
			rows[i] = []any{int32(i)}
		}
		n, err := c.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"item"}, pgx.CopyFromRows(rows))
		if err != nil || n != 500 {
			return fmt.Errorf("COPY: %d rows: %w", n, err)
		}
		var distinct, once int
		err = c.QueryRow(ctx, `SELECT (SELECT count(DISTINCT id) FROM orders),
			(SELECT count(DISTINCT x) FROM (SELECT (SELECT snowfence_next()) AS x FROM generate_series(1, 10)) y)`).
			Scan(&distinct, &once)
		if err == nil && (distinct != 500 || once != 1) {
			err = fmt.Errorf("%d IDs of 500 rows, %d of a scalar subquery", distinct, once)
		}
		return err
	})
}
