package tests

import (
	"os/exec"
	"testing"
)

// Run runs a command, which must not fail, and returns what it prints.
func Run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}
