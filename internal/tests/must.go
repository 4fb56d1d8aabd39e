// Package tests has what the tests of many packages use.
package tests

import (
	"errors"
	"testing"
)

// Must returns the result of a call that has to work, or panics.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// NoError ends a test at an error, or at several.
func NoError(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
