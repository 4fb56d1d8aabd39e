// Package sqlstore keeps leases in an SQL database: a [store.Store] over your *sql.DB.
//
// It imports no driver: open the database with the one you have. For a file that the
// processes of one machine share, with modernc.org/sqlite:
//
//	db, err := sql.Open("sqlite", "file:/var/lib/app/ids.db?_pragma=busy_timeout(10000)&_txlock=immediate")
//	g, err := sqlstore.Open(ctx, db, sqlstore.SQLite(), nil)
//	id, err := g.Next(ctx)
//
// For a server that many machines share, with jackc/pgx or go-sql-driver/mysql:
//
//	db, err := sql.Open("pgx", "postgres://app@db.example/app")
//	g, err := sqlstore.Open(ctx, db, sqlstore.PostgreSQL(), nil)
//
// IDs are unique within one database. [SQLite], [PostgreSQL] and [MySQL] say what each
// needs for that; [Store.Report] says what was found. A program with many leases puts
// lease.Group over the store, which writes them in batches.
package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Store keeps leases in two tables, snowfence_lease and snowfence_meta, which the first use
// makes. It is safe for concurrent use, and many processes may share a database.
type Store struct {
	store.Basic

	db      *sql.DB
	dialect Dialect

	mu sync.Mutex // guards what follows, not the database

	ready     bool
	id        string            // of the database, as told last
	system    string            // of the server that told it; see serverInfo
	term      int64             // the same
	dataID    string            // the random ID of its data
	position  int64             // highest one that a server told
	uses      int64             // begun so far
	idSince   int64             // the first use that was told id
	file      *file             // nil for databases that are no file
	pinned    *pinned           // nil without leases, or without a spare connection
	pins      int               // leases that pinned it
	sideFiles sideFiles         // of the pinned connection, and so of all
	seen      map[any]sideFiles // without one: by what the driver calls a connection
	replaced  error             // once noticed, it stays
}

// New returns a store over db, which you close after all leases. It does no I/O: errors of
// the database show at the first use.
func New(db *sql.DB, d Dialect) (*Store, error) {
	switch {
	case db == nil:
		return nil, errors.New("sqlstore: the *sql.DB is nil")
	case d.name == "":
		return nil, errors.New("sqlstore: the Dialect is empty: use SQLite(), PostgreSQL() or MySQL()")
	}
	return &Store{db: db, dialect: d}, nil
}

const columns = "namespace, node, nonce, revision, generation, run_from, until, prev_until," +
	" skip_from, skip_until, holder, label, veto, written_at, data"

// chunk bounds the records of a statement: others get their turn, and no limit is met.
const chunk = 500

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	out := make([]store.Record, len(keys))
	at := make(map[store.Key][]int, len(keys))
	for i, k := range keys {
		out[i].Key = k
		at[k] = append(at[k], i)
	}
	for len(keys) > 0 {
		n := 1 // keys of one namespace that follow each other
		for n < min(chunk, len(keys)) && keys[n].Namespace == keys[0].Namespace {
			n++
		}
		args := []any{keys[0].Namespace}
		for i := range 1 << bits.Len(uint(n-1)) { // few lengths, so that prepared statements are used again
			args = append(args, keys[min(i, n-1)].Node)
		}
		where := "namespace = ? AND node IN (?" + strings.Repeat(", ?", len(args)-2) + ")"
		rs, err := s.read(ctx, where, args)
		if err != nil {
			return nil, err
		}
		for _, r := range rs {
			for _, i := range at[r.Key] {
				out[i] = r
			}
		}
		keys = keys[n:]
	}
	return out, nil
}

// List implements [store.Store].
func (s *Store) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	rs, err := s.read(ctx, "namespace = ? AND node >= ? AND node < ? ORDER BY node LIMIT ?",
		[]any{namespace, nodes.From, nodes.Until, limit})
	return sorted(rs), err
}

// Heads implements [store.Store].
func (s *Store) Heads(ctx context.Context) ([]store.Record, error) {
	rs, err := s.read(ctx, heads, nil)
	return sorted(rs), err
}

// heads is the condition for the records of namespaces and sequences.
const heads = "node IN (-1, -2)"

// sorted orders records by their keys, because a UNION promises no order.
func sorted(rs []store.Record) []store.Record {
	slices.SortFunc(rs, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node))
	})
	return rs
}

// Now implements [store.Store]: a server's time. SQLite has none of its own.
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	if s.dialect.now == "" {
		return now, nil
	}
	err = s.use(ctx, toRead, func(c *sql.Conn) (serverInfo, error) {
		var micros int64
		err := c.QueryRowContext(ctx, s.dialect.now).Scan(&micros)
		now = time.UnixMicro(micros)
		return serverInfo{}, err
	})
	return now, err
}

