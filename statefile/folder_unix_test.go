//go:build unix

package statefile

import (
	"bufio"
	"os/exec"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence"
)

// firstNode is the one that the only process of a folder has.
var firstNode = snowfence.NodeRange{From: 0, Until: 1}

// A process that is stopped keeps its node: it may go on at any time. The
// error comes at once, and does not wait for it. When the process is
// killed, the node is free.
func TestFolderStoppedProcessKeepsItsNode(t *testing.T) {
	dir, s := t.TempDir(), must(snowfence.NewScheme(snowfence.Default()))
	kill(t, openDir(t, dir, s, firstNode)) // where the process begins
	cmd := again("-test.run=^TestFolderChild$", "--", "dir", dir)
	out := must(cmd.StdoutPipe())
	noError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	must(bufio.NewReader(out).ReadString('\n'))
	noError(t, cmd.Process.Signal(syscall.SIGSTOP))
	wantErr(t, errOf(Folder(dir, s, firstNode)), snowfence.ErrBound, "the node of a stopped process")
	noError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	openDir(t, dir, s, firstNode)
}

// A lock belongs to the open file, and a child that had it would keep it.
// So children do not get it.
func TestFolderChildrenDoNotKeepANode(t *testing.T) {
	dir, s := t.TempDir(), must(snowfence.NewScheme(snowfence.Default()))
	f := openDir(t, dir, s, firstNode)
	child := exec.Command("sleep", "600")
	noError(t, child.Start())
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	noError(t, f.Close())
	openDir(t, dir, s, firstNode)
}
