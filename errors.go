package snowfence

import (
	"errors"
	"fmt"
	"time"
)

// The sentinels to act on, with [errors.Is]. Other errors are text: what
// happened, to which thing, and what to do.
var (
	// ErrFenced means that no grant is held: the lease was lost, the store
	// is unreachable, or another process has the node. The generator goes
	// on with the next grant.
	ErrFenced = errors.New("no grant is held")

	// ErrExhausted means that the next ID has to wait for the clock: the
	// sequence of this tick and the lead are used up, or the clock is
	// behind the grant.
	ErrExhausted = errors.New("no ID can be made without waiting")

	// ErrLifetime means that a time is outside the time bits of the layout.
	ErrLifetime = errors.New("outside the lifetime of the layout")

	// ErrInvalidID means that a text or number is not an ID in the given
	// encoding or layout.
	ErrInvalidID = errors.New("invalid ID")

	// ErrInvalidLayout means that a layout or its spec contradicts itself;
	// the text names the field.
	ErrInvalidLayout = errors.New("invalid layout")

	// ErrClosed means that the generator was used after Close.
	ErrClosed = errors.New("generator is closed")
)

// WaitError says why a generator gave up, how long it waited, and how much
// longer it would have to. With [errors.Is] it matches [ErrFenced] or
// [ErrExhausted], and its Cause.
type WaitError struct {
	Reason  error         // ErrFenced or ErrExhausted
	Node    int64         // the node of the grant that was in use; −1 when there was none
	Waited  time.Duration // how long this call waited; 0 for TryNext
	Missing time.Duration // how much longer the clock needs; 0 if the wait is for something else
	Behind  bool          // the clock is behind the grant: it stepped back, or the last holder's grant is not over
	Cause   error         // what the fence said last, or the context's error; may be nil
}

func (e *WaitError) Error() string {
	s := "snowfence: "
	switch {
	case e.Behind:
		s += fmt.Sprintf("node %d: the clock is behind the first tick this generator may use; it gets there in %v",
			e.Node, e.Missing.Round(time.Microsecond))
		if e.Missing > time.Minute { // longer than a killed process or a lease keeps its successor waiting
			s += " (set the clock; if it is right and was ahead before, use another node)"
		}
	case e.Reason == ErrExhausted && e.Missing > 0:
		s += fmt.Sprintf("node %d: sequence and lead are used up; the next tick comes in %v",
			e.Node, e.Missing.Round(time.Microsecond))
	case e.Reason == ErrExhausted:
		s += fmt.Sprintf("node %d: sequence and lead are used up", e.Node)
	default:
		s += e.Reason.Error()
		if e.Node >= 0 {
			s += fmt.Sprintf(" (last node: %d)", e.Node)
		}
	}
	if e.Waited > 0 {
		s += fmt.Sprintf("; waited %v", e.Waited.Round(time.Microsecond))
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap lets [errors.Is] and [errors.As] see the sentinel and the cause.
func (e *WaitError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Cause}
}

func lifetimeError(s *Scheme) error {
	return fmt.Errorf("%w: the time bits ran out at %s: change the layout",
		ErrLifetime, s.layout.EndOfLife().Format(time.RFC3339))
}
