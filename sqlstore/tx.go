package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
)

// SequenceTx takes a number of a strict sequence, plain or dated, as part
// of your transaction. The number is used if tx commits, and comes again if
// tx is rolled back. If all programs take numbers in this way, the numbers
// have no gaps and rise in the order of the commits.
// [sequence.Sequence.Next] may take from the same sequence, but leaves a
// gap when it loses an answer.
//
// Other transactions that take a number wait until tx ends, so take the
// number last. Create the sequence first, through a [Store], which checks
// whether the database was rolled back. docs/choose/invoices.md says which
// rollbacks SequenceTx notices by itself.
//
// In a dated sequence, the first transaction of a period makes the record
// of that period. The number is of the present period in the sequence's
// zone, even if the transaction commits in the next one. [SequenceTxIn]
// names another period.
//
// After any error roll tx back. If the error is a [sequence.ErrRetry], run
// all of the transaction again. In PostgreSQL, MySQL and MariaDB use READ
// COMMITTED, because a REPEATABLE READ transaction cannot read the row that
// another one has just written. In SQLite use BEGIN IMMEDIATE.
func SequenceTx(ctx context.Context, tx *sql.Tx, d Dialect, name string) (sequence.Serial, error) {
	return SequenceTxIn(ctx, tx, d, name, 0)
}

// SequenceTxIn is [SequenceTx] for a period of a dated sequence: an earlier
// one, as for an invoice of last year that is written in January, or the
// next one. It is the number in [sequence.Serial].Period, as in 2025 or
// 202512, or 0 for the present one. An earlier period without numbers may
// be at most a year away.
func SequenceTxIn(ctx context.Context, tx *sql.Tx, d Dialect, name string, period int64) (sequence.Serial, error) {
	st, err := beginTx(ctx, tx, d)
	if err != nil {
		return sequence.Serial{}, fmt.Errorf("sequence %q: %w", name, err)
	}
	if st.file != nil {
		defer st.file.closeWitness()
	}
	return sequence.NextTx(ctx, st, name, period)
}

// beginTx returns a store inside one transaction. It remembers nothing of
// earlier ones: each reads the record of a sequence, without a lock, before
// it writes. So a missing sequence locks nothing, and an old definition is
// never used.
func beginTx(ctx context.Context, tx *sql.Tx, d Dialect) (s *Store, err error) {
	if tx == nil {
		return nil, fmt.Errorf("sqlstore: the *sql.Tx is nil (%w)", lease.ErrInvalid)
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	s = &Store{tx: tx, dialect: d}
	if d.openTx == nil {
		return s, nil
	}
	var info serverInfo
	if s.file, info, err = d.openTx(ctx, tx); err != nil {
		return nil, s.explainError(err)
	}
	_, err = s.inTx(ctx, toRead, func(context.Context, querier, view) (serverInfo, error) { return info, nil })
	if err != nil {
		s.file.closeWitness()
	}
	return s, s.explainError(err)
}

// errPutBack refuses a sequence with another identity of the store.
var errPutBack = fmt.Errorf("%w: something other than Snowfence wrote rows of the database: open the sequence "+
	"outside of the transaction, with a new Store (sequence.Open), which says what to confirm", sequence.ErrRolledBack)
