package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/internal/tests"
)

// start starts the program on a store, with its standard output to be read.
func start(t *testing.T, store string, args ...string) (*exec.Cmd, io.ReadCloser, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command("snowfence", append(args, "--store", "sqlite:"+store)...)
	stdout := must(cmd.StdoutPipe())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	noError(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
		}
	})
	return cmd, stdout, &stderr
}

// readIDs reads whole lines until the end or until more are there than
// asked for. A process that is killed may leave half a line.
func readIDs(r *bufio.Reader, most int) ([]int64, error) {
	var ids []int64
	for len(ids) < most {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return ids, nil
		}
		if err != nil {
			return ids, err
		}
		id, err := strconv.ParseInt(strings.TrimSuffix(line, "\n"), 10, 64)
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// worker makes at least want IDs with as many runs of the program as it
// takes. With kill, the first run gets SIGKILL half-way.
func worker(t *testing.T, store string, want int, kill bool, args ...string) ([]int64, error) {
	var all []int64
	for len(all) < want {
		cmd, stdout, stderr := start(t, store, append([]string{"new", "-n", strconv.Itoa(want - len(all))}, args...)...)
		r := bufio.NewReader(stdout)
		if kill {
			ids, err := readIDs(r, want/2)
			if err != nil {
				return nil, err
			}
			all = append(all, ids...)
			if err := cmd.Process.Kill(); err != nil {
				return nil, err
			}
		}
		ids, err := readIDs(r, want)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
		if err := cmd.Wait(); err != nil && !kill {
			return nil, fmt.Errorf("%w: %s", err, stderr.String())
		}
		kill = false
	}
	return all, nil
}

// The main promise: processes that share a store make no ID twice, whatever
// happens to them.
func TestProcessesMakeNoDuplicate(t *testing.T) {
	const processes, each = 8, 200_000
	store := t.TempDir() + "/ids.db"
	var results [processes][]int64
	var errs [processes]error
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() { results[i], errs[i] = worker(t, store, each, i%2 == 0) })
	}
	wg.Wait()
	noError(t, errors.Join(errs[:]...))
	expectUnique(t, processes*each, results[:]...)
}

func expectUnique(t *testing.T, least int, results ...[]int64) {
	t.Helper()
	all := slices.Concat(results...)
	if len(all) < least {
		t.Errorf("%d IDs, want at least %d", len(all), least)
	}
	tests.Unique(t, all)
}

// "snowfence new | head" is no error, says nothing, and gives the node
// back.
func TestClosedPipe(t *testing.T) {
	store := t.TempDir() + "/ids.db"
	cmd, stdout, stderr := start(t, store, "new", "-n", "5000000")
	must(bufio.NewReader(stdout).ReadString('\n'))
	noError(t, stdout.Close())
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("after its reader left: %v, %q", err, stderr.String())
	}
	expectNoneHeld(t, store)
}

// Ctrl-C ends a run cleanly: with whole lines, the node given back, and the
// exit code that shells expect.
func TestInterrupt(t *testing.T) {
	store := t.TempDir() + "/ids.db"
	cmd, stdout, stderr := start(t, store, "new", "-n", "1000000000000")
	r := bufio.NewReader(stdout)
	must(readIDs(r, 1000))
	noError(t, cmd.Process.Signal(os.Interrupt))
	rest := must(io.ReadAll(r))
	if len(rest) > 0 && rest[len(rest)-1] != '\n' {
		t.Error("the last line is cut off")
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != command.ExitInterrupted {
		t.Errorf("ended with %v", err)
	}
	if !strings.Contains(stderr.String(), "snowfence: interrupted\n") || strings.Count(stderr.String(),
		"so this takes") != 1 {
		t.Errorf("messages: %q", stderr.String())
	}
	expectNoneHeld(t, store)
}

func expectNoneHeld(t *testing.T, store string) {
	t.Helper()
	out, err := exec.Command("snowfence", "lease", "list", "--store", "sqlite:"+store).Output()
	if err != nil || len(out) > 0 {
		t.Errorf("leases after the end: %v, %s", err, out)
	}
}

// A stream decoded from a pipe answers each line as it comes.
func TestDecodeAnswersAtOnce(t *testing.T) {
	cmd := exec.Command("snowfence", "decode", "--json")
	stdin := must(cmd.StdinPipe())
	stdout := must(cmd.StdoutPipe())
	noError(t, cmd.Start())
	stop := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	r := bufio.NewReader(stdout)
	for _, id := range []string{"1", "2"} {
		must(io.WriteString(stdin, id+"\n"))
		line, err := r.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, `{"id":"`+id+`",`) {
			t.Fatalf("after %s: %q, %v", id, line, err)
		}
	}
	noError(t, stdin.Close())
	noError(t, cmd.Wait())
}

// Ctrl-C did not end "decode" while it waited for a line.
func TestDecodeEndsAtCtrlC(t *testing.T) {
	cmd := exec.Command("snowfence", "decode")
	stdin := must(cmd.StdinPipe())
	stdout := must(cmd.StdoutPipe())
	noError(t, cmd.Start())
	stuck := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	must(io.WriteString(stdin, "2104672976770170879\n"))
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	noError(t, cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("the program ended with %v", err)
	}
}
