package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// SequenceTx returns a number of a strict sequence, plain or dated, as part of your transaction:
// it is
// taken if tx commits, and comes again if tx is rolled back. So numbers have no gap and rise in the
// order of the commits, if all are taken so. [sequence.Sequence.Next] may take from the same
// sequence; an answer that it loses is a gap.
//
// Others who take a number wait until tx ends, so take it last. Make the sequence before, through
// a [Store], which looks whether the database was rolled back; what SequenceTx can see of that by
// itself is in docs/choose/invoices.md.
//
// The first transaction of a period makes its record. The number is of the period that the zone has
// at this moment, and the transaction may commit in the next one.
//
// After any error roll tx back. If the error is a [sequence.ErrRetry], run all of the transaction
// again. In PostgreSQL, MySQL and MariaDB use READ COMMITTED, because the row of a sequence that
// others take from is newer than what a REPEATABLE READ transaction may see; in SQLite use BEGIN
// IMMEDIATE.
func SequenceTx(ctx context.Context, tx *sql.Tx, d Dialect, name string) (sequence.Serial, error) {
	st, err := beginTx(ctx, tx, d)
	if err != nil {
		return sequence.Serial{}, fmt.Errorf("sequence %q: %w", name, err)
	}
	defer st.close()
	return sequence.NextTx(ctx, st, name)
}

// querier is a connection or a transaction of the caller.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// txStore is the database inside one transaction. It remembers nothing of earlier ones: each
// reads the record of a sequence, which takes no lock, before it writes. So a sequence that is
// missing locks nothing, and a definition that was changed is never used.
type txStore struct {
	store.Basic

	tx      *sql.Tx
	dialect Dialect
	file    *file      // nil for databases that are no file
	info    serverInfo // as the last statement that writes told it
	taken   bool
}

func beginTx(ctx context.Context, tx *sql.Tx, d Dialect) (*txStore, error) {
	switch {
	case tx == nil:
		return nil, fmt.Errorf("sqlstore: the *sql.Tx is nil (%w)", lease.ErrInvalid)
	case d.name == "":
		return nil, fmt.Errorf("sqlstore: the Dialect is empty: use SQLite(), PostgreSQL() or MySQL() (%w)",
			lease.ErrInvalid)
	}
	s := &txStore{tx: tx, dialect: d}
	if d.tx.open == nil {
		return s, nil
	}
	var info serverInfo
	var err error
	if s.file, info, err = d.tx.open(ctx, tx); err == nil {
		err = s.note(info)
	}
	if err != nil {
		s.close()
	}
	return s, s.failed(err)
}

func (s *txStore) close() {
	if s.file != nil {
		s.file.witness.close()
	}
}

// failed says what to do about an error of the database.
func (s *txStore) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case s.dialect.busy(err):
		return fmt.Errorf("sqlstore: %s: %w: %w", s.dialect.name, sequence.ErrRetry, err)
	case s.dialect.noTable(err):
		return fmt.Errorf("sqlstore: %s: %w: there are no tables yet: create it: %w", s.dialect.name,
			sequence.ErrNoSequence, err)
	}
	return fmt.Errorf("sqlstore: %s: %w", s.dialect.name, s.dialect.advice(err))
}

// Get implements [store.Store] for keys of one namespace. After a take it locks what it reads
// against changes, and reads what is the case now: in a REPEATABLE READ transaction a definition of
// before would go unnoticed.
func (s *txStore) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	where, args := "namespace = ? AND node IN (?"+strings.Repeat(", ?", len(keys)-1)+")", []any{keys[0].Namespace}
	for _, k := range keys {
		args = append(args, k.Node)
	}
	if s.taken {
		where += s.dialect.tx.share
	}
	rs, err := s.read(ctx, where, args)
	out := make([]store.Record, len(keys))
	for i, k := range keys {
		if out[i].Key = k; err != nil {
			continue
		}
		if at := slices.IndexFunc(rs, func(r store.Record) bool { return r.Key == k }); at >= 0 {
			out[i] = rs[at]
		}
	}
	return out, err
}

