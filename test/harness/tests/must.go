// Package tests has what all tests use.
package tests

import (
	"errors"
	"testing"
)

// Must ends a test with an error, if there is one.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
