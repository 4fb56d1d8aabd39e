// Package fault has the errors that packages of leases share. Packages
// lease and backfill export most, and say what they mean.
package fault

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

var (
	ErrNoNamespace = errors.New("no such namespace")
	ErrTaken       = errors.New("no node is free")
	ErrVetoed      = errors.New("the node is vetoed")
	ErrSkew        = errors.New("the clock is off")
	ErrInvalid     = errors.New("invalid argument")
	ErrExists      = errors.New("it exists already")
	ErrMismatch    = errors.New("it is for another layout or other secrets")
	ErrElsewhere   = errors.New("another server has handed it out")
	ErrRefused     = errors.New("the change is refused")
	ErrRolledBack  = errors.New("the store may have lost counts")

	// ErrDeleted tells a deleted namespace from a name that never was one.
	ErrDeleted = errors.New("it was deleted")
)

// marked is an error that matches a sentinel without its words.
type marked struct {
	error
	as error
}

func (m marked) Is(target error) bool { return target == m.as }
func (m marked) Unwrap() error        { return m.error }

// Mark returns err, which then matches the sentinel as, too.
func Mark(err, as error) error { return marked{err, as} }

// Invalidf is fmt.Errorf for an [ErrInvalid].
func Invalidf(format string, args ...any) error { return Mark(fmt.Errorf(format, args...), ErrInvalid) }

// Refusedf is fmt.Errorf for an [ErrRefused].
func Refusedf(format string, args ...any) error { return Mark(fmt.Errorf(format, args...), ErrRefused) }

// Mismatch says that a namespace is for IDs of another scheme than the one
// given.
func Mismatch(namespace, stored, wanted string) error {
	return marked{fmt.Errorf("lease: namespace %q is for the layout %s, not for %s: use its layout, or another "+
		"namespace", namespace, stored, wanted), ErrMismatch}
}

// Shown is a text of a record for an error: one with control characters is
// quoted.
func Shown(s string) string {
	if store.Plain(s) {
		return s
	}
	return strconv.Quote(s)
}

// Check refuses arguments that no call can work with.
func Check(st store.Store, name string, s *snowfence.Scheme) error {
	switch {
	case st == nil:
		return errors.New("lease: the Store is nil")
	case s == nil:
		return errors.New("lease: the Scheme is nil")
	}
	return CheckName(name)
}

// CheckName is an [ErrInvalid] unless a namespace can have the name.
func CheckName(name string) error {
	if err := store.CheckName(name); err != nil {
		return Mark(fmt.Errorf("lease: %w", err), ErrInvalid)
	}
	return nil
}
