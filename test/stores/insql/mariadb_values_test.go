package insql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence"
)

// fields checks what IDs are made of, by the library.
func fields(spec string) func(mariadbBase) error {
	return func(b mariadbBase) error {
		s, err := schemeOf(spec)
		if err != nil {
			return err
		}
		began := time.Now()
		got, err := b.next(200)
		if err != nil {
			return err
		}
		var last snowfence.Parts
		slots := map[int64]bool{}
		for _, id := range got {
			p, err := s.Decode(id)
			if err != nil {
				return err
			}
			l := s.Layout()
			if p.Node != node || p.Sequence < l.First || p.Sequence > l.Last || p.Tick < last.Tick {
				return fmt.Errorf("%d is %+v, after %+v", id, p, last)
			}
			// An ID is made while the test waits for it, or up to the lead
			// ahead.
			if p.Time.Before(began.Add(-l.Tick)) || p.Time.After(time.Now().Add(2*time.Second)) {
				return fmt.Errorf("%d is of %v, made after %v", id, p.Time, began)
			}
			last = p
			slots[p.Sequence] = true
		}
		if len(slots) < 50 {
			return fmt.Errorf("200 IDs have %d sequence numbers", len(slots))
		}
		return nil
	}
}

// bothWays compares the functions of the database with the library, on any
// numbers and times.
func bothWays(spec string) func(mariadbBase) error {
	return func(b mariadbBase) error {
		s, err := schemeOf(spec)
		if err != nil {
			return err
		}
		return b.with(func(ctx context.Context, c *sql.Conn) error {
			r := rand.New(rand.NewPCG(1, 2))
			for i := range 40 {
				p := snowfence.Parts{Tick: r.Int64N(min(s.MaxTick()+1, 8e15)), Node: r.Int64N(s.Nodes())}
				p.Sequence = r.Int64N(s.Layout().Last + 1)
				id, err := s.Compose(p)
				if err != nil {
					return err
				}
				if err := decoded(ctx, c, s, id); err != nil {
					return err
				}
				if err := decoded(ctx, c, s, snowfence.ID(r.Uint64())); err != nil {
					return err
				}
				at := s.Layout().TimeOf(p.Tick).Add(time.Duration(i%2) * time.Microsecond)
				if at.Year() > 9998 {
					continue
				}
				if err := ranged(ctx, c, s, at); err != nil {
					return err
				}
			}
			if half, ok := s.Layout().NegativeFrom(); ok {
				if err := ranged(ctx, c, s, half); err != nil {
					return err
				}
			}
			return errors.Join(decoded(ctx, c, s, -1), ranged(ctx, c, s, s.Layout().Epoch.Add(-time.Hour)),
				ranged(ctx, c, s, s.Layout().EndOfLife().Add(time.Hour)), ranged(ctx, c, s, s.Layout().EndOfLife()))
		})
	}
}

func decoded(ctx context.Context, c *sql.Conn, s *snowfence.Scheme, id snowfence.ID) error {
	var at sql.NullString
	var tick, node, seq, tag sql.NullInt64
	const query = "SELECT JSON_VALUE(d, '$.made_at'), JSON_VALUE(d, '$.tick'), JSON_VALUE(d, '$.node'), " +
		"JSON_VALUE(d, '$.sequence'), JSON_VALUE(d, '$.tag') FROM (SELECT snowfence_decode(?) AS d) x"
	if err := c.QueryRowContext(ctx, query, int64(id)).Scan(&at, &tick, &node, &seq, &tag); err != nil {
		return err
	}
	p, err := s.Decode(id)
	if (err == nil) != tick.Valid {
		return fmt.Errorf("%d: the library says %v, the database %v", id, err, tick)
	}
	if err == nil && (p.Tick != tick.Int64 || p.Node != node.Int64 || p.Sequence != seq.Int64 || p.Tag != tag.Int64 ||
		p.Time.Year() < 9999 && p.Time.Format("2006-01-02 15:04:05.000000") != at.String) {
		return fmt.Errorf("%d: the library says %+v, the database %v, tick %v, node %v, sequence %v", id, p, at, tick,
			node, seq)
	}
	return nil
}

const tagged = "time=38,tag=3,node=10,seq=12,tick=1ms"

