package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// Backups often leave lock files out. An older copy of a state file that is
// restored without its lock is refused, and so is every file whose lock is
// another one, until it is begun anew.
func TestFileWithoutItsLock(t *testing.T) {
	s := testScheme("twitter")
	for name, harm := range map[string]func(path string) error{
		"no lock": func(path string) error { return os.Remove(path + ".lock") },
		"the lock of another file": func(path string) error {
			f := openState(t, path+"2", s, 5)
			grant(t, f, 1)
			kill(t, f)
			return os.Rename(path+"2.lock", path+".lock")
		},
	} {
		path := filepath.Join(t.TempDir(), "node")
		f := openState(t, path, s, 5)
		grant(t, f, 1000)
		older := must(os.ReadFile(path))
		last := grant(t, f, 50_000)
		kill(t, f)
		noError(t, errors.Join(os.WriteFile(path, older, 0o644), harm(path)))
		for range 2 { // the lock is there after the first time
			f, err := File(path, s, 5)
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "--state-after") {
				t.Fatalf("%s: %v, %v", name, f, err)
			}
		}
		noError(t, Reset(path, s, 5, s.Layout().TimeOf(last.Until)))
		f = openState(t, path, s, 5)
		if g := grant(t, f, 1); g.From < last.Until {
			t.Errorf("%s: granted from %d, and until %d before", name, g.From, last.Until)
		}
	}
}

// A folder that is moved away while it is used, and made anew, is noticed
// before the next write.
func TestFolderMovedAway(t *testing.T) {
	s := testScheme("twitter")
	dir := filepath.Join(t.TempDir(), "ids")
	open := func() *Fence {
		f := must(Folder(dir, s, snowfence.NodeRange{Until: 1}))
		t.Cleanup(func() { f.Close() })
		return f
	}
	first := open()
	g := grant(t, first, 1000)
	noError(t, os.Rename(dir, dir+".old"))
	wantErr(t, errOf(first.Grant(t.Context(), g.Until)), ErrUnusable, "after the folder was moved")
	grant(t, open(), 1)
	wantErr(t, errOf(first.Grant(t.Context(), g.Until)), ErrUnusable, "beside another folder in its place")
}

// A name that cannot be written into the lock is no name: nothing is
// granted.
func TestLockThatCannotBeWritten(t *testing.T) {
	f := openState(t, filepath.Join(t.TempDir(), "node"), testScheme("twitter"), 5)
	writable := f.lock
	defer writable.Close()
	f.lock = must(os.Open(writable.Name()))
	fails(t, errOf(f.Grant(t.Context(), 1)), "granted")
	fails(t, errOf(os.Stat(f.path)), "the state file was written")
}

// A lock that was only just made names nobody yet.
func TestLockWithoutAHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node")
	for _, n := range []int{0, holderAt} {
		putFile(t, path+".lock", make([]byte, n))
		if who := holderOf(path); who != "a process" {
			t.Errorf("%d bytes name %q", n, who)
		}
	}
}

// copiedFence has the generator see the machine that a test resumes.
type copiedFence struct {
	*Fence
	counter *atomic.Uint64
}

func (f copiedFence) World() world.World { return copiedWorld{world.Real(), f.counter} }

type copiedWorld struct {
	world.World
	counter *atomic.Uint64
}

func (w copiedWorld) Machine() world.Machine { return world.At(w.counter) }

// A machine that was resumed from a snapshot makes no ID with its state
// file any more, gives nothing back, and no later process takes the file:
// the copy of the machine may have the same one.
func TestFileOnACopiedMachine(t *testing.T) {
	s := testScheme("twitter")
	for name, end := range map[string]func(g *snowfence.Generator) error{
		"next":  func(g *snowfence.Generator) error { _, err := g.Next(t.Context()); return err },
		"close": (*snowfence.Generator).Close,
	} {
		path := filepath.Join(t.TempDir(), "node")
		f, counter := openState(t, path, s, 3), new(atomic.Uint64)
		f.machine = world.At(counter)
		g := must(snowfence.New(snowfence.Config{Fence: copiedFence{f, counter}}))
		must(g.Next(t.Context()))
		before := must(os.ReadFile(path))
		counter.Add(1)
		if grant, ok := f.Held(0); ok {
			t.Errorf("%s: %+v is held", name, grant)
		}
		for range 2 { // another try ends as the first one
			err := end(g)
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "resumed from a snapshot") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := must(os.ReadFile(path + ".copied")); string(after) != string(before) {
			t.Errorf("%s: the file is %q, and was %q", name, after, before)
		}
		kill(t, f)
		wantErr(t, errOf(File(path, s, 3)), ErrUnusable, "%s: a later process", name)
		noError(t, Reset(path, s, 3, time.Now().Add(time.Second)))
		grant(t, openState(t, path, s, 3), s.Layout().TickOf(time.Now()))
		fails(t, end(g), "%s: again, beside a successor", name)
		must(os.Stat(path))
	}
}
