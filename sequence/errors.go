package sequence

import "errors"

// Test for these with [errors.Is]. Errors about names, definitions and
// refused changes match lease.ErrInvalid, lease.ErrExists and
// lease.ErrRefused.
var (
	// ErrNoSequence means that the store has no such sequence, or that it
	// was deleted.
	ErrNoSequence = errors.New("no such sequence")

	// ErrEnded means that all numbers up to Max were given out.
	ErrEnded = errors.New("all numbers were given out")

	// ErrRolledBack means that the store may have lost numbers that were
	// given out, so that they could come twice. See [Confirm].
	ErrRolledBack = errors.New("the store may have lost numbers that were given out")

	// ErrNotReady means that the call would have to wait for a number.
	ErrNotReady = errors.New("no number is ready")

	// ErrDated means that a dated sequence was opened as a plain one, or a
	// plain one as a dated one.
	ErrDated = errors.New("dated and plain sequences are opened in different ways")

	// ErrPeriod means that a period gives no numbers: it is no date, it is
	// later than the next period, [Confirm] closed it, or it is new and
	// more than a year away.
	ErrPeriod = errors.New("the period gives no numbers")

	// ErrClosed means that the sequence was closed.
	ErrClosed = errors.New("the sequence is closed")

	// ErrRetry means that another transaction or program took a number
	// first: roll the transaction back, and run all of it again. See
	// [NextTx].
	ErrRetry = errors.New("the transaction met another one: roll it back and run all of it again")
)
