package servers

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// LeaveOut is the environment variable that names the servers, by comma,
// that a run of the tests does without.
const LeaveOut = "SNOWFENCE_LEAVE_OUT"

// Process is a server, or any other program, that runs beside a test. It is
// killed when the test ends. Not safe for concurrent use.
type Process struct {
	Name string
	Log  string // path of what it wrote to stdout and stderr
	path string
	args []string
	env  []string
	cmd  *exec.Cmd
	done chan struct{}
}

// Need returns the paths of programs, which belong to a server of the given
// name. Without one the test ends as skipped: installed servers that do not
// start are failures, those left out by [LeaveOut] are neither.
func Need(t testing.TB, server string, programs ...string) []string {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv(LeaveOut), ","), server) {
		t.Skipf("%s: left out as asked by %s", server, LeaveOut)
	}
	paths := make([]string, len(programs))
	for i, p := range programs {
		path, err := exec.LookPath(p)
		if err != nil {
			t.Skipf("%s: %v; make test installs it, %s=%s leaves it out", server, err, LeaveOut, server)
		}
		paths[i] = path
	}
	return paths
}

// Later leaves a test to make full: it takes long, and a quicker one sees
// the same kind of fault.
func Later(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("left to make full")
	}
}

// Ports returns n ports on loopback that are free, and no other test's
// until this one ends. Systems give outgoing connections higher ones (32768
// on Linux), so a server that stops finds its port free again.
func Ports(t testing.TB, n int) []int {
	t.Helper()
	const first, last = 10000, 32767
	ports := make([]int, 0, n)
	for attempt := 0; len(ports) < n; attempt++ {
		port := first + rand.IntN(last-first+1)
		l, err := net.Listen("tcp", Address(port))
		if err == nil {
			defer l.Close() // all at the end, so that none comes twice
			err = reserve(t, port)
		}
		switch {
		case err == nil:
			ports = append(ports, port)
		case attempt > 1000:
			t.Fatal(err)
		}
	}
	return ports
}

// Start starts a program. The log goes to a temporary folder, and into the
// test's output if the test fails. env is added to the test's own.
func Start(t testing.TB, name, path string, args, env []string) *Process {
	t.Helper()
	p := &Process{Name: name, Log: filepath.Join(t.TempDir(), name+".log"), path: path, args: args, env: env}
	p.Restart(t)
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			b, err := os.ReadFile(p.Log)
			t.Logf("%s wrote (%v):\n%s", p.Name, err, b[max(0, len(b)-4000):])
		}
	})
	return p
}

// Restart starts the program again, as it was started first.
func (p *Process) Restart(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(t, err)
	defer log.Close()
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.SysProcAttr = withParent()
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // how it ended is in the log
		close(done)
	}(p.cmd, p.done)
}

// Pid is the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends a signal; a process that is gone already is no error. A
// stopped process does nothing more when Signal returns.
func (p *Process) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("%s: %v", p.Name, err)
	}
	if s == syscall.SIGSTOP {
		p.Ready(t, p.stoppedError)
	}
}

// stoppedError returns an error while a thread of the process runs.
func (p *Process) stoppedError() error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	if err != nil {
		return err
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The state stands behind the name, which is in parentheses.
		if i := strings.LastIndexByte(string(stat), ')'); !strings.HasPrefix(string(stat[i+1:]), " T") {
			return fmt.Errorf("%s runs: %s", p.Name, stat)
		}
	}
	return nil
}

// Kill ends the process at once, also a stopped one, and waits until it is
// gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	<-p.done
}

// Stop sends a signal and waits for the end of the process. After two
// minutes it kills the process, and the test fails.
func (p *Process) Stop(t testing.TB, s syscall.Signal) {
	t.Helper()
	p.Signal(t, s)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Kill()
		t.Fatalf("%s did not stop in %v", p.Name, patience)
	}
}

// patience is how long servers may take, on a machine that is busy.
const patience = 5 * time.Minute

// Ready waits until ask succeeds, as long as the process runs and two
// minutes at most.
func (p *Process) Ready(t testing.TB, ask func() error) {
	t.Helper()
	must(t, p.waitReady(ask))
}

func (p *Process) waitReady(ask func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			b, _ := os.ReadFile(p.Log)
			return fmt.Errorf("%s ended: %s", p.Name, b[max(0, len(b)-2000):])
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after %v: %w", p.Name, patience, err)
		}
	}
}

// Address is a loopback address.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Environ adds to the environment of the next Restart.
func (p *Process) Environ(vars ...string) { p.env = append(p.env, vars...) }

// CPU returns the seconds of processor time that the process has used, by
// Linux's /proc.
func (p *Process) CPU(t testing.TB) (seconds float64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	must(t, err)
	for _, ticks := range strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))[11:13] { // utime and stime
		n, err := strconv.ParseFloat(ticks, 64)
		must(t, err)
		seconds += n / 100
	}
	return seconds
}
