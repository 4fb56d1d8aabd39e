package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/snowfence/snowfence/lease/store"
)

// Add implements [store.Store], in one statement. After a statement without
// a row it reads: a record of another generation is not a record that was
// put back. In a transaction of the caller it says nothing of the reason.
func (s *Store) Add(ctx context.Context, a store.Addition) (r store.Record, reply store.Reply, err error) {
	longest := store.Record{Key: a.Key, Nonce: a.NonceAt(math.MaxInt64)}
	if err := store.Check([]store.Write{{New: longest}}); err != nil {
		return store.Record{}, reply, err
	}
	if s.tx != nil { // of one goroutine
		s.taken = true
	}
	for range 3 { // what was put back counts anew after the read
		reply, err = s.use(ctx, toWrite, func(ctx context.Context, c querier, v view) (info serverInfo, err error) {
			r, info, err = s.dialect.add(ctx, c, v, a)
			if err == nil && s.tx != nil && r.Nonce != "" && info.reloaded && !info.idBack {
				info.reloaded, err = false, s.dialect.stamp(ctx, c, r)
			}
			return info, err
		})
		if err != nil {
			return store.Record{}, reply, err
		}
		if r.Nonce != "" {
			return r, reply, nil
		}
		if s.tx != nil {
			return store.Record{}, reply, store.ErrLost
		}
		rs, _, err := s.Get(ctx, []store.Key{a.Key})
		if err != nil {
			return store.Record{}, reply, err
		}
		if rs[0].Nonce == "" || rs[0].Generation != a.Generation {
			return store.Record{}, reply, store.ErrLost
		}
	}
	return store.Record{}, reply, s.explainError(errReloaded)
}

// Nothing in the statements overflows, because counts and limits are not
// negative.

const postgresAdd = `WITH a AS (UPDATE snowfence_lease SET nonce = ?::text || '.' || (revision + 1),
		revision = revision + 1, prev_until = run_from,
		run_from = run_from + greatest(0, least(?::bigint, ?::bigint - run_from)), xid = ` + postgresXID + `
	WHERE namespace = ? AND node = ? AND generation = ? AND xmin = xid RETURNING ` + columns + `, (xmin <> xid)::int),
	d AS (` + postgresLevel + `)
	SELECT * FROM a UNION ALL SELECT p.* FROM (` + postgresProbe + `) p, d WHERE d.level IS NOT NULL`

func addPostgres(ctx context.Context, c querier, v view, a store.Addition) (store.Record, serverInfo, error) {
	query, args := postgresBind(postgresAdd, []any{a.Nonce, a.N, a.Limit, a.Key.Namespace, a.Key.Node, a.Generation})
	rs, info, err := records(c.QueryContext(ctx, v.open(query), args...))
	return append(rs, store.Record{})[0], info, err
}

// mysqlAdd tells the count before as the last inserted ID, because UPDATE
// returns no rows.
const mysqlAdd = "UPDATE snowfence_lease SET nonce = CONCAT(?, '.', revision + 1), revision = revision + 1," +
	" prev_until = LAST_INSERT_ID(run_from), run_from = run_from + GREATEST(0, LEAST(?, ? - run_from))" +
	" WHERE namespace = ? AND node = ? AND generation = ?"

// addMySQL reads the rest of the record with the probe: it may be of a
// later write. Then the nonce is none that a record has.
func addMySQL(ctx context.Context, c querier, v view, a store.Addition) (r store.Record, info serverInfo, err error) {
	mark, err := v.mark(ctx, c)
	if err != nil {
		return r, info, err
	}
	query, _ := mysqlBind(mysqlOnly(mysqlAdd, mark),
		[]any{a.Nonce, a.N, a.Limit, a.Key.Namespace, a.Key.Node, a.Generation})
	res, err := c.ExecContext(ctx, query)
	lost, err := outcome(res, err)
	if err != nil {
		return r, info, err
	}
	before, err := res.LastInsertId()
	if err != nil {
		return r, info, err
	}
	rs, info, err := mysqlRead(ctx, c, a.Key)
	if err = cmp.Or(behindWrite(c, err), info.answersAs(mark)); err != nil || lost != nil || len(rs) == 0 {
		return r, info, err
	}
	r = rs[0]
	from := before + max(0, min(a.N, a.Limit-before))
	if r.Nonce != a.NonceAt(r.Revision) || r.PrevUntil != before || r.From != from {
		r.Nonce = a.Nonce
	}
	r.Generation, r.PrevUntil, r.From = a.Generation, before, from
	return r, info, nil
}

// sqliteAdd meets no row in a file that was rolled back; see
// sqliteUpdateOne. Its last columns are the serverInfo.
const sqliteAdd = "UPDATE OR IGNORE snowfence_lease SET nonce = ? || '.' || (revision + 1), revision = revision + 1," +
	" prev_until = run_from, run_from = run_from + MAX(0, MIN(?, ? - run_from)), swaps = swaps + 1," +
	" seq = (SELECT MAX(seq) FROM snowfence_lease WHERE seq >= ?) + 1" +
	" WHERE namespace = ? AND node = ? AND generation = ? RETURNING " + columns + ", seq, " + sqliteID

func addSQLite(ctx context.Context, c querier, v view, a store.Addition) (r store.Record, info serverInfo, err error) {
	if !v.known {
		return r, v.lastInfo, nil
	}
	if _, own := c.(*sql.Conn); own { // a caller's is durable; see sqliteOpenTx
		if err := sqliteDurable(ctx, c); err != nil {
			return r, info, err
		}
	}
	rows, err := c.QueryContext(ctx, sqliteAdd, a.Nonce, a.N, a.Limit, v.lastInfo.position, a.Key.Namespace, a.Key.Node,
		a.Generation)
	if err != nil {
		return r, info, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(append(fields(&r), &info.position, &info.dataID)...); err != nil {
			return r, info, err
		}
	}
	return r, info, errors.Join(rows.Err(), rows.Close()) // the commit comes with the end of the rows
}
