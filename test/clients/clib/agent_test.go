package clib

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// Programs over the agent of their host go on when it is killed, and have the
// next one renew. None of their IDs is one of a program over the agent's store.
func TestAgentKilled(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	path, dir := check(t), t.TempDir()
	served, socket := filepath.Join(dir, "server"), filepath.Join(dir, "s")
	url, _ := newStore(t)
	program := servers.Program(t, servers.Snowfence)
	must(t, exec.CommandContext(t.Context(), program, "new", "--store", url)) // makes the namespace
	const options = "wait=1m"
	listens := func(socket string) func() error {
		return func() error {
			c, err := net.Dial("unix", socket)
			if err != nil {
				return err
			}
			return c.Close()
		}
	}
	servers.Start(t, "server", program, []string{
		"serve", "--store", url, "--http", "unix:" + served, "--resp", "",
	}, nil).Ready(t, listens(served))
	agent := servers.Start(t, "agent", program, []string{
		"agent", "--store", "unix:" + served, "--http", "unix:" + socket,
	}, nil)
	agent.Ready(t, listens(socket))
	a := start(t, path, "rings", "unix:"+socket, options, "16")
	b := start(t, path, "rings", "unix:"+socket, options, "16")
	direct := start(t, path, "rings", url, "", "16")
	a.made(t, 10_000)
	b.made(t, 10_000)
	agent.Kill()
	a.made(t, a.count()+10_000)
	b.kill(t) // its node is taken to the end of its sublease
	agent.Restart(t)
	agent.Ready(t, listens(socket))
	c := start(t, path, "rings", "unix:"+socket, options, "16")
	c.made(t, 10_000)
	const sublease = 20_000 // ticks, at most
	killed := partsOf(t, idsIn(b.bytes())[b.count()-1]).Tick
	fleet.Eventually(t, "an ID after the end of what the killed agent gave", func() error {
		ids := idsIn(a.bytes())
		if last := partsOf(t, ids[len(ids)-1]).Tick; last < killed+sublease {
			return fmt.Errorf("the last is %d ticks after it was killed", last-killed)
		}
		return nil
	})
	unique(t, 40_000, a.end(t), idsIn(b.bytes()), c.end(t), direct.end(t))
}