// List implements [store.Store].
func (s *txStore) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	return s.read(ctx, "namespace = ? AND node >= ? AND node < ? ORDER BY node LIMIT ?",
		[]any{namespace, nodes.From, nodes.Until, limit})
}

// Heads implements [store.Store]: nobody lists sequences in a transaction.
func (s *txStore) Heads(context.Context) ([]store.Record, error) { return nil, errors.ErrUnsupported }

// read reads records as far as sequences use them: others wait for a transaction that has taken.
func (s *txStore) read(ctx context.Context, where string, args []any) (out []store.Record, err error) {
	query, args := s.dialect.bind("SELECT namespace, node, nonce, revision, generation, run_from, prev_until, data, "+
		s.dialect.reloaded+" FROM snowfence_lease WHERE "+where, args)
	rows, err := s.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var r store.Record
		var reloaded int
		err := rows.Scan(&r.Namespace, &r.Node, &r.Nonce, &r.Revision, &r.Generation, &r.From, &r.PrevUntil, &r.Data,
			&reloaded)
		if err == nil && reloaded != 0 {
			err = errPutBack
		}
		if err != nil {
			return nil, s.failed(err)
		}
		out = append(out, r)
	}
	return out, s.failed(errors.Join(rows.Err(), rows.Close()))
}

// errPutBack refuses what a store gives another identity. A transaction of somebody else's is not
// the place for that, because it may be rolled back.
var errPutBack = fmt.Errorf("%w: something other than Snowfence wrote rows of the database: open the sequence "+
	"outside of the transaction, with a new Store (sequence.Open), which says what to confirm", sequence.ErrRolledBack)

// note keeps what the server says of itself, if it may be used.
func (s *txStore) note(info serverInfo) error {
	floor, known, err := s.file.floor(info.dataID)
	switch {
	case err != nil:
		return err
	case info.refusal != "":
		return errors.New(info.refusal)
	case info.reloaded || !known || s.file != nil && info.position < floor:
		return errPutBack
	}
	if s.file != nil {
		info.id = info.dataID + s.file.number
	}
	s.info = info
	return nil
}

// Add implements [store.Store]. A statement that meets no row says nothing of the reason.
func (s *txStore) Add(ctx context.Context, a store.Addition) (store.Record, error) {
	s.taken = true
	r, info, err := s.dialect.tx.add(ctx, s.tx, s.view(), a)
	switch {
	case err != nil:
		return r, s.failed(err)
	case r.Nonce == "":
		return r, store.ErrLost
	case info.reloaded && !info.idBack:
		if err := s.stamp(ctx, r); err != nil {
			return r, err
		}
		info.reloaded = false
	}
	return r, s.failed(s.note(info))
}

// Swap implements [store.Store] for one write.
func (s *txStore) Swap(ctx context.Context, writes []store.Write) []error {
	errs := make([]error, len(writes))
	err := errOneWrite
	if len(writes) == 1 {
		err = checkLengths(writes)
	}
	var info serverInfo
	if err == nil {
		info, err = s.dialect.tx.swap(ctx, s.tx, s.view(), writes, errs)
	}
	if err == nil {
		err = s.note(info)
	}
	switch {
	case err != nil:
		fill(errs, s.failed(err))
	case errs[0] == nil && s.dialect.tx.stamp != nil:
		errs[0] = s.stamp(ctx, writes[0].New)
	}
	return errs
}

var errOneWrite = errors.New("a transaction of the caller takes one write at a time")

func (s *txStore) view() view {
	return view{file: s.file, dataID: s.info.dataID, position: s.info.position}
}

// stamp is for savepoints: what is written in one looks like rows that were put back.
func (s *txStore) stamp(ctx context.Context, r store.Record) error {
	ok, err := s.dialect.tx.stamp(ctx, s.tx, r)
	if err == nil && !ok {
		err = errors.New("the connection puts a savepoint around each statement, so that what it writes looks " +
			"like rows that were put back: turn that off")
	}
	return s.failed(err)
}

// Identity implements [store.Store]: as the last statement told it.
func (s *txStore) Identity(context.Context, string) (string, error) {
	return s.dialect.name + ":" + s.info.id, nil
}
