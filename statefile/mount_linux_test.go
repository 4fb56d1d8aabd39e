package statefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A container that mounts the file alone has another lock file than the
// next container. It gets no grant, and is told why.
func TestFileMountedAlone(t *testing.T) {
	err := mountedAlone(&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EBUSY})
	if !errors.Is(err, ErrUnusable) || !errors.Is(err, syscall.EBUSY) ||
		!strings.Contains(err.Error(), "mount its folder instead") {
		t.Errorf("%v", err)
	}
	if err := mountedAlone(syscall.ENOSPC); err != syscall.ENOSPC {
		t.Errorf("another error became %v", err)
	}
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "inside"), filepath.Join(dir, "outside")
	putFile(t, inside, named(t, inside, fileState{layout: testScheme("twitter").Fingerprint(), node: 5, until: 7}))
	putFile(t, outside, must(os.ReadFile(inside)))
	cmd := again("-test.run=^TestFileMountedChild$", "-test.v", "--", outside, inside)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "child: no mounts") {
		t.Skipf("no mounts can be made here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "mount its folder instead") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestFileMountedChild is the container of TestFileMountedAlone; run by
// itself it has nothing to do.
func TestFileMountedChild(t *testing.T) {
	args := os.Args
	if len(args) < 3 || args[len(args)-3] != "--" {
		return
	}
	outside, inside := args[len(args)-2], args[len(args)-1]
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println("child: no mounts:", err)
		return
	}
	if err := syscall.Mount(outside, inside, "", syscall.MS_BIND, ""); err != nil {
		fmt.Println("child: no mounts:", err)
		return
	}
	f := openState(t, inside, testScheme("twitter"), 5)
	_, err := f.Grant(t.Context(), 0)
	fmt.Println("child:", err)
}
