package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence/lease"
)

const (
	updateSQL = "UPDATE snowfence_lease SET nonce = ?, revision = ?, generation = ?, run_from = ?, until = ?, prev_until = ?, skip_from = ?, skip_until = ?," +
		" holder = ?, label = ?, veto = ?, written_at = ?, data = ? WHERE namespace = ? AND node = ? AND nonce = ?"
	insertSQL = "INSERT INTO snowfence_lease (nonce, revision, generation, run_from, until, prev_until, skip_from, skip_until," +
		" holder, label, veto, written_at, data, namespace, node) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)

// Swap implements [lease.Store]. A batch is split into transactions; each one is durable before any of its results is nil.
func (s *Store) Swap(ctx context.Context, writes []lease.Write) []error {
	errs := make([]error, len(writes))
	if err := lease.Distinct(writes); err != nil {
		fill(errs, err)
		return errs
	}
	for i := 0; i < len(writes); i += chunk {
		end := min(i+chunk, len(writes))
		part := errs[i:end]
		err := s.use(ctx, func(c *sql.Conn) error { return s.swap(ctx, c, writes[i:end], part) })
		if err != nil {
			fill(part, err)
		}
	}
	return errs
}

func fill(errs []error, err error) {
	for i := range errs {
		errs[i] = err
	}
}

// swap writes one chunk in one transaction, and the results of a transaction that was committed to errs.
func (s *Store) swap(ctx context.Context, c *sql.Conn, writes []lease.Write, errs []error) error {
	if err := s.dialect.durable(ctx, c); err != nil {
		return err
	}
	if len(writes) == 1 { // a statement is a transaction of its own
		var err error
		errs[0], err = swapOne(ctx, c.ExecContext, writes[0])
		return err
	}
	if _, err := c.ExecContext(ctx, s.dialect.begin); err != nil {
		return err
	}
	if err := swapEach(ctx, c, writes, errs); err != nil {
		return errors.Join(err, rollback(ctx, c))
	}
	if _, err := c.ExecContext(ctx, "COMMIT"); err != nil {
		return errors.Join(&commitError{err}, rollback(ctx, c))
	}
	return nil
}

// swapEach carries the writes out inside a transaction.
func swapEach(ctx context.Context, c *sql.Conn, writes []lease.Write, errs []error) error {
	update, err := c.PrepareContext(ctx, updateSQL)
	if err != nil {
		return err
	}
	defer update.Close()
	for i, w := range writes {
		do := c.ExecContext
		if w.Old != "" {
			do = func(ctx context.Context, _ string, args ...any) (sql.Result, error) {
				return update.ExecContext(ctx, args...)
			}
		}
		if errs[i], err = swapOne(ctx, do, w); err != nil {
			return err
		}
	}
	return nil
}

// swapOne returns what became of a write, or the error of the database.
func swapOne(ctx context.Context, do func(context.Context, string, ...any) (sql.Result, error), w lease.Write) (result, err error) {
	r := w.New
	args := []any{
		r.Nonce, r.Revision, r.Generation, r.From, r.Until, r.PrevUntil, r.SkipFrom, r.SkipUntil,
		r.Holder, r.Label, r.Veto, r.At, r.Data, r.Namespace, r.Node,
	}
	query := insertSQL
	if w.Old != "" {
		query = updateSQL
		args = append(args, w.Old)
	}
	res, err := do(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return lease.ErrLost, nil
	}
	return nil, nil
}

// rollback ends a transaction even when ctx is done, or else the connection, which would keep the database locked.
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
