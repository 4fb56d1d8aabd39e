package main

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// Ctrl-C ends a long run with 130. What it took is printed, so the next run
// goes on there.
func TestSequenceNextIsInterrupted(t *testing.T) {
	store := filepath.Join(t.TempDir(), "ids.db")
	output(t, "sequence", "create", "orders", "--store", "sqlite:"+store)
	cmd, stdout, stderr := start(t, store, "sequence", "next", "orders", "-n", "1000000000000")
	r := bufio.NewReader(stdout)
	first, err := readIDs(r, 10)
	if err != nil || len(first) != 10 || first[0] != 1 || first[9] != 10 {
		t.Fatal(first, err)
	}
	noError(t, cmd.Process.Signal(os.Interrupt))
	rest := must(readIDs(r, math.MaxInt))
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != command.ExitInterrupted || stderr.String() != "snowfence: interrupted\n" {
		t.Errorf("%v: %s", cmd.ProcessState, stderr)
	}
	last := rest[len(rest)-1]
	if last != int64(10+len(rest)) {
		t.Errorf("%d numbers end with %d", 10+len(rest), last)
	}
	got := output(t, "sequence", "next", "orders", "--store", "sqlite:"+store)
	if got != strconv.FormatInt(last+1, 10)+"\n" {
		t.Errorf("%s follows %d", got, last)
	}
}
