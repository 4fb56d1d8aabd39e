package statefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// slowDisk lets the writes of a state file wait. A pipe in place of the
// temporary file is the disk: who opens it waits for a reader. When the
// disk answers, the sync fails, as it does for pipes.
func slowDisk(t *testing.T, path string) (answer func()) {
	t.Helper()
	pipe := path + ".new"
	noError(t, syscall.Mkfifo(pipe, 0o600))
	answer = func() {
		disk, err := os.OpenFile(pipe, os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) {
			return // it has answered already
		}
		noError(t, err)
		t.Cleanup(func() { disk.Close() })
		noError(t, os.Remove(pipe))
	}
	t.Cleanup(answer) // or a test that failed would wait for the write for ever
	return answer
}

// writing waits until a write of the file is under way.
func (f *Fence) writing() {
	for f.mu.TryLock() {
		f.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// While a slow disk syncs, IDs below the floor in the file go on, none
// above it comes out, the node stays taken, and other processes take other
// nodes.
func TestFolderSlowSync(t *testing.T) {
	dir, s, clock := t.TempDir(), testScheme("twitter"), newFakeClock()
	path := filepath.Join(dir, "0")
	floor := func() int64 {
		t.Helper()
		data := must(os.ReadFile(path))
		return must(decodeState(data)).until
	}
	f := openDir(t, dir, s, firstNode)
	g := newGenerator(t, snowfence.Config{Fence: f, Time: clock.Now})
	all := take(t, g, 10)
	before := floor()

	answer := slowDisk(t, path)
	renewed := make(chan error)
	go func() {
		_, err := f.Grant(t.Context(), before)
		renewed <- err
	}()
	f.writing()
	all = append(all, take(t, g, 10)...)
	wantErr(t, errOf(Folder(dir, s, firstNode)), snowfence.ErrBound, "the node of a process that syncs")
	if other := openDir(t, dir, s, snowfence.NodeRange{}); other.state.node != 1 {
		t.Errorf("another process has node %d", other.state.node)
	}
	answer()
	wantErr(t, <-renewed, syscall.EINVAL, "a sync that failed")

	answer = slowDisk(t, path)
	clock.Advance(2 * stateWindow)
	refused := func() {
		t.Helper()
		if id, err := g.TryNext(); !errors.Is(err, snowfence.ErrFenced) {
			t.Fatalf("an ID above the floor in the file: %d, %v", id, err)
		}
	}
	refused()
	f.writing()
	refused()
	if got := floor(); got != before {
		t.Errorf("the floor is %d before the sync, not %d", got, before)
	}
	answer()
	id, err := g.Next(t.Context())
	for errors.Is(err, syscall.EINVAL) { // what the first write said
		id, err = g.Next(t.Context())
	}
	noError(t, err)
	checkIncreasing(t, append(all, id))
	if tick := must(s.Decode(id)).Tick; tick >= floor() {
		t.Errorf("an ID of tick %d came out, and the file ends at %d", tick, floor())
	}
}

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
