package imports

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// tinyid gives the numbers of (max_id − step, max_id] that leave the remainder when they are
// divided by delta: several databases share the numbers so.
type tinyid struct{ rows }

// class is which numbers a database gives.
type class struct{ delta, remainder int64 }

func (c class) check() error {
	if c.delta < 1 || c.remainder < 0 || c.remainder >= c.delta {
		return fmt.Errorf("its delta is %d and its remainder %d, and no number fits that", c.delta, c.remainder)
	}
	return nil
}

// above returns the first number of the class above one that is not negative.
func (c class) above(n int64) int64 { return n + 1 + (c.remainder-(n+1)%c.delta+c.delta)%c.delta }

func (t tinyid) class(ctx context.Context, db *sql.DB, retired bool) (c class, err error) {
	name := t.counter.Name
	if retired {
		name += moved
	}
	err = db.QueryRowContext(ctx, "SELECT delta, remainder FROM "+t.table+" WHERE biz_type = ?", name).
		Scan(&c.delta, &c.remainder)
	if err == nil {
		err = c.check()
	}
	return c, t.failed(err)
}

func (t tinyid) look(ctx context.Context, db *sql.DB) (position, error) {
	end, retired, err := t.end(ctx, db)
	if err != nil {
		return position{}, err
	}
	c, err := t.class(ctx, db, retired)
	if err != nil {
		return position{}, err
	}
	return position{c.above(end), c.delta, retired}, nil
}

// longestPause bounds how long to wait after a conflict, so that not all come at once again.
const longestPause = 20 * time.Millisecond

// take compares max_id and version, as tinyid does. It tries again until ctx ends, because nothing
// else hears of a conflict.
func (t tinyid) take(ctx context.Context, db *sql.DB, n int64) (block, error) {
	w := world.From(ctx)
	for {
		var id, end, version int64
		var c class
		var met int64
		err := within(ctx, db, func(tx *sql.Tx) error {
			err := tx.QueryRowContext(ctx, "SELECT id, max_id, delta, remainder, version FROM "+t.table+
				" WHERE biz_type = ?", t.counter.Name).Scan(&id, &end, &c.delta, &c.remainder, &version)
			if err == nil {
				err = c.check()
			}
			if err == nil && c.above(end) > end+n {
				err = fmt.Errorf("a block of %d has no number with delta %d: take a larger one", n, c.delta)
			}
			if err != nil {
				return err
			}
			res, err := tx.ExecContext(ctx, "UPDATE "+t.table+
				" SET max_id = ?, update_time = now(), version = version + 1"+
				" WHERE id = ? AND max_id = ? AND version = ? AND biz_type = ?",
				end+n, id, end, version, t.counter.Name)
			if err != nil {
				return err
			}
			met, err = res.RowsAffected()
			return err
		})
		if err != nil {
			return block{}, t.failed(err)
		}
		if met == 1 {
			first := c.above(end)
			return block{first, first + (end+n-first)/c.delta*c.delta, c.delta}, nil
		}
		if w.Wait(time.Duration(w.Uint64()%uint64(longestPause)), ctx.Done()) == 0 {
			return block{}, t.failed(fmt.Errorf("old programs were always faster: %w", ctx.Err()))
		}
	}
}

func (t tinyid) retire(ctx context.Context, db *sql.DB) error { return t.rename(ctx, db, nil) }
