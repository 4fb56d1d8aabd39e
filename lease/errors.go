package lease

import (
	"errors"
	"fmt"
	"strconv"

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

	// ErrSkew means that the clocks of this machine and of the store differ by more
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

// shown is a text of a record for an error: one with control characters is quoted.
func shown(s string) string {
	if store.Plain(s) {
		return s
	}
	return strconv.Quote(s)
}