// tags compares tags that SQL puts into IDs with those of the library.
// Others are refused.
func tags(b mariadbBase) error {
	s, err := schemeOf(tagged)
	if err != nil {
		return err
	}
	return b.with(func(ctx context.Context, c *sql.Conn) error {
		for tag := range int64(8) {
			got, err := ids(ctx, c, fmt.Sprintf("SELECT snowfence_tag(snowfence_next(), %d)", tag))
			if err != nil {
				return err
			}
			again, err := ids(ctx, c, fmt.Sprintf("SELECT snowfence_tag(%d, 5)", got[0]))
			if err != nil {
				return err
			}
			p, err := s.Decode(got[0])
			want, err2 := s.Tag(got[0], 5)
			if err != nil || err2 != nil || p.Tag != tag || p.Node != node || again[0] != want {
				return fmt.Errorf("%d with the tag %d is %+v, and %d with the tag 5: %w", got[0], tag, p, again[0], err)
			}
			if err := decoded(ctx, c, s, got[0]); err != nil {
				return err
			}
		}
		for _, tag := range []int64{-1, 8} {
			if got, err := ids(ctx, c, fmt.Sprintf("SELECT snowfence_tag(snowfence_next(), %d)", tag)); err == nil {
				return fmt.Errorf("the tag %d makes %v", tag, got)
			}
		}
		return nil
	})
}

// ranged compares the ends of a range with the library's.
func ranged(ctx context.Context, c *sql.Conn, s *snowfence.Scheme, at time.Time) error {
	var from, until snowfence.ID
	text := at.UTC().Format("2006-01-02 15:04:05.000000")
	err := c.QueryRowContext(ctx, "SELECT snowfence_from(?), snowfence_until(?)", text, text).
		Scan((*int64)(&from), (*int64)(&until))
	if err != nil {
		return err
	}
	lo, _, err := s.Range(at, at)
	if err != nil {
		return err
	}
	// Over the instant at which IDs turn negative a range has no end by
	// itself.
	before := s.Layout().Epoch
	if half, ok := s.Layout().NegativeFrom(); ok && at.After(half) {
		before = half
	}
	if at.Before(before) {
		before = at
	}
	_, hi, err := s.Range(before, at)
	if err != nil {
		return err
	}
	if from != lo || until != hi {
		return fmt.Errorf("%v: the library says %d and %d, the database %d and %d", at, lo, hi, from, until)
	}
	return nil
}

// trigger checks how a client gets the ID of a row.
func trigger(b mariadbBase) error {
	return b.with(func(ctx context.Context, c *sql.Conn) error {
		got, err := ids(ctx, c, "INSERT INTO orders (item) VALUES (1), (2) RETURNING id")
		if err != nil {
			return err
		}
		var mine, last int64
		if err := c.QueryRowContext(ctx, "SELECT @snowfence_id, LAST_INSERT_ID()").Scan(&mine, &last); err != nil {
			return err
		}
		if len(got) != 2 || got[0] == got[1] || int64(got[1]) != mine || last != 0 {
			return fmt.Errorf("RETURNING %v, @snowfence_id %d, LAST_INSERT_ID() %d", got, mine, last)
		}
		res, err := c.ExecContext(ctx, "INSERT INTO orders VALUES (0, 3), (NULL, 4), (77, 5)")
		if err != nil {
			return err
		}
		if n, err := res.LastInsertId(); n != 0 || err != nil {
			return fmt.Errorf("the driver says %d was inserted, %w", n, err)
		}
		if _, err := c.ExecContext(ctx, "INSERT INTO orders (item) SELECT seq FROM seq_1_to_1000"); err != nil {
			return err
		}
		// As a scalar subquery it is evaluated for each row or once, as the
		// optimizer likes; by itself, for each row.
		_, err = c.ExecContext(ctx, "INSERT INTO orders SELECT snowfence_next(), seq FROM seq_1_to_1000")
		if err != nil {
			return err
		}
		var rows, given int
		err = c.QueryRowContext(ctx, "SELECT COUNT(DISTINCT id), SUM(id = 77) FROM orders").Scan(&rows, &given)
		if rows != 2005 || given != 1 || err != nil {
			return fmt.Errorf("%d rows, %d with the ID that was given, %w", rows, given, err)
		}
		// A statement that fails leaves no row.
		if _, err := c.ExecContext(ctx, "INSERT INTO orders VALUES (0, 6), (0, 7), (77, 8)"); err == nil {
			return errors.New("a key twice")
		}
		err = c.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&rows)
		if rows != 2005 || err != nil {
			return fmt.Errorf("%d rows after a failed statement, %w", rows, err)
		}
		return nil
	})
}

// session checks that neither the zone nor the clock of a session changes
// the time of an ID.
func session(b mariadbBase) error {
	s, err := schemeOf("snowfence")
	if err != nil {
		return err
	}
	for _, set := range []string{"time_zone = '+09:00'", "timestamp = 2000000000", "timestamp = 1000000000"} {
		began := time.Now()
		err := b.with(func(ctx context.Context, c *sql.Conn) error {
			if _, err := c.ExecContext(ctx, "SET "+set); err != nil {
				return err
			}
			got, err := ids(ctx, c, "SELECT snowfence_next()")
			if err != nil {
				return err
			}
			p, err := s.Decode(got[0])
			if err != nil {
				return err
			}
			if p.Time.Before(began.Add(-2*time.Millisecond)) || p.Time.After(time.Now().Add(time.Second)) {
				return fmt.Errorf("with %s an ID is of %v, made after %v", set, p.Time, began)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
