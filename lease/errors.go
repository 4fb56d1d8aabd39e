package lease

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

var (
	// ErrEnded means that the lease was closed or orphaned, or that it
	// cannot heal: see the error it is wrapped with. It also matches
	// [snowfence.ErrClosed], because waiting does not help.
	ErrEnded error = marked{errors.New("the lease has ended"), snowfence.ErrClosed}

	// ErrNoNamespace means that the store has no such namespace, or that it
	// was deleted.
	ErrNoNamespace = errors.New("no such namespace")

	// ErrTaken means that no node is free, or that another holder has the
	// guarded Options.Node. The error is a [TakenError], or a server's text
	// of it.
	ErrTaken = errors.New("no node is free")

	// ErrVetoed means that an operator, or Options.Check, refused to lease
	// the node.
	ErrVetoed = errors.New("the node is vetoed")

	// ErrSkew means that the clocks of this machine and of the store differ
	// by more than Options.MaxSkew.
	ErrSkew = errors.New("the clock is off")

	// ErrInvalid means that an argument is wrong (a name, an option, an
	// attempt), so repeating the call does not help.
	ErrInvalid = errors.New("invalid argument")

	// ErrExists means that there is a namespace of that name with other
	// leasable nodes.
	ErrExists = errors.New("it exists already")

	// ErrMismatch means that the namespace is for IDs of another layout or
	// other secrets.
	ErrMismatch = errors.New("it is for another layout or other secrets")

	// ErrElsewhere means that another server handed the node out, from its
	// memory: the holder uses its grant to the end, and takes another node.
	ErrElsewhere = errors.New("another server has handed it out")

	// ErrRefused means that a change is not allowed, such as a change of
	// layout that is not proven safe, or that a server does not have the
	// service.
	ErrRefused = errors.New("the change is refused")
)

// marked is an error that matches a sentinel without its words.
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

// mismatch says that a namespace is for IDs of another scheme than the one
// given.
func mismatch(namespace, stored, wanted string) error {
	return marked{fmt.Errorf("lease: namespace %q is for the layout %s, not for %s: use its layout, or another "+
		"namespace", namespace, stored, wanted), ErrMismatch}
}

// shown is a text of a record for an error: one with control characters is
// quoted.
func shown(s string) string {
	if store.Plain(s) {
		return s
	}
	return strconv.Quote(s)
}
