package lease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

var (
	// ErrEnded means that the lease was closed or orphaned, or that it cannot heal: see
	// the error it is wrapped with. It matches [snowfence.ErrClosed], too: waiting is in vain.
	ErrEnded error = marked{errors.New("the lease has ended"), snowfence.ErrClosed}

	// ErrNoNamespace means that the store has no such namespace, or no longer.
	ErrNoNamespace = errors.New("no such namespace")

	// ErrTaken means that no node is free, or not the one that was asked for: a [TakenError], or
	// what a server says of one.
	ErrTaken = errors.New("no node is free")

	// ErrVetoed means that an operator, or Options.Check, does not want the node to be leased.
	ErrVetoed = errors.New("the node is vetoed")

	// ErrSkew means that the clock of this machine and that of the store differ by more
	// than Options.MaxSkew.
	ErrSkew = errors.New("the clock is off")

	// ErrInvalid means that an argument is wrong (a name, an option, an attempt), so that
	// no repetition helps.
	ErrInvalid = errors.New("invalid argument")

	// ErrExists means that there is a namespace of the name already, with other leasable
	// nodes.
	ErrExists = errors.New("it exists already")

	// ErrMismatch means that the namespace is for IDs of another layout or other secrets.
	ErrMismatch = errors.New("it is for another layout or other secrets")

	// ErrRefused means that a change is not allowed: of a layout, because it is not
	// proven safe, or a server does not do what it is asked for.
	ErrRefused = errors.New("the change is refused")
)

// marked is an error that matches a sentinel whose words would add nothing to its own.
type marked struct {
	error
	as error
}

func (m marked) Is(target error) bool { return target == m.as }
func (m marked) Unwrap() error        { return m.error }

func invalidf(format string, args ...any) error {
	return marked{fmt.Errorf(format, args...), ErrInvalid}
}

func refusedf(format string, args ...any) error {
	return marked{fmt.Errorf(format, args...), ErrRefused}
}

// mismatch says that a namespace is for IDs of another scheme than the one given.
func mismatch(namespace, stored, wanted string) error {
	return marked{fmt.Errorf("lease: namespace %q is for the layout %s, not for %s: use its layout, or another "+
		"namespace", namespace, stored, wanted), ErrMismatch}
}

// TakenError means that no node is free of those that were asked for.
type TakenError struct {
	Nodes    snowfence.NodeRange // that were asked for: those that can be leased, narrowed by Options.Within
	Fixed    bool                // Options.Node asked for it, and another label holds it (Options.Guard)
	Block    int                 // how many contiguous nodes were asked for
	Held     int64               // nodes that have a holder
	Refused  int64               // nodes that are vetoed, or that Options.Check refused
	Holders  string              // for people: the labels that hold most, at most five
	NextFree time.Duration       // until the next lease ends if it is not renewed; 0 when not known

	namespace string
	narrowed  bool      // by Options.Within
	until     time.Time // of the fixed node
	cause     error     // what Options.Check said last; may be nil
}

func (e *TakenError) Error() string {
	if e.Fixed {
		return fmt.Sprintf("lease: node %d of namespace %q is held by %q until %s: "+
			"stop that process, take another node, or take this one over (without Guard)",
			e.Nodes.From, e.namespace, e.Holders, e.until.Format(time.RFC3339Nano))
	}
	var b strings.Builder
	among := fmt.Sprintf("%d nodes", e.Nodes.Until-e.Nodes.From)
	more := "make more nodes leasable"
	if e.narrowed {
		among += fmt.Sprintf(" from %d to %d", e.Nodes.From, e.Nodes.Until-1)
		more += ", or widen Options.Within"
	}
	if e.Block > 1 {
		fmt.Fprintf(&b, "lease: no %d contiguous ones of the %s of namespace %q are free: %d are held",
			e.Block, among, e.namespace, e.Held)
	} else {
		fmt.Fprintf(&b, "lease: all %s of namespace %q are taken: %d are held", among, e.namespace, e.Held)
	}
	if e.Holders != "" {
		b.WriteString(" by " + e.Holders)
	}
	if e.Refused > 0 {
		fmt.Fprintf(&b, ", %d are refused", e.Refused)
	}
	if e.NextFree > 0 {
		fmt.Fprintf(&b, "; the next one is free in %v if it is not renewed", e.NextFree.Round(time.Millisecond))
	}
	b.WriteString(": wait (Options.Wait), stop a holder, or " + more)
	if e.cause != nil {
		fmt.Fprintf(&b, " (%v)", e.cause)
	}
	return b.String()
}

// Unwrap returns [ErrTaken], and what Options.Check said last.
func (e *TakenError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrTaken}
	}
	return []error{ErrTaken, e.cause}
}

// maxLabels is how many labels a TakenError names.
const maxLabels = 5

// shown is a text of a record for an error: one with control characters is quoted.
func shown(s string) string {
	if store.Plain(s) {
		return s
	}
	return strconv.Quote(s)
}
