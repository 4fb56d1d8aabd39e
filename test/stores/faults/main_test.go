//go:build linux

package faults

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/amazon"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

var (
	long  = flag.Bool("long", false, "every fault on every store, and long ones")
	table = flag.String("table", "", "write what was seen to this file, as a table in Markdown")
)

// inside is the environment variable by which the test binary knows that it
// runs in a mount namespace of its own.
const inside = "SNOWFENCE_FAULTS_INSIDE"

// TestMain runs the tests in a mount namespace of their own, where they may
// mount small file systems to fill up, also for a user who is not root; and
// nothing is left mounted when they end, however they end. Most tests wait
// for most of their time, hence many at once: as many as the processors
// carry, for the stand-ins of S3 and DynamoDB are in this process.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(inside) == "" {
		if code, err := again(); err == nil {
			os.Exit(code)
		} // without one the tests that mount say what is missing
	}
	many := 16
	if *long {
		many = min(many, 4*runtime.NumCPU())
	}
	if err := flag.Set("test.parallel", strconv.Itoa(many)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := amazon.Account(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := servers.Main(m)
	if err := seen.write(*table); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// again runs this program in new namespaces and returns how it ended.
func again() (int, error) {
	runtime.LockOSThread() // the child dies with the thread that started it
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Unshareflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		// The same user, with the one capability that mounting needs, in
		// here only. Servers that refuse root are content.
		const sysAdmin = 21
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			AmbientCaps: []uintptr{sysAdmin},
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		}
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // a timeout of go test wants the stacks of the child
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// program is [servers.Program], for which the compiler needs room.
func program(t testing.TB, pkg string) string {
	t.Helper()
	temporary.Lock()
	defer temporary.Unlock()
	return servers.Program(t, pkg)
}

// The programs that make IDs: one over the library, and the one that users
// run.
func holderPath(t testing.TB) string {
	return program(t, "github.com/snowfence/snowfence/test/stores/faults/holder")
}

func snowfencePath(t testing.TB) string {
	return program(t, servers.Snowfence)
}
