package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// wuid gives 2^36 numbers with the same upper 28 bits, which a table with one row counts.
type wuid struct{ table string }

const (
	wuidBits = 36
	wuidMost = 0x07FFFFFF // of the upper bits
)

func (w wuid) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %s of wuid: %w", w.table, err)
}

func (w wuid) exists(ctx context.Context, db *sql.DB, table string) (bool, error) {
	var n int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables"+
		" WHERE table_schema = DATABASE() AND table_name = ?", table).Scan(&n)
	return n > 0, w.failed(err)
}

func (w wuid) look(ctx context.Context, db *sql.DB) (position, error) {
	retired, err := w.exists(ctx, db, w.moved())
	if err != nil {
		return position{}, err
	}
	if retired {
		again, err := w.exists(ctx, db, w.table)
		if err == nil && again {
			err = errMadeAgain(w.moved())
		}
		if err != nil {
			return position{}, w.failed(err)
		}
	}
	upper, err := w.highest(ctx, db, retired)
	if err == nil && upper >= wuidMost {
		err = errors.New("it has given all of its numbers")
	}
	return position{(upper + 1) << wuidBits, 1, retired}, w.failed(err)
}

// highest returns the upper bits of the last block. The row of old programs may have lower ones:
// MySQL counts when a statement begins, and two that meet may end in the other order.
func (w wuid) highest(ctx context.Context, db *sql.DB, retired bool) (upper int64, err error) {
	if retired {
		err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(h) - MAX(x), 0) FROM "+quoteOne(w.moved())).Scan(&upper)
		return upper, err
	}
	err = db.QueryRowContext(ctx, "SELECT GREATEST(COALESCE(MAX(h), 0), COALESCE((SELECT auto_increment"+
		" FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?), 1) - 1) FROM "+
		quoteOne(w.table), w.table).Scan(&upper)
	return upper, err
}

func (w wuid) take(ctx context.Context, db *sql.DB, _ int64) (block, error) {
	res, err := db.ExecContext(ctx, "REPLACE INTO "+quoteOne(w.table)+" (x) VALUES (0)")
	if err != nil {
		return block{}, w.failed(err)
	}
	upper, err := res.LastInsertId()
	if err == nil && (upper < 1 || upper > wuidMost) {
		err = fmt.Errorf("it counts from 1 to %d, and is at %d", wuidMost, upper)
	}
	return block{upper << wuidBits, (upper+1)<<wuidBits - 1, 1}, w.failed(err)
}

// retire leaves a row of its own in the table, one above all that old programs took.
func (w wuid) retire(ctx context.Context, db *sql.DB) error {
	retired, err := w.exists(ctx, db, w.moved())
	if err == nil && !retired {
		_, err = db.ExecContext(ctx, "RENAME TABLE "+quoteOne(w.table)+" TO "+quoteOne(w.moved()))
	}
	if err == nil {
		_, err = db.ExecContext(ctx, "INSERT IGNORE INTO "+quoteOne(w.moved())+" (x) VALUES (1)")
	}
	return w.failed(err)
}

func (w wuid) moved() string { return w.table + "_moved" }

// quoteOne quotes a table of the connection's database.
func quoteOne(table string) string { return "`" + strings.ReplaceAll(table, "`", "``") + "`" }
