package workerid

import (
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
)

var (
	// ErrTaken means that no number became free during the TTL and a
	// second. After that time, the number of a program that died would be
	// free again.
	ErrTaken = errors.New("no worker number is free: stop a program, or use a larger range")

	// ErrShared means that programs of the original take numbers in the
	// range, and that [Options.Shared] is not set.
	ErrShared = errors.New("programs of the original take numbers of this range: use a range that they do not use, " +
		"or set Shared; if none of them runs any more, delete the key " + indexKey)

	// ErrLost means that another program set, renewed or deleted the key of
	// the number, or that Redis did not acknowledge a renewal within the
	// TTL.
	ErrLost = errors.New("the worker number is lost")

	// ErrClosed means that the number was given back. It also matches
	// [snowfence.ErrClosed], because waiting does not help.
	ErrClosed = fmt.Errorf("the worker number was given back: %w", snowfence.ErrClosed)
)

// unheard is an error for a caller that stopped waiting. It matches the end
// of the wait, but does not show it: often the generator ended the wait
// itself.
type unheard struct {
	error
	ended error
}

func (u unheard) Unwrap() []error { return []error{u.error, u.ended} }
