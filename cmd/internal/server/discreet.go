package server

import (
	"slices"
	"strings"
)

// storeError is an error of a store, with a text for logs. What it wraps is there for
// errors.Is alone.
type storeError struct {
	err    error
	text   string
	failed bool // the store did, and its words are not for callers
}

func (e *storeError) Error() string { return e.text }
func (e *storeError) Unwrap() error { return e.err }

// PublicText returns the text of an error for a caller.
func PublicText(err error) string {
	text := err.Error()
	for _, own := range storeErrors(err, nil) {
		if own.failed {
			text = strings.ReplaceAll(text, own.text, "the store failed, and the server's log says how")
		}
	}
	return text
}

// storeErrors appends those that an error is made of, each once.
func storeErrors(err error, list []*storeError) []*storeError {
	if own, ok := err.(*storeError); ok {
		if !slices.Contains(list, own) {
			list = append(list, own)
		}
		return list
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if inner := u.Unwrap(); inner != nil {
			list = storeErrors(inner, list)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range u.Unwrap() {
			list = storeErrors(inner, list)
		}
	}
	return list
}
