// Package imports tests that counters of other programs become sequences while those programs run.
package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// old is a program of before: it makes its table, and takes segments by the statements of the
// original, with the arithmetic of the original.
type old interface {
	schema() []string
	// segment returns the numbers that a program gives before it asks again.
	segment(ctx context.Context, db *sql.DB) ([]int64, error)
}

// leaf is SegmentIDGenImpl and IDAllocMapper of Leaf.
type leaf struct{ tag string }

func (leaf) schema() []string {
	return []string{
		"CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint(20) NOT NULL DEFAULT '1'," +
			" step int(11) NOT NULL, description varchar(256) DEFAULT NULL, update_time timestamp NOT NULL DEFAULT" +
			" CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (biz_tag)) ENGINE=InnoDB",
		"INSERT INTO leaf_alloc (biz_tag, max_id, step, description) VALUES ('orders', 1, 20, 'Test')",
		"INSERT INTO leaf_alloc (biz_tag, max_id, step, description) VALUES ('others', 1, 20, 'Test')",
	}
}

func (l leaf) segment(ctx context.Context, db *sql.DB) (numbers []int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	const update = "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?"
	if _, err := tx.ExecContext(ctx, update, l.tag); err != nil {
		return nil, err
	}
	var tag string
	var maxID, step int64
	err = tx.QueryRowContext(ctx, "SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?", l.tag).
		Scan(&tag, &maxID, &step)
	if err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	for value := maxID - step; value < maxID; value++ {
		numbers = append(numbers, value)
	}
	return numbers, nil
}

// tinyid is DbSegmentIdServiceImpl and SegmentId of tinyid.
type tinyid struct{ delta, remainder int64 }

func (t tinyid) schema() []string {
	return []string{
		"CREATE TABLE tiny_id_info (id bigint(20) NOT NULL AUTO_INCREMENT, biz_type varchar(63) NOT NULL DEFAULT ''," +
			" begin_id bigint(20) NOT NULL DEFAULT '0', max_id bigint(20) NOT NULL DEFAULT '0', step int(11) DEFAULT '0'," +
			" delta int(11) NOT NULL DEFAULT '1', remainder int(11) NOT NULL DEFAULT '0'," +
			" create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00'," +
			" update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', version bigint(20) NOT NULL DEFAULT '0'," +
			" PRIMARY KEY (id), UNIQUE KEY uniq_biz_type (biz_type)) ENGINE=InnoDB",
		fmt.Sprint("INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder, version)"+
			" VALUES ('orders', 1, 1, 50, ", t.delta, ", ", t.remainder, ", 1)"),
	}
}

func (t tinyid) segment(ctx context.Context, db *sql.DB) ([]int64, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	for range 20 {
		var id, maxID, step, delta, remainder, version int64
		err := tx.QueryRowContext(ctx, "select id, max_id, step, delta, remainder, version from tiny_id_info"+
			" where biz_type = ?", "orders").Scan(&id, &maxID, &step, &delta, &remainder, &version)
		if err != nil {
			return nil, err
		}
		res, err := tx.ExecContext(ctx, "update tiny_id_info set max_id= ?, update_time=now(), version=version+1"+
			" where id=? and max_id=? and version=? and biz_type=?", maxID+step, id, maxID, version, "orders")
		if err != nil {
			return nil, err
		}
		if met, err := res.RowsAffected(); err != nil || met == 0 {
			continue
		}
		return give(maxID, maxID+step, delta, remainder), tx.Commit()
	}
	return nil, errors.New("get next segmentId conflict")
}

// give is SegmentId.init and nextId.
func give(current, maxID, delta, remainder int64) (numbers []int64) {
	if current%delta != remainder {
		for range delta + 1 {
			current++
			if current%delta == remainder {
				current -= delta
				break
			}
		}
	}
	for {
		current += delta
		if current > maxID {
			return numbers
		}
		numbers = append(numbers, current)
	}
}

// cosid is JdbcIdSegmentDistributor of CosId, with the initializer that is on by default.
type cosid struct{}

func (cosid) schema() []string {
	return []string{
		"create table if not exists cosid (name varchar(100) not null, last_max_id bigint unsigned not null default 0," +
			" last_fetch_time bigint unsigned not null default 0, constraint cosid_pk primary key (name)) engine = InnoDB",
	}
}

func (cosid) segment(ctx context.Context, db *sql.DB) (numbers []int64, err error) {
	const step = 20
	// tryInitIdSegment: an error means that the row is there.
	_, _ = db.ExecContext(ctx, "insert into cosid (name, last_max_id,last_fetch_time) value (?, ?,unix_timestamp());",
		"shop.orders", 0)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, "update cosid set last_max_id=(last_max_id + ?),last_fetch_time=unix_timestamp()"+
		" where name = ?;", step, "shop.orders")
	if err != nil {
		return nil, err
	}
	if met, err := res.RowsAffected(); err != nil || met == 0 {
		return nil, errors.New("NotFoundMaxIdException")
	}
	var maxID int64
	err = tx.QueryRowContext(ctx, "select last_max_id from cosid where name = ?;", "shop.orders").Scan(&maxID)
	if err != nil {
		return nil, err
	}
	for n := maxID - step + 1; n <= maxID; n++ {
		numbers = append(numbers, n)
	}
	return numbers, tx.Commit()
}

// wuid is LoadH28FromMysql of wuid.
type wuid struct{}

func (wuid) schema() []string {
	return []string{
		"CREATE TABLE IF NOT EXISTS wuid (h int(10) NOT NULL AUTO_INCREMENT, x tinyint(4) NOT NULL DEFAULT '0'," +
			" PRIMARY KEY (x), UNIQUE KEY h (h)) ENGINE=InnoDB DEFAULT CHARSET=latin1",
	}
}

func (wuid) segment(ctx context.Context, db *sql.DB) (numbers []int64, err error) {
	res, err := db.ExecContext(ctx, "REPLACE INTO wuid (x) VALUES (0)")
	if err != nil {
		return nil, err
	}
	h28, err := res.LastInsertId()
	if err != nil || h28 <= 0 || h28 > 0x07FFFFFF {
		return nil, fmt.Errorf("h28 %d: %w", h28, err)
	}
	n := h28 << 36
	for range 20 {
		n++
		numbers = append(numbers, n)
	}
	const panicValue = ((1 << 36) * 96 / 100) & ^1023
	return append(numbers, h28<<36+panicValue-1), nil // its last one
}
