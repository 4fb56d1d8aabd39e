// Package clib has the work of the C library, without C: handles, options,
// status codes and the beat by which rings of C threads learn that their
// IDs are old.
package clib

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
)

// Status is the result of a call of the C library. snowfence.h has the same
// numbers.
type Status int

// The statuses that the Go part returns. The shim has more of its own:
// forked and not loaded.
const (
	OK         Status = 0
	Fenced     Status = 1
	Exhausted  Status = 2
	Lifetime   Status = 3
	Invalid    Status = 4
	Closed     Status = 5
	Store      Status = 7
	Taken      Status = 8
	TooSmall   Status = 10
	TooMany    Status = 11
	Ended      Status = 12
	RolledBack Status = 13
	Internal   Status = 14
)

// coded is an error with the status that stands for it.
type coded struct {
	status Status
	error
}

func (c coded) Unwrap() error { return c.error }

// StatusOf returns the status that stands for an error.
func StatusOf(err error) Status {
	var c coded
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return OK
	case errors.As(err, &c):
		return c.status
	case is(snowfence.ErrClosed, sequence.ErrClosed):
		return Closed
	case is(snowfence.ErrBound, lease.ErrTaken):
		return Taken
	case is(snowfence.ErrLifetime):
		return Lifetime
	case is(snowfence.ErrExhausted):
		return Exhausted
	case is(snowfence.ErrFenced):
		return Fenced
	case is(sequence.ErrEnded):
		return Ended
	case is(sequence.ErrRolledBack):
		return RolledBack
	case is(snowfence.ErrInvalidID, snowfence.ErrInvalidLayout, snowfence.ErrKey, lease.ErrInvalid, open.ErrURL,
		lease.ErrNoNamespace, sequence.ErrNoSequence, sequence.ErrDated), errors.Is(err, lease.ErrMismatch):
		return Invalid
	}
	return Store
}

// TextOf returns the text of an error in the words of C: it names options
// of C, not of Go.
func TextOf(err error) string {
	text := err.Error()
	for _, prefix := range [...]string{"snowfence: ", "lease: ", "nodes: ", "remote: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return optionsOfC.Replace(text)
}

var optionsOfC = strings.NewReplacer(
	"Options.Wait", "option wait=30s", "Options.Within", "option within", "(without Guard)", "(without option guard)",
	"give its secrets in the options (Secrets)", "add secret-file=FILE to the options", "Config.Lead", "option lead",
	"Options.Nodes", "option block", "Options.Node", "option node", "Options.TTL", "option ttl",
	"Options.Label", "option label",
	"Options.TokenFile", tokenEnv, "Options.Token", "a file that "+tokenEnv+" names",
	"use a range that they do not use, or set Shared;", "use a range that they do not use;", "workerid: ", "",
	"idgen: ", "",
)

// InvalidError returns the error of a wrong argument.
func InvalidError(format string, args ...any) error {
	return coded{Invalid, fmt.Errorf(format, args...)}
}
