package statefile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
)

func openState(t testing.TB, path string, s *snowfence.Scheme, node int64) *Fence {
	t.Helper()
	f := must(File(path, s, node))
	t.Cleanup(func() { f.Close() })
	return f
}

// kill ends a fence as SIGKILL would: the lock goes, and nothing is given
// back.
func kill(t testing.TB, f *Fence) {
	t.Helper()
	noError(t, f.Close())
}

// again runs this test binary once more: by the same emulator, where
// scripts/platforms.sh has one.
func again(args ...string) *exec.Cmd {
	if emulator := os.Getenv("SNOWFENCE_EMULATOR"); emulator != "" {
		return exec.Command(emulator, append([]string{os.Args[0]}, args...)...)
	}
	return exec.Command(os.Args[0], args...)
}

// A second user of one file is refused, in this process and in another; the
// file of another node or layout too.
func TestFileIsForOne(t *testing.T) {
	s := testScheme("twitter")
	path := filepath.Join(t.TempDir(), "node")
	f := openState(t, path, s, 5)
	wantErr(t, errOf(File(path, s, 5)), snowfence.ErrBound, "a second fence on the file")
	g := newGenerator(t, snowfence.Config{Fence: f})
	wantErr(t, errOf(snowfence.New(snowfence.Config{Fence: f})), snowfence.ErrBound, "a second generator on the fence")
	out, err := again("-test.run=^TestFileChild$", "-test.v", "--", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "child: refused") {
		t.Errorf("a second process: %v: %s", err, out)
	}
	must(g.Next(t.Context()))
	g.Close()
	kill(t, f)
	for _, c := range []struct {
		spec string
		node int64
	}{{"twitter", 6}, {"sonyflake", 5}, {"bwmarrin", 5}} {
		wantErr(t, errOf(File(path, testScheme(c.spec), c.node)), ErrUnusable, "%s, node %d", c.spec, c.node)
	}
	fails(t, errOf(File(path, s, 1024)), "a node the layout does not have")
	fails(t, errOf(File(filepath.Join(path, "below", "a", "file"), s, 5)), "a folder that does not exist")
	openState(t, path, s, 5)
}

// A file with several names has one lock: symbolic links lead to it, and a
// hard link is refused.
func TestFileUnderOtherNames(t *testing.T) {
	s := testScheme("twitter")
	dir := t.TempDir()
	path, link := filepath.Join(dir, "node"), filepath.Join(dir, "link")
	noError(t, os.Symlink(path, link))
	other := filepath.Join(dir, "folder")
	noError(t, os.Symlink(dir, other))
	f := openState(t, path, s, 5)
	must(f.Grant(t.Context(), 1000))
	for _, name := range []string{link, filepath.Join(other, "node"), filepath.Join(other, "link")} {
		wantErr(t, errOf(File(name, s, 5)), snowfence.ErrBound, "under the name %s", name)
	}
	kill(t, f)
	g := openState(t, link, s, 5)
	if g.ownShare.from <= 1000 {
		t.Errorf("through the link it starts at %d", g.ownShare.from)
	}
	must(g.Grant(t.Context(), 5000))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info.Mode(), err)
	}
	kill(t, g)
	noError(t, os.Link(path, filepath.Join(dir, "hard")))
	wantErr(t, errOf(File(path, s, 5)), ErrUnusable, "with a hard link")
}

// TestFileChild is the other process of TestFileIsForOne; run by itself it
// has nothing to do.
func TestFileChild(t *testing.T) {
	args := os.Args
	if len(args) < 2 || args[len(args)-2] != "--" {
		return
	}
	if _, err := File(args[len(args)-1], testScheme("twitter"), 5); errors.Is(err, snowfence.ErrBound) {
		fmt.Println("child: refused")
	} else {
		t.Errorf("not refused: %v", err)
	}
}

// Every way in which a file can be torn or damaged is an error, and never
// the floor 0.
func TestFileDamaged(t *testing.T) {
	s := testScheme("twitter")
	path := filepath.Join(t.TempDir(), "node")
	good := named(t, path, fileState{layout: s.Fingerprint(), node: 5, until: 123456789})
	try := func(data []byte) error {
		t.Helper()
		noError(t, os.WriteFile(path, data, 0o644))
		f, err := File(path, s, 5)
		if err == nil {
			defer f.Close()
			if from := f.ownShare.from; from != 123456789 {
				t.Fatalf("%q gives the floor %d", data, from)
			}
		}
		return err
	}
	noError(t, try(good))
	for n := range good {
		wantErr(t, try(good[:n]), ErrUnusable, "cut off after %d bytes", n)
		bad := append([]byte(nil), good...)
		bad[n] ^= 1
		wantErr(t, try(bad), ErrUnusable, "byte %d changed", n)
		bad[n] = 0
		wantErr(t, try(bad), ErrUnusable, "byte %d zero", n)
	}
	for _, data := range []string{
		"", "\n", "0", strings.Repeat("\x00", len(good)), string(good) + "\n",
		string(good) + string(good),
	} {
		if err := try([]byte(data)); !errors.Is(err, ErrUnusable) || len(err.Error()) > 1000 {
			t.Errorf("%q: %v", data, err)
		}
	}
	os.Remove(path)
	noError(t, os.Mkdir(path, 0o755))
	fails(t, errOf(File(path, s, 5)), "a folder in the file's place is no error")
}

func TestFileAnswersAtOnce(t *testing.T) {
	s := testScheme("twitter")
	f := openState(t, filepath.Join(t.TempDir(), "node"), s, 5)
	if g, ok := f.Held(0); ok {
		t.Errorf("nothing was written, and %+v is at hand", g)
	}
	g := must(f.Grant(t.Context(), 0))
	if again, ok := f.Held(g.Until - 1); !ok || again != g {
		t.Errorf("at hand: %+v, %t", again, ok)
	}
	if again, ok := f.Held(g.Until); ok {
		t.Errorf("past its end: %+v", again)
	}
	wantErr(t, errOf(f.Grant(t.Context(), s.MaxTick()+1)), snowfence.ErrLifetime, "after the end")
	last, err := f.Grant(t.Context(), s.MaxTick())
	if err != nil || last.Until != s.MaxTick()+1 {
		t.Errorf("the last grant: %+v, %v", last, err)
	}
	kill(t, f)
	wantErr(t, f.Release(t.Context(), last, 0), snowfence.ErrClosed, "after the end")
}

// The next versions read the text of this one.
func TestFileText(t *testing.T) {
	s := testScheme("time=41,node=10,seq=12,cipher=ff1", snowfence.GenerateSecret())
	text := fmt.Sprintf("snowfence state 2\nname \nlayout %s\nnode 5\nkeys none\nslices \nuntil 0\nwrites 0\nsum ",
		s.Fingerprint())
	if got := newState(s, 5).encode(); !strings.HasPrefix(string(got), text) {
		t.Errorf("%q, not %q", got, text)
	}
	says(t, errOf(decodeState([]byte("snowfence state 1\n"))), "starts with", "another version")
}

func FuzzFile(f *testing.F) {
	f.Add(fileState{layout: "x", node: 5, until: 7}.encode())
	f.Add(fileState{layout: "x", node: 5, until: -1}.encode())
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeState(data)
		if err == nil && (s.until < 0 || string(s.encode()) != string(data)) {
			t.Fatalf("%q reads as %+v", data, s)
		}
	})
}
