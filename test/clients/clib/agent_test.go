package clib

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// Programs over the agent of their host go on when it is killed, and lease from the next one. None
// of their IDs is one of a program over the agent's store.
func TestAgentKilled(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	path, dir := check(t), t.TempDir()
	url, _ := newStore(t)
	program, socket := filepath.Join(dir, "snowfence"), filepath.Join(dir, "s")
	must(t, exec.CommandContext(t.Context(), "go", "build", "-tags=grpcnotrace", "-o", program, servers.Snowfence))
	must(t, exec.CommandContext(t.Context(), program, "new", "--store", url)) // makes the namespace
	agent := func() *exec.Cmd {
		os.Remove(socket)
		cmd := exec.CommandContext(t.Context(), program, "agent", "--store", url, "--socket", socket)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fleet.Eventually(t, "a socket", func() error { _, err := os.Stat(socket); return err })
		return cmd
	}
	first := agent()
	a := start(t, path, "rings", "unix:"+socket, "wait=1m", "16")
	b := start(t, path, "rings", "unix:"+socket, "wait=1m", "16")
	direct := start(t, path, "rings", url, "", "16")
	a.made(t, 10_000)
	b.made(t, 10_000)
	if err := first.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	a.made(t, a.count()+10_000)
	b.kill(t) // its node is taken to the end of its sublease
	second := agent()
	c := start(t, path, "rings", "unix:"+socket, "wait=1m", "16")
	c.made(t, 10_000)
	fleet.Eventually(t, "a node of the second agent", func() error {
		if ids := idsIn(a.bytes()); nodeOf(t, ids[0]) == nodeOf(t, ids[len(ids)-1]) {
			return fmt.Errorf("%d IDs, all of one node", len(ids))
		}
		return nil
	})
	unique(t, 40_000, a.end(t), idsIn(b.bytes()), c.end(t), direct.end(t))
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Error(err)
	}
}
