package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

const (
	updateSet = "UPDATE snowfence_lease SET nonce = ?, revision = ?, generation = ?, run_from = ?, until = ?, " +
		"prev_until = ?, holder = ?, label = ?, veto = ?, written_at = ?, data = ?"
	updateWhere = " WHERE namespace = ? AND node = ? AND nonce = ?"
	updateSQL   = updateSet + updateWhere

	insertColumns = "nonce, revision, generation, run_from, until, prev_until," +
		" holder, label, veto, written_at, data, namespace, node"
)

// values are the values of a write, in the order of updateSQL and
// insertColumns.
func values(w store.Write) []any {
	r := w.New
	return []any{
		r.Nonce, r.Revision, r.Generation, r.From, r.Until, r.PrevUntil,
		r.Holder, r.Label, r.Veto, r.At, r.Data, r.Namespace, r.Node,
	}
}

// batch is a part of a swap: its writes and their results, and what a
// server reads after one write in the same round trip.
type batch struct {
	writes []store.Write
	errs   []error
	then   []store.Key
	read   []store.Record
}

// itemsOf is some writes as a JSON array, which servers take as a table.
func itemsOf(writes []store.Write) (string, error) {
	type item struct {
		Old string
		store.Record
	}
	items := make([]item, len(writes))
	for i, w := range writes {
		items[i] = item{w.Old, w.New}
	}
	text, err := json.Marshal(items)
	return string(text), err
}

// confirm sets the results of a batch by the records that its statement
// returned: a write is done if its nonce is there.
func (b *batch) confirm(found []store.Record) {
	nonces := make(map[store.Key]string, len(found))
	for _, r := range found {
		nonces[r.Key] = r.Nonce
	}
	for i, w := range b.writes {
		if b.errs[i] = nil; nonces[w.New.Key] != w.New.Nonce {
			b.errs[i] = store.ErrLost
		}
	}
}

// outcome returns the result of a statement that writes one record or none.
func outcome(res sql.Result, err error) (result, _ error) {
	if err != nil {
		return nil, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return store.ErrLost, nil
	}
	return nil, nil
}

// Swap implements [store.Store]. It splits a batch into transactions; each
// is durable before one of its results is nil. It writes in the order of
// the keys: locks in one order cannot deadlock.
func (s *Store) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) (_ []error, read []store.Record, reply store.Reply) {
	if err := store.Check(writes); err != nil {
		return slices.Repeat([]error{err}, len(writes)), nil, reply
	}
	sorted := slices.SortedFunc(slices.Values(writes), func(a, b store.Write) int {
		return compareKeys(a.New.Key, b.New.Key)
	})
	by := make(map[store.Key]error, len(writes))
	for part := range slices.Chunk(sorted, chunk) {
		b := &batch{writes: part, errs: make([]error, len(part)), then: then}
		told, err := s.use(ctx, toWrite, func(ctx context.Context, c querier, v view) (serverInfo, error) {
			b.read = nil
			return s.dialect.swap(ctx, c, v, b)
		})
		if err == nil {
			err = reply.Join(told)
		}
		if err != nil {
			b.errs, b.read = slices.Repeat([]error{err}, len(part)), nil
		}
		s.settleWrites(ctx, part, b.errs)
		for i, w := range part {
			by[w.New.Key] = b.errs[i]
		}
		read = b.read
	}
	errs := make([]error, len(writes))
	for i, w := range writes {
		errs[i] = by[w.New.Key]
	}
	return errs, read, reply
}

// settleWrites looks again where rows name their writer. A lost write is
// read: a swap skips a record that was put back, which must not look like
// another program's work. A write in a savepoint of the caller is stamped,
// because it looks so, too.
func (s *Store) settleWrites(ctx context.Context, writes []store.Write, results []error) {
	if s.dialect.stamp == nil {
		return
	}
	for i, w := range writes {
		if results[i] == nil && s.tx != nil {
			results[i] = s.explainError(s.dialect.stamp(ctx, s.tx, w.New))
		}
		if !errors.Is(results[i], store.ErrLost) {
			continue
		}
		found, _, err := s.Get(ctx, []store.Key{w.New.Key})
		if err == nil && found[0].Nonce == w.Old {
			err = s.explainError(errReloaded)
		}
		results[i] = cmp.Or(err, results[i])
	}
}

// transaction runs do between the statements that begin it and COMMIT. A
// BEGIN may fail late, when its ctx is done: its transaction must not go
// back to the pool, where it would swallow the next write. A caller's has
// begun, and the caller ends it.
func transaction(ctx context.Context, c querier, do func() error, begin ...string) (err error) {
	own, ok := c.(*sql.Conn)
	if !ok {
		return do()
	}
	for _, step := range begin {
		if _, err = own.ExecContext(ctx, step); err != nil {
			return errors.Join(err, rollback(ctx, own))
		}
	}
	if err = do(); err != nil {
		return errors.Join(err, rollback(ctx, own))
	}
	if _, err = own.ExecContext(ctx, "COMMIT"); err != nil {
		return errors.Join(&commitError{fmt.Errorf("committing: %w", err)}, rollback(ctx, own))
	}
	return nil
}

// rollback ends a transaction even when ctx is done. If it cannot, it ends
// the connection, which would keep the database locked.
func rollback(ctx context.Context, c *sql.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := c.ExecContext(ctx, "ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil // SQLite has rolled back by itself, as it does when the disk is full
	}
	if err != nil {
		_ = c.Raw(func(any) error { return driver.ErrBadConn }) // closes the connection
		return fmt.Errorf("rolling back: %w", err)
	}
	return nil
}
