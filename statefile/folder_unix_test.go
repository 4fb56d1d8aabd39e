//go:build unix

package statefile

import (
	"bufio"
	"errors"
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
	cmd := again("-test.run=^TestFolderChild$", "--", "dir", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if f, err := Folder(dir, s, firstNode); !errors.Is(err, snowfence.ErrBound) {
		t.Errorf("the node of a stopped process: %v, %v", f, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	openDir(t, dir, s, firstNode)
}

// A lock belongs to the open file, and a child that had it would keep it.
// So children do not get it.
func TestFolderChildrenDoNotKeepANode(t *testing.T) {
	dir, s := t.TempDir(), must(snowfence.NewScheme(snowfence.Default()))
	f := openDir(t, dir, s, firstNode)
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	openDir(t, dir, s, firstNode)
}
