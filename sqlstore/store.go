// Package sqlstore keeps leases in an SQL database: a [store.Store] over
// your *sql.DB.
//
// It imports no driver: open the database with a driver of your choice. For
// a file that the processes of one machine share, with modernc.org/sqlite:
//
//	db, err := sql.Open("sqlite", "file:/var/lib/app/ids.db?_pragma=busy_timeout(10000)&_txlock=immediate")
//	ids, err := sqlstore.Open(ctx, db, sqlstore.SQLite(), nil)
//	id, err := ids.Next(ctx)
//
// For a server that many machines share, with jackc/pgx or
// go-sql-driver/mysql:
//
//	db, err := sql.Open("pgx", "postgres://app@db.example/app")
//	ids, err := sqlstore.Open(ctx, db, sqlstore.PostgreSQL(), nil)
//
// IDs are unique within one database. [SQLite], [PostgreSQL] and [MySQL]
// list each database's needs for that, and [Store.Report] the findings. In
// a program with many leases, put store.Group over the store: it writes
// them in batches.
package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Store keeps leases in two tables, snowfence_lease and snowfence_meta,
// which the first use makes. It is safe for concurrent use, and many
// processes may share a database.
type Store struct {
	store.Basic

	db      *sql.DB
	dialect Dialect

	tx    *sql.Tx // of the caller; nil for a store over db
	taken bool    // an addition was carried out in tx

	cleaned atomic.Pointer[sql.Conn] // the last connection whose transaction was ended, if it was in one

	mu sync.Mutex // guards what follows, not the database

	ready         bool
	lastInfo      serverInfo    // by the server that was asked last, with the highest position
	toldSince     int64         // the first use that was told its id
	answeredAt    time.Time     // when that server answered last
	uses          int64         // begun so far
	file          *file         // nil for databases that are no file
	pinned        *pinned       // nil without leases, or without a spare connection
	spare         kept          // over a server; nil without leases
	pins          int           // leases that pinned either
	sideFiles     files         // of the pinned connection, and so of all
	closedSources closed        // sources of the identity
	closedAt      time.Time     // when that was compared with the rights
	rights        string        // then
	seen          map[any]files // without one: by the driver's connection
	replacement   error         // once noticed, it stays
}

// New returns a store over db, which you close after all leases. It does no
// I/O: errors of the database show at the first use.
func New(db *sql.DB, d Dialect) (*Store, error) {
	if db == nil {
		return nil, errors.New("sqlstore: the *sql.DB is nil")
	}
	return &Store{db: db, dialect: d, seen: map[any]files{}}, d.check()
}

const columns = "namespace, node, nonce, revision, generation, run_from, until, prev_until," +
	" holder, label, veto, written_at, data"

// chunk bounds the records of a statement: others get their turn, and no
// limit is met.
const chunk = 500

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, keys []store.Key) (_ []store.Record, reply store.Reply, _ error) {
	var found []store.Record
	for rest := keys; len(rest) > 0; {
		n := 1 // keys of one namespace that follow each other
		for n < min(chunk, len(rest)) && rest[n].Namespace == rest[0].Namespace {
			n++
		}
		args := []any{rest[0].Namespace}
		for i := range 1 << bits.Len(uint(n-1)) { // few lengths, so that prepared statements are used again
			args = append(args, rest[min(i, n-1)].Node)
		}
		where := "namespace = ? AND node IN (?" + strings.Repeat(", ?", len(args)-2) + ")"
		if s.taken { // in a REPEATABLE READ transaction a definition of before would go unnoticed
			where += s.dialect.share
		}
		rs, part, err := s.readRecords(ctx, where, args)
		if err == nil {
			err = reply.Join(part)
		}
		if err != nil {
			return nil, store.Reply{}, err
		}
		found = append(found, rs...)
		rest = rest[n:]
	}
	return ordered(found, keys), reply, nil
}

// ordered returns the records of the keys, in their order.
func ordered(found []store.Record, keys []store.Key) []store.Record {
	by := make(map[store.Key]store.Record, len(found))
	for _, r := range found {
		by[r.Key] = r
	}
	out := make([]store.Record, len(keys))
	for i, k := range keys {
		out[i] = by[k]
		out[i].Key = k
	}
	return out
}

// List implements [store.Store].
func (s *Store) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	return s.readRecords(ctx, "namespace = ? AND node >= ? AND node < ? ORDER BY node LIMIT ?",
		[]any{namespace, nodes.From, nodes.Until, limit})
}

// Heads implements [store.Store].
func (s *Store) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	return s.readRecords(ctx, heads, nil)
}

// heads is the condition for the records of namespaces and sequences.
const heads = "node IN (-1, -2)"

func compareKeys(a, b store.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node))
}

// readRecords returns records in the order of their keys, which a UNION
// does not promise.
func (s *Store) readRecords(
	ctx context.Context, where string, args []any,
) (out []store.Record, reply store.Reply, err error) {
	query := "SELECT " + columns + ", " + s.dialect.reloadColumn + " FROM snowfence_lease WHERE " + where
	if s.tx == nil {
		query = "SELECT * FROM (" + query + ") q UNION ALL " + s.dialect.probe
	}
	query, args = s.dialect.bind(query, args)
	for range 3 { // who put data back may still be at it
		reply, err = s.use(ctx, toRead, func(ctx context.Context, c querier, v view) (info serverInfo, err error) {
			st, done := v.pinned.preparedStatement(ctx, query)
			if st != nil {
				out, info, err = records(st.QueryContext(ctx, args...))
				done()
			}
			if st == nil || err != nil { // another connection tells what is wrong
				out, info, err = records(c.QueryContext(ctx, v.open(query), args...))
			}
			if s.tx != nil && errors.Is(err, errCut) { // nothing was probed
				err = nil
			}
			return info, err
		})
		if !errors.Is(err, errReloaded) {
			break
		}
	}
	slices.SortFunc(out, func(a, b store.Record) int { return compareKeys(a.Key, b.Key) })
	return out, reply, err
}

// errCut means that the row of the probe, which comes last, is missing, and
// so perhaps others.
var errCut = errors.New("the last rows of an answer are missing: leave sql_select_limit at its default, in the " +
	"server and the DSN")

// records returns the records of a query, and takes the row of the probe
// out.
func records(rows *sql.Rows, err error) (out []store.Record, info serverInfo, _ error) {
	if err != nil {
		return nil, info, err
	}
	defer rows.Close()
	reloaded, cut := false, errCut
	for rows.Next() {
		var r store.Record
		var other int
		if err := rows.Scan(append(fields(&r), &other)...); err != nil {
			return nil, info, err
		}
		reloaded = reloaded || other != 0
		if r.Namespace != "" {
			out = append(out, r)
			continue
		}
		cut = nil
		info = serverInfo{
			id: r.Holder, system: r.Nonce, term: r.Revision, refusal: r.Veto,
			dataID: r.Label, now: r.At, mark: r.From, position: r.Generation, idBack: other != 0,
		}
	}
	info.reloaded = reloaded
	return out, info, cmp.Or(errors.Join(rows.Err(), rows.Close()), cut)
}

// fields are where the columns of a record go, in the order of columns.
func fields(r *store.Record) []any {
	return []any{
		&r.Namespace, &r.Node, &r.Nonce, &r.Revision, &r.Generation, &r.From, &r.Until, &r.PrevUntil,
		&r.Holder, &r.Label, &r.Veto, &r.At, &r.Data,
	}
}
