// Package tests has what all tests use.
package tests

import (
	"errors"
	"os/exec"
	"testing"
)

// Must ends a test with an error, if there is one.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Run runs a command, which must not fail, and returns what it prints.
func Run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}
