package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
)

// rows is a table with a row for each counter.
type rows struct {
	counter     Counter
	table       string // quoted
	key, column string
}

func (c Counter) rows(table, key, column string) rows {
	if c.Table == "" {
		c.Table = table
	}
	return rows{c, quote(c.Table), key, column}
}

// quote quotes a table, which may have its database before it.
func quote(table string) string {
	parts := strings.Split(strings.ReplaceAll(table, "`", "``"), ".")
	return "`" + strings.Join(parts, "`.`") + "`"
}

// moved is the name of a counter out of the reach of old programs.
const moved = ".moved"

// end returns the count and whether the row was renamed.
func (r rows) end(ctx context.Context, db *sql.DB) (end int64, retired bool, err error) {
	is, there, err := r.count(ctx, db, r.counter.Name)
	if err != nil {
		return 0, false, r.failed(err)
	}
	was, retired, err := r.count(ctx, db, r.counter.Name+moved)
	switch {
	case err != nil:
	case !there && !retired:
		err = errors.New("there is no such row")
	case there && retired && is != full:
		err = errMadeAgain(r.counter.Name + moved)
	case retired:
		is = was
		fallthrough
	default:
		if is > math.MaxInt64/2 {
			err = fmt.Errorf("it is at %d, and no block can be taken", is)
		}
	}
	return int64(is), retired, r.failed(err)
}

// full is a count to which nothing can be added.
const full = math.MaxUint64

func errMadeAgain(was string) error {
	return fmt.Errorf("it was moved away, as %q, and was made again, so that numbers may have come twice: "+
		"stop the old programs, delete what they made, and look for duplicates", was)
}

func (r rows) count(ctx context.Context, db *sql.DB, name string) (n uint64, there bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT "+r.column+" FROM "+r.table+" WHERE "+r.key+" = ?", name).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}

func (r rows) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s (table %s): %w", r.counter, r.table, err)
}

// within runs do in a transaction, as the old programs do.
func within(ctx context.Context, db *sql.DB, do func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// add raises the count by a statement of the original, and returns it.
func (r rows) add(ctx context.Context, db *sql.DB, update string, n int64) (end int64, err error) {
	err = within(ctx, db, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, update, n, r.counter.Name)
		if err != nil {
			return err
		}
		if met, err := res.RowsAffected(); err != nil || met != 1 {
			return errors.Join(err, errors.New("there is no such row any more"))
		}
		return tx.QueryRowContext(ctx, "SELECT "+r.column+" FROM "+r.table+" WHERE "+r.key+" = ?",
			r.counter.Name).Scan(&end)
	})
	return end, r.failed(err)
}

// rename gives the row another name, and lets instead put something else in its place.
func (r rows) rename(ctx context.Context, db *sql.DB, instead func(tx *sql.Tx) error) error {
	if _, retired, err := r.end(ctx, db); err != nil || retired {
		return err
	}
	return r.failed(within(ctx, db, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+r.table+" SET "+r.key+" = ? WHERE "+r.key+" = ?",
			r.counter.Name+moved, r.counter.Name)
		if err == nil && instead != nil {
			err = instead(tx)
		}
		return err
	}))
}

// leaf gives [max_id − step, max_id).
type leaf struct{ rows }

func (l leaf) look(ctx context.Context, db *sql.DB) (position, error) {
	end, retired, err := l.end(ctx, db)
	return position{end, 1, retired}, err
}

func (l leaf) take(ctx context.Context, db *sql.DB, n int64) (block, error) {
	end, err := l.add(ctx, db, "UPDATE "+l.table+" SET max_id = max_id + ? WHERE biz_tag = ?", n)
	return block{end - n, end - 1, 1}, err
}

func (l leaf) retire(ctx context.Context, db *sql.DB) error { return l.rename(ctx, db, nil) }

// cosid gives (last_max_id − step, last_max_id].
type cosid struct{ rows }

func (c cosid) look(ctx context.Context, db *sql.DB) (position, error) {
	end, retired, err := c.end(ctx, db)
	return position{end + 1, 1, retired}, err
}

func (c cosid) take(ctx context.Context, db *sql.DB, n int64) (block, error) {
	end, err := c.add(ctx, db, "UPDATE "+c.table+
		" SET last_max_id = (last_max_id + ?), last_fetch_time = unix_timestamp() WHERE name = ?", n)
	return block{end - n + 1, end, 1}, err
}

// retire leaves a row behind to which nothing can be added: a CosId that starts without one makes
// it, and begins again at 0.
func (c cosid) retire(ctx context.Context, db *sql.DB) error {
	return c.rename(ctx, db, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO "+c.table+
			" (name, last_max_id, last_fetch_time) VALUES (?, ?, unix_timestamp())", c.counter.Name, uint64(full))
		return err
	})
}
