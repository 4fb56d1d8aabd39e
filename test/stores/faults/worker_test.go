//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// worker is a process that makes IDs, and all it said.
type worker struct {
	name string
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended and all it wrote was read

	mu     sync.Mutex
	ids    []snowfence.ID
	at     []int64 // when each was made, in microseconds; of a program that does not say so, when it was read
	grants []acknowledged
	taken  []fleet.Call // of a program that takes numbers
	errors []said       // what callers of Next got
	log    []said       // stderr
}

// acknowledged is a grant that a worker said the store had acknowledged.
type acknowledged struct{ node, until int64 }

// said is a line and the time it was written, or read.
type said struct {
	at   int64
	text string
}

// launch starts a program that makes IDs.
func launch(t testing.TB, name string, env []string, path string, args ...string) *worker {
	t.Helper()
	w := &worker{name: name, cmd: exec.Command(path, args...), gone: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), env...)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := w.cmd.StdoutPipe()
	must(t, err)
	errs, err := w.cmd.StderrPipe()
	must(t, err)
	must(t, w.cmd.Start())
	var reading sync.WaitGroup
	reading.Go(func() { w.read(out, w.line) })
	reading.Go(func() {
		w.read(errs, func(line string, now int64) error {
			w.log = append(w.log, said{now, line})
			return nil
		})
	})
	go func() {
		reading.Wait()
		_ = w.cmd.Wait() // how it ended is looked at by those who want to know
		close(w.gone)
	}()
	t.Cleanup(func() {
		w.kill()
		if t.Failed() {
			w.mu.Lock()
			defer w.mu.Unlock()
			t.Logf("%s: %d IDs, last words:\n%s", w.name, len(w.ids), last(w.log, 12))
		}
	})
	return w
}

func last(log []said, n int) string {
	var b strings.Builder
	for _, s := range log[max(0, len(log)-n):] {
		fmt.Fprintln(&b, s.text)
	}
	return b.String()
}

// read passes on complete lines: the last one of a process that was killed
// may be half of an ID.
func (w *worker) read(r io.Reader, line func(string, int64) error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		w.mu.Lock()
		if err := line(strings.TrimSuffix(text, "\n"), time.Now().UnixMicro()); err != nil {
			w.log = append(w.log, said{time.Now().UnixMicro(), "cannot be read: " + err.Error()})
			w.grants = append(w.grants, acknowledged{-1, -1}) // makes the audit fail
		}
		w.mu.Unlock()
	}
}

// line takes in a line of stdout: of the holder, or an ID alone. mu is
// held.
func (w *worker) line(text string, now int64) error {
	kind, rest, marked := strings.Cut(text, " ")
	if !marked {
		id, err := strconv.ParseInt(text, 10, 64)
		w.ids, w.at = append(w.ids, snowfence.ID(id)), append(w.at, now)
		return err
	}
	stamp, rest, _ := strings.Cut(rest, " ")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return err
	}
	switch kind {
	case "i":
		id, err := strconv.ParseInt(rest, 10, 64)
		w.ids, w.at = append(w.ids, snowfence.ID(id)), append(w.at, at)
		return err
	case "g":
		var g acknowledged
		_, err := fmt.Sscan(rest, &g.node, &g.until)
		w.grants = append(w.grants, g)
		return err
	case "n":
		c := fleet.Call{Ended: at}
		_, err := fmt.Sscan(rest, &c.Began, &c.Number)
		w.taken = append(w.taken, c)
		return err
	case "e":
		cause, err := strconv.Unquote(rest)
		w.errors = append(w.errors, said{at, cause})
		return err
	}
	return fmt.Errorf("line %q", text)
}

// kill ends the process at once, also a stopped one, and waits until all it
// wrote was read.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // it may be gone
	<-w.gone
}

func (w *worker) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s: %v: %s", w.name, err, last(w.log, 5))
	}
}

// end lets processes end by themselves.
func end(t testing.TB, ws ...*worker) {
	t.Helper()
	for _, w := range ws {
		w.signal(t, syscall.SIGTERM)
	}
	for _, w := range ws {
		within(t, patience, w.name+" ends", func() bool { return !w.alive() })
	}
}

// alive reports whether the process still runs.
func (w *worker) alive() bool {
	select {
	case <-w.gone:
		return false
	default:
		return true
	}
}

// mark is a place in what a worker said.
type mark struct{ ids, grants, errors, log int }

func (w *worker) mark() mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mark{len(w.ids), len(w.grants), len(w.errors), len(w.log)}
}

// since returns how much a worker has said since a mark.
func (w *worker) since(m mark) mark {
	n := w.mark()
	return mark{n.ids - m.ids, n.grants - m.grants, n.errors - m.errors, n.log - m.log}
}

// silence returns the longest time without an ID since a mark, beginning
// with the last ID before it.
func (w *worker) silence(m mark) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest int64
	for i := max(m.ids, 1); i < len(w.at); i++ {
		longest = max(longest, w.at[i]-w.at[i-1])
	}
	return time.Duration(longest) * time.Microsecond
}

// found returns the first thing a worker logged, or its callers got, after
// a mark that matches.
func (w *worker) found(m mark, words *regexp.Regexp) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range [][]said{w.log[m.log:], w.errors[m.errors:]} {
		for _, s := range list {
			if words.MatchString(s.text) {
				return s.text, true
			}
		}
	}
	return "", false
}

// working waits until each of the programs has made an ID.
func working(t testing.TB, ws []*worker) {
	t.Helper()
	for _, w := range ws {
		within(t, patience, w.name+" makes IDs", func() bool {
			if !w.alive() {
				t.Fatalf("%s ended: %s", w.name, last(w.log, 5))
			}
			return w.since(mark{}).ids > 0
		})
	}
}

// within waits until a condition holds. The deadline is for a machine that
// is busy with much else; what is waited for takes seconds.
func within(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", limit, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
