package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/snowfence/snowfence/lease/store"
)

// Add implements [store.Store], in one statement. One that meets no row is followed by a read:
// it tells a record of another generation from one that was put back.
func (s *Store) Add(ctx context.Context, a store.Addition) (r store.Record, err error) {
	longest := store.Record{Key: a.Key, Nonce: a.NonceAt(math.MaxInt64)}
	if err := checkLengths([]store.Write{{New: longest}}); err != nil {
		return store.Record{}, err
	}
	for range 3 { // what was put back counts anew after the read
		err = s.use(ctx, toWrite, func(c *sql.Conn) (info serverInfo, err error) {
			r, info, err = s.dialect.add(ctx, c, s.view(), a)
			return info, err
		})
		if err != nil {
			return store.Record{}, err
		}
		if r.Nonce != "" {
			return r, nil
		}
		rs, err := s.Get(ctx, []store.Key{a.Key})
		if err != nil {
			return store.Record{}, err
		}
		if rs[0].Nonce == "" || rs[0].Generation != a.Generation {
			return store.Record{}, store.ErrLost
		}
	}
	return store.Record{}, fmt.Errorf("sqlstore: %s: %w", s.dialect.name, errReloaded)
}

// added returns the record that an addition returned; it has no nonce if no row was met.
func added(rs []store.Record) store.Record {
	if len(rs) == 0 {
		return store.Record{}
	}
	return rs[0]
}

// Nothing in the statements overflows, because counts and limits are not negative.

const postgresAdd = `WITH a AS (UPDATE snowfence_lease SET nonce = ?::text || '.' || (revision + 1),
		revision = revision + 1, prev_until = run_from,
		run_from = run_from + greatest(0, least(?::bigint, ?::bigint - run_from)), xid = ` + postgresXID + `
	WHERE namespace = ? AND node = ? AND generation = ? AND xmin = xid RETURNING ` + columns + `, (xmin <> xid)::int),
	d AS (` + postgresLevel + `)
	SELECT * FROM a UNION ALL SELECT p.* FROM (` + postgresProbe + `) p, d WHERE d.level IS NOT NULL`

func addPostgres(ctx context.Context, c querier, _ view, a store.Addition) (store.Record, serverInfo, error) {
	query, args := postgresBind(postgresAdd, []any{a.Nonce, a.N, a.Limit, a.Key.Namespace, a.Key.Node, a.Generation})
	rs, info, err := records(ctx, c, query, args)
	return added(rs), info, err
}

// mysqlAdd tells the count before as the last inserted ID, because UPDATE returns no rows.
const mysqlAdd = "UPDATE snowfence_lease SET nonce = CONCAT(?, '.', revision + 1), revision = revision + 1," +
	" prev_until = LAST_INSERT_ID(run_from), run_from = run_from + GREATEST(0, LEAST(?, ? - run_from))" +
	" WHERE namespace = ? AND node = ? AND generation = ?"

// addMySQL reads the rest of the record with the probe: it may be of a later write. Then the nonce
// is none that a record has.
func addMySQL(
	ctx context.Context, c querier, _ view, a store.Addition,
) (r store.Record, info serverInfo, err error) {
	added, err := addMySQLRow(ctx, c, a)
	if err != nil {
		return r, info, err
	}
	query, _ := mysqlBind("(SELECT "+columns+", 0 FROM snowfence_lease WHERE namespace = ? AND node = ?) UNION ALL "+
		mysqlProbe, []any{a.Key.Namespace, a.Key.Node})
	rs, info, err := records(ctx, c, query, nil)
	if err != nil || added.Nonce == "" || len(rs) == 0 {
		return r, info, err
	}
	r = rs[0]
	if r.Nonce != a.NonceAt(r.Revision) || r.PrevUntil != added.PrevUntil || r.From != added.From {
		r.Nonce = added.Nonce
	}
	r.Generation, r.PrevUntil, r.From = added.Generation, added.PrevUntil, added.From
	return r, info, nil
}

// addMySQLRow returns what an addition says of the record. The nonce is none that a record has; it
// is "" if no row was met.
func addMySQLRow(ctx context.Context, c querier, a store.Addition) (r store.Record, err error) {
	query, _ := mysqlBind(mysqlAdd, []any{a.Nonce, a.N, a.Limit, a.Key.Namespace, a.Key.Node, a.Generation})
	res, err := c.ExecContext(ctx, query)
	lost, err := outcome(res, err)
	if err != nil || lost != nil {
		return r, err
	}
	before, err := res.LastInsertId()
	return store.Record{
		Key: a.Key, Nonce: a.Nonce, Generation: a.Generation,
		PrevUntil: before, From: before + max(0, min(a.N, a.Limit-before)),
	}, err
}

// sqliteAdd meets no row in a file that was rolled back; see sqliteRenewOne. What it returns last
// is the serverInfo.
const sqliteAdd = "UPDATE OR IGNORE snowfence_lease SET nonce = ? || '.' || (revision + 1), revision = revision + 1," +
	" prev_until = run_from, run_from = run_from + MAX(0, MIN(?, ? - run_from)), swaps = swaps + 1," +
	" seq = (SELECT MAX(seq) FROM snowfence_lease WHERE seq >= ?) + 1" +
	" WHERE namespace = ? AND node = ? AND generation = ? RETURNING " + columns + ", seq, " + sqliteID

func addSQLite(
	ctx context.Context, c querier, v view, a store.Addition,
) (r store.Record, info serverInfo, err error) {
	if v.file.witness != nil {
		if err := v.file.witness.writable(); err != nil {
			return r, info, fmt.Errorf("the witness beside the database: %w", err)
		}
	}
	floor, known, err := v.file.floor(v.dataID)
	if err != nil || !known {
		return r, info, err // the read that follows sees to it
	}
	if err := sqliteDurable(ctx, c); err != nil {
		return r, info, err
	}
	rows, err := c.QueryContext(ctx, sqliteAdd, a.Nonce, a.N, a.Limit, max(floor, v.position), a.Key.Namespace,
		a.Key.Node, a.Generation)
	if err != nil {
		return r, info, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(append(fields(&r), &info.position, &info.dataID)...); err != nil {
			return r, info, err
		}
		info.floor = floor
	}
	return r, info, errors.Join(rows.Err(), rows.Close()) // the commit comes with the end of the rows
}

// sqliteAddTx is short, because drivers compile it each time.
const sqliteAddTx = "UPDATE snowfence_lease SET nonce = ? || '.' || (revision + 1), revision = revision + 1," +
	" prev_until = run_from, run_from = run_from + MAX(0, MIN(?, ? - run_from)), swaps = swaps + 1, seq = ?" +
	" WHERE namespace = ? AND node = ? AND generation = ? RETURNING revision, prev_until, run_from"

// addSQLiteTx compares nothing with the witness: since that was done, nobody else can have written.
func addSQLiteTx(
	ctx context.Context, c querier, v view, a store.Addition,
) (r store.Record, info serverInfo, err error) {
	info = serverInfo{dataID: v.dataID, position: v.position + 1}
	r = store.Record{Key: a.Key, Generation: a.Generation}
	err = c.QueryRowContext(ctx, sqliteAddTx, a.Nonce, a.N, a.Limit, info.position, a.Key.Namespace, a.Key.Node,
		a.Generation).Scan(&r.Revision, &r.PrevUntil, &r.From)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Record{}, info, nil
	}
	r.Nonce = a.NonceAt(r.Revision)
	return r, info, err
}