func (s *Store) read(ctx context.Context, where string, args []any) (out []store.Record, err error) {
	query, args := s.dialect.bind("SELECT "+columns+", "+s.dialect.reloaded+" FROM snowfence_lease WHERE "+where, args)
	if s.dialect.probe != "" {
		query = "(" + query + ") UNION ALL " + s.dialect.probe
	}
	for range 3 { // who put data back may still be at it
		err = s.use(ctx, toRead, func(c *sql.Conn) (info serverInfo, err error) {
			v := s.view()
			floor, known, err := v.file.floor(v.dataID) // before the question: what was noted is committed
			if err != nil {
				return info, err
			}
			var ok bool
			if out, info, ok = v.pinned.records(ctx, query, args); !ok {
				out, info, err = records(ctx, c, query, args)
				if err == nil && s.dialect.askServer != nil {
					info, err = s.dialect.askServer(ctx, c)
				}
			}
			info.floor, info.unknown = floor, !known
			return info, err
		})
		if !errors.Is(err, errReloaded) {
			break
		}
	}
	return out, err
}

// records runs a query for records and takes the row of the probe out.
func records(
	ctx context.Context, c querier, query string, args []any,
) (out []store.Record, info serverInfo, err error) {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, info, err
	}
	return scanned(rows)
}

func scanned(rows *sql.Rows) (out []store.Record, info serverInfo, err error) {
	defer rows.Close()
	reloaded, idBack := false, false
	for rows.Next() {
		var r store.Record
		var other int
		err := rows.Scan(append(fields(&r), &other)...)
		if err != nil {
			return nil, info, err
		}
		reloaded = reloaded || other != 0
		if r.Namespace == "" {
			idBack = other != 0
			info = serverInfo{
				id: r.Holder, system: r.Nonce, term: r.Revision, refusal: r.Veto,
				dataID: r.Label, position: r.Generation,
			}
		} else {
			out = append(out, r)
		}
	}
	info.reloaded, info.idBack = reloaded, idBack
	return out, info, errors.Join(rows.Err(), rows.Close())
}

// fields are where the columns of a record go, in the order of columns.
func fields(r *store.Record) []any {
	return []any{
		&r.Namespace, &r.Node, &r.Nonce, &r.Revision, &r.Generation, &r.From, &r.Until, &r.PrevUntil,
		&r.SkipFrom, &r.SkipUntil, &r.Holder, &r.Label, &r.Veto, &r.At, &r.Data,
	}
}

// busyTimeout bounds how long a busy database is asked again.
const busyTimeout = 30 * time.Second

// purpose is what a use is for.
type purpose bool

const (
	toRead  purpose = false
	toWrite purpose = true
)

// use runs do on a connection of a database that is ready. A busy database did nothing, so
// do runs again; nothing is locked in between.
func (s *Store) use(ctx context.Context, why purpose, do func(*sql.Conn) (serverInfo, error)) error {
	start := time.Now()
	for attempt := 0; ; attempt++ {
		err := s.once(ctx, why, do)
		if err == nil || !s.dialect.busy(err) || time.Since(start) > busyTimeout {
			if err != nil {
				err = fmt.Errorf("sqlstore: %s: %w", s.dialect.name, s.dialect.advice(err))
			}
			return err
		}
		timer := time.NewTimer(time.Millisecond + rand.N(time.Millisecond<<min(attempt, 5)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("sqlstore: %s: %w: %w", s.dialect.name, s.dialect.advice(err), ctx.Err())
		}
	}
}

// once runs do on a connection. A write compares the files first, so it goes to files that
// others see too. All uses compare them afterwards, even after an error.
func (s *Store) once(ctx context.Context, why purpose, do func(*sql.Conn) (serverInfo, error)) error {
	s.mu.Lock()
	ready := s.ready
	s.uses++
	began := s.uses
	before := serverInfo{id: strings.TrimPrefix(s.id, s.dialect.name+":"), dataID: s.dataID, position: s.position}
	s.mu.Unlock()
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if !ready {
		if err := s.prepare(ctx, c); err != nil {
			return err
		}
	}
	used, err := s.sideFilesFor(ctx, c, why)
	if err != nil {
		return err
	}
	info, err := do(c)
	open := err == nil || c.Raw(func(any) error { return nil }) == nil
	if err := s.checkAfterUse(used, open, err); err != nil {
		return err
	}
	before.position = max(before.position, info.floor)
	f := s.view().file
	if f != nil && info.dataID != "" {
		info.id = info.dataID + f.number
		if info.dataID != before.dataID || info.unknown {
			_, known, err := f.floor(info.dataID)
			if err != nil {
				return err
			}
			info.reloaded = !known
		}
	}
	if info.rolledBack(before) {
		if err := s.newIdentity(ctx, c, f, info.dataID); err != nil {
			return err
		}
		return errReloaded
	}
	if f != nil && f.witness != nil && info.dataID != "" && info.position > info.floor {
		if err := f.witness.note(info.dataID, info.position); err != nil {
			return fmt.Errorf("writing the witness beside the database: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noteServer(info, began)
}

// view is what a use knows of the database before it asks.
type view struct {
	file     *file
	dataID   string
	position int64
	pinned   *pinned
}

func (s *Store) view() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return view{s.file, s.dataID, s.position, s.pinned}
}

// checkAfterUse returns the error of a use, or that its files are no longer those of all.
func (s *Store) checkAfterUse(used sideFiles, open bool, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !open && s.pinned == nil {
		return err // the connection was given up, and SQLite may have removed its files for good reason
	}
	if changed := s.checkFiles(used); changed != nil {
		return changed
	}
	return err
}

func isReplaced(err error) bool { return errors.Is(err, store.ErrReplaced) }
