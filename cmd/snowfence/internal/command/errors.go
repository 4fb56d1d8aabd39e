package command

import (
	"errors"
	"fmt"
	"strings"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2   // bad flags, arguments or input
	ExitFindings    = 3   // the answer is no: a refused change, a need that cannot be met
	ExitInterrupted = 130 // Ctrl-C or SIGTERM, as shells have it; what was made is written and leases are given back
)

// ErrFindings ends the program with exit code 3. The findings have been
// printed.
var ErrFindings = errors.New("findings")

// ErrBadInput ends the program with exit code 2 after a stream with bad
// lines, which were reported one by one.
var ErrBadInput = errors.New("bad input")

// usageError is a mistake in flags, arguments or input.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error as a mistake in flags, arguments or input.
func Usage(err error) error { return usageError{err} }

// Usagef returns a mistake in flags, arguments or input, with a text as
// [fmt.Errorf] makes it.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// runError marks an error of a command itself; any other comes from the
// parsing of its command line.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// WithoutPackage is the text of an error without the name of the package it
// comes from.
func WithoutPackage(err error) string {
	text := err.Error()
	for _, name := range []string{
		"snowfence: ", "nodes: ", "lease: ", "sequence: ", "sqlstore: ", "redisstore: ", "etcdstore: ", "kubestore: ",
		"dynamostore: ", "s3store: ",
	} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}
