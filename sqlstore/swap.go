package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

const (
	updateSet = "UPDATE snowfence_lease SET nonce = ?, revision = ?, generation = ?, run_from = ?, until = ?, " +
		"prev_until = ?, skip_from = ?, skip_until = ?, holder = ?, label = ?, veto = ?, written_at = ?, data = ?"
	updateWhere = " WHERE namespace = ? AND node = ? AND nonce = ?"
	updateSQL   = updateSet + updateWhere

	insertColumns = "nonce, revision, generation, run_from, until, prev_until, skip_from, skip_until," +
		" holder, label, veto, written_at, data, namespace, node"
	insertSQL = "INSERT INTO snowfence_lease (" + insertColumns + ")" +
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

// values are those of a write, as updateSQL and insertSQL order them.
func values(w store.Write) []any {
	r := w.New
	return []any{
		r.Nonce, r.Revision, r.Generation, r.From, r.Until, r.PrevUntil, r.SkipFrom, r.SkipUntil,
		r.Holder, r.Label, r.Veto, r.At, r.Data, r.Namespace, r.Node,
	}
}

// batch is some writes as a JSON array, which servers take as a table. Names are short,
// because there are many.
func batch(writes []store.Write) (string, error) {
	type item struct {
		O, S, C, H, L, V, D       string
		N, R, G, F, U, P, X, Y, T int64
	}
	items := make([]item, len(writes))
	for i, w := range writes {
		r := w.New
		items[i] = item{
			O: w.Old, S: r.Namespace, N: r.Node, C: r.Nonce, R: r.Revision, G: r.Generation,
			F: r.From, U: r.Until, P: r.PrevUntil, X: r.SkipFrom, Y: r.SkipUntil,
			H: r.Holder, L: r.Label, V: r.Veto, T: r.At, D: r.Data,
		}
	}
	text, err := json.Marshal(items)
	return string(text), err
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

// Swap implements [store.Store]. It splits a batch into transactions; each is durable
// before one of its results is nil.
func (s *Store) Swap(ctx context.Context, writes []store.Write) []error {
	errs := make([]error, len(writes))
	err := store.Distinct(writes)
	if err == nil {
		err = checkLengths(writes)
	}
	if err != nil {
		fill(errs, err)
		return errs
	}
	order := lockOrder(writes)
	for len(order) > 0 {
		n := min(chunk, len(order))
		part, results := make([]store.Write, n), make([]error, n)
		for i, at := range order[:n] {
			part[i] = writes[at]
		}
		err := s.use(ctx, toWrite, func(c *sql.Conn) (serverInfo, error) {
			return s.dialect.swap(ctx, c, s.view(), part, results)
		})
		if err != nil {
			fill(results, err)
		}
		s.recheckLost(ctx, part, results)
		for i, at := range order[:n] {
			errs[at] = results[i]
		}
		order = order[n:]
	}
	return errs
}

// recheckLost reads the records of lost writes: a swap skips one that was put back, which
// must not look like another program's work.
func (s *Store) recheckLost(ctx context.Context, writes []store.Write, results []error) {
	if s.dialect.reloaded == "0" {
		return
	}
	var keys []store.Key
	var at []int
	for i, err := range results {
		if errors.Is(err, store.ErrLost) {
			keys, at = append(keys, writes[i].New.Key), append(at, i)
		}
	}
	if len(keys) == 0 {
		return
	}
	found, err := s.Get(ctx, keys)
	for n, i := range at {
		switch {
		case err != nil:
			results[i] = err
		case found[n].Nonce == writes[i].Old:
			results[i] = fmt.Errorf("sqlstore: %s: %w", s.dialect.name, errReloaded)
		}
	}
}

func fill(errs []error, err error) {
	for i := range errs {
		errs[i] = err
	}
}

// transaction runs do between begin and COMMIT. A BEGIN may fail late, when its ctx is done: its
// transaction must not go back to the pool, where it would swallow the next write.
func transaction(ctx context.Context, c *sql.Conn, begin string, do func() error) error {
	_, err := c.ExecContext(ctx, begin)
	if err == nil {
		err = do()
	}
	if err != nil {
		return errors.Join(err, rollback(ctx, c))
	}
	if _, err := c.ExecContext(ctx, "COMMIT"); err != nil {
		return errors.Join(&commitError{err}, rollback(ctx, c))
	}
	return nil
}

// rollback ends a transaction even when ctx is done. If it cannot, it ends the connection,
// which would keep the database locked.
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
