//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// tamper makes system calls of running processes slow or fail, with strace,
// until the function that it returns is called. It needs no change of the
// programs, and works for Go's, which no preloaded library reaches.
func tamper(t testing.TB, pids []int, calls, how string) (end func()) {
	t.Helper()
	log := filepath.Join(tempDir(t), "strace")
	args := []string{"-f", "-o", log, "-e", "trace=" + calls, "-e", "inject=" + calls + ":" + how}
	for _, pid := range pids {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	cmd := exec.Command(servers.Need(t, "strace", "strace")[0], args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	errs, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	var mu sync.Mutex
	var wrote strings.Builder
	attached := 0
	gone := make(chan struct{})
	go func() {
		in := bufio.NewScanner(errs)
		for in.Scan() {
			mu.Lock()
			fmt.Fprintln(&wrote, in.Text())
			if strings.Contains(in.Text(), " attached") {
				attached++
			}
			mu.Unlock()
		}
		_ = cmd.Wait() // how it ended does not matter
		close(gone)
	}()
	changed := func() bool { // a call that is still being delayed stands there, too
		b, err := os.ReadFile(log)
		return err == nil && slices.ContainsFunc(strings.Split(calls, ","),
			func(call string) bool { return bytes.Contains(b, []byte(call+"(")) })
	}
	end = sync.OnceFunc(func() {
		// Strace may have come after the last write: wait for the next one.
		for limit := time.Now().Add(patience); !t.Failed() && !changed() && time.Now().Before(limit); {
			select {
			case <-gone:
				limit = time.Now()
			case <-time.After(20 * time.Millisecond):
			}
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // it lets go of the processes
		<-gone
		if !changed() {
			t.Errorf("strace changed no %s of %d processes", calls, len(pids))
		}
	})
	t.Cleanup(end)
	within(t, patience, "strace is attached", func() bool {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-gone:
			t.Skipf("strace: %s; it needs the right to trace processes: run as root, or sysctl "+
				"kernel.yama.ptrace_scope=0", wrote.String())
		default:
		}
		return attached >= len(pids)
	})
	return end
}

// tree returns a process and its descendants.
func tree(root int) []int {
	pids := []int{root}
	for i := 0; i < len(pids); i++ {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pids[i])) // none if it has ended
		for _, task := range tasks {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pids[i], task.Name()))
			for child := range strings.FieldsSeq(string(b)) {
				if pid, err := strconv.Atoi(child); err == nil {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}

// signalTree sends a signal to a process and its descendants.
func signalTree(root int, s syscall.Signal) {
	for _, pid := range tree(root) {
		_ = syscall.Kill(pid, s) // it may have ended
	}
}
