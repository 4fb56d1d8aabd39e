// Package tests has what the tests of many packages use.
package tests

import (
	"errors"
	"strings"
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

// ErrOf returns the error of a call with another result.
func ErrOf[T any](_ T, err error) error { return err }

// WantErr reports an error of another kind, and with nil any error.
func WantErr(t testing.TB, err, kind error, format string, args ...any) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf(format+": %v, want %v", append(args, err, kind)...)
	}
}

// Fails reports a call without an error.
func Fails(t testing.TB, err error, format string, args ...any) {
	t.Helper()
	if err == nil {
		t.Errorf(format+": no error", args...)
	}
}

// Says reports an error without a text, and a call without an error.
func Says(t testing.TB, err error, text, format string, args ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf(format+": %v, want %q", append(args, err, text)...)
	}
}

// Refuses reports an error that is not of a kind, or without a text.
func Refuses(t testing.TB, err, kind error, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %v with %q", err, kind, text)
	}
}
