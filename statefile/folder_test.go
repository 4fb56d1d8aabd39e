package statefile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

func openDir(t testing.TB, dir string, s *snowfence.Scheme, nodes snowfence.NodeRange) *Fence {
	t.Helper()
	f := must(Folder(dir, s, nodes))
	t.Cleanup(func() { f.Close() })
	return f
}

// Fences of one folder have nodes of their own, and a node that is free
// again comes first.
func TestFolder(t *testing.T) {
	s := testScheme("twitter")
	dir := filepath.Join(t.TempDir(), "ids")
	var all []*Fence
	for node := range int64(3) {
		f := openDir(t, dir, s, snowfence.NodeRange{Until: []int64{1, 0, 0}[node]})
		if f.state.node != node {
			t.Errorf("node %d, want %d", f.state.node, node)
		}
		all = append(all, f)
	}
	kill(t, all[1])
	if f := openDir(t, dir, s, snowfence.NodeRange{}); f.state.node != 1 {
		t.Errorf("node %d is taken while 1 is free", f.state.node)
	}
	f := openDir(t, dir, s, snowfence.NodeRange{From: 7, Until: 9})
	kill(t, f)
	again := openDir(t, dir, s, snowfence.NodeRange{From: 7, Until: 9}).state.node
	if f.state.node < 7 || f.state.node > 8 || again != f.state.node {
		t.Errorf("nodes %d and %d are not one of the range", f.state.node, again)
	}
	tests.Refuses(t, tests.ErrOf(File(filepath.Join(dir, "0"), s, 0)), snowfence.ErrBound, " uses it: stop that one")
	for _, nodes := range [][2]int64{{-1, 5}, {5, 5}, {6, 5}, {0, 1025}} {
		says(t, errOf(Folder(dir, s, snowfence.NodeRange{From: nodes[0], Until: nodes[1]})), ": nodes from ",
			"nodes %v", nodes)
	}
	wantErr(t, errOf(Folder(filepath.Join(dir, "a", "b"), s, snowfence.NodeRange{})), os.ErrNotExist,
		"a folder in a folder that is missing")
	fails(t, errOf(Folder(filepath.Join(dir, "0"), s, snowfence.NodeRange{})), "a file is no folder")
}

// Two machines or containers with a folder each had node 0, and made the
// same IDs.
func TestFoldersBeginAtRandom(t *testing.T) {
	s, seen := testScheme("twitter"), map[int64]bool{}
	for range 10 {
		dir := t.TempDir()
		f := openDir(t, dir, s, snowfence.NodeRange{})
		seen[f.state.node] = true
		kill(t, f)
		if again := openDir(t, dir, s, snowfence.NodeRange{}); again.state.node != f.state.node {
			t.Errorf("node %d after %d", again.state.node, f.state.node)
		}
	}
	if len(seen) == 1 {
		t.Errorf("all have the nodes %v", seen)
	}
}

// When all are taken, the error names the processes.
func TestFolderIsFull(t *testing.T) {
	s := testScheme("twitter")
	dir := t.TempDir()
	nodes := snowfence.NodeRange{From: 4, Until: 6}
	openDir(t, dir, s, nodes)
	last := openDir(t, dir, s, nodes)
	_, err := Folder(dir, s, nodes)
	who := fmt.Sprintf("5 by process %d (%s) on ", os.Getpid(), filepath.Base(os.Args[0]))
	if !errors.Is(err, snowfence.ErrBound) ||
		!strings.Contains(err.Error(), "all nodes from 4 to 5 are taken: 4 by process") ||
		!strings.Contains(err.Error(), who) {
		t.Errorf("%v, and not %s", err, who)
	}
	kill(t, last)
	openDir(t, dir, s, nodes) // the advice: one ended
	openDir(t, dir, s, snowfence.NodeRange{From: 4, Until: 7})
}

// A node whose IDs are ahead of the clock is taken only if there is no
// other, and then the one that can be used soonest.
func TestFolderTakesNodesAheadLast(t *testing.T) {
	s := testScheme("twitter")
	dir := t.TempDir()
	for node, ahead := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		path := filepath.Join(dir, strconv.Itoa(node))
		noError(t, Reset(path, s, int64(node), time.Now().Add(ahead)))
	}
	for _, want := range []int64{3, 1, 2, 0} {
		if f := openDir(t, dir, s, snowfence.NodeRange{Until: 4}); f.state.node != want {
			t.Errorf("node %d, want %d", f.state.node, want)
		}
	}
}

// A folder is of one layout and one list of secrets, also while others use
// all its nodes.
func TestFolderHasOneLayout(t *testing.T) {
	plain, other := testScheme("twitter"), testScheme("bwmarrin")
	keys := []*snowfence.Secret{snowfence.GenerateSecret(), snowfence.GenerateSecret()}
	layout := must(snowfence.ParseLayout("key=1,time=33,node=8,seq=10,epoch=2025-01-01,tick=1s,cipher=ff1"))
	keyed := func(keys ...*snowfence.Secret) *snowfence.Scheme {
		t.Helper()
		return must(snowfence.NewScheme(layout, keys...))
	}
	for _, c := range []struct{ first, then *snowfence.Scheme }{{plain, other}, {keyed(keys[0]), keyed(keys[1])}} {
		dir := t.TempDir()
		f := openDir(t, dir, c.first, snowfence.NodeRange{}) // nothing is granted yet
		for range 2 {
			for _, nodes := range []snowfence.NodeRange{{}, {From: 1, Until: 2}} {
				wantErr(t, errOf(Folder(dir, c.then, nodes)), ErrUnusable, "another layout or secret, nodes %v", nodes)
			}
			kill(t, f)
		}
	}
	dir := t.TempDir()
	openDir(t, dir, keyed(keys[0]), snowfence.NodeRange{})
	openDir(t, dir, keyed(keys...), snowfence.NodeRange{}) // the next secret is added
}

// With a clock before the epoch, a folder had no file that kept its layout.
func TestFolderBeforeTheEpoch(t *testing.T) {
	dir := t.TempDir()
	openFolder := func(spec string) error { return errOf(Folder(dir, testScheme(spec), snowfence.NodeRange{})) }
	noError(t, openFolder("time=40,node=3,seq=6,epoch=2100-01-01"))
	fails(t, openFolder("time=40,node=4,seq=5,epoch=2100-01-01"), "another layout")
}

// A damaged file is no free node, and a file that was deleted is no new
// one.
func TestFolderDamaged(t *testing.T) {
	s := testScheme("twitter")
	for name, harm := range map[string]func(path string) error{
		"flipped": func(path string) error { return os.WriteFile(path, []byte("snowfence state 2\nx"), 0o644) },
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"deleted": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+"0") },
	} {
		dir := t.TempDir()
		kill(t, openDir(t, dir, s, snowfence.NodeRange{Until: 1}))
		path := filepath.Join(dir, "0")
		noError(t, harm(path))
		_, err := Folder(dir, s, snowfence.NodeRange{})
		tests.Refuses(t, err, ErrUnusable, dir)
		kill(t, openDir(t, dir, s, snowfence.NodeRange{From: 1, Until: 2})) // another node
		if name == "renamed" {
			continue
		}
		if err := Reset(path, s, 0, time.Now()); err != nil { // the advice
			t.Fatal(err)
		}
		openDir(t, dir, s, snowfence.NodeRange{})
	}
}

// Where a folder stands in the way of a file, no node is given, and none
// stays locked.
func TestFolderThatIsBlocked(t *testing.T) {
	s, first := must(snowfence.NewScheme(snowfence.Default())), snowfence.NodeRange{Until: 1}
	var dir, blocks string
	for _, name := range []string{"folder.lock", "7", "0.new"} {
		dir = t.TempDir()
		blocks = filepath.Join(dir, name)
		noError(t, os.Mkdir(blocks, 0o755))
		if f, err := Folder(dir, s, first); f != nil || err == nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
		noError(t, os.Remove(blocks))
		kill(t, openDir(t, dir, s, first))
	}
	noError(t, os.Mkdir(blocks, 0o755))
	kill(t, openDir(t, dir, s, first)) // it was written before
	fails(t, errOf(Open(dir)), "a generator without a grant")
}

// A lock of the folder that stays is reported.
func TestFolderWaitsForTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder.lock")
	lock := must(lockFile(path))
	wantErr(t, errOf(lockWithin(path, 20*time.Millisecond)), snowfence.ErrBound, "a folder that stays locked")
	time.AfterFunc(50*time.Millisecond, func() { lock.Close() })
	again := must(lockWithin(path, time.Hour))
	again.Close()
}

// The one line frees its node with the generator.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	kill(t, openDir(t, dir, must(snowfence.NewScheme(snowfence.Default())), snowfence.NodeRange{Until: 1}))
	var all []snowfence.ID
	for range 3 {
		g := must(Open(dir))
		for range 5000 {
			all = append(all, must(g.Next(t.Context())))
		}
		gr, _ := g.Grant()
		if err := g.Close(); err != nil || gr.Node != 0 {
			t.Errorf("node %d, %v", gr.Node, err)
		}
		time.Sleep(2 * time.Millisecond) // in the tick of its last ID, the node is ahead of the clock
	}
	checkIncreasing(t, all)
	fails(t, errOf(Open(filepath.Join(dir, "a", "b"))), "a folder in a folder that is missing")
	g := must(Open(dir))
	must(g.Next(t.Context()))
	blocks := filepath.Join(dir, "0.new") // a folder where the next write begins
	noError(t, os.Mkdir(blocks, 0o755))
	fails(t, g.Close(), "a node is free, and the file does not say so")
	noError(t, errors.Join(os.Remove(blocks), g.Shutdown(t.Context())))
}

// Ten processes at once, each killed and started again, make no ID twice.
func TestFolderProcesses(t *testing.T) {
	dir := t.TempDir()
	const processes, rounds, each = 10, 3, 300
	type one struct {
		cmd *exec.Cmd
		out *bufio.Scanner
	}
	start := func() one {
		cmd := again("-test.run=^TestFolderChild$", "--", "dir", dir)
		out := must(cmd.StdoutPipe())
		cmd.Stderr = os.Stderr
		noError(t, cmd.Start())
		return one{cmd, bufio.NewScanner(out)}
	}
	seen := map[string]bool{}
	for range rounds {
		var all []one
		for range processes {
			all = append(all, start())
		}
		nodes := map[string]bool{}
		for _, p := range all {
			for n := 0; n < each && p.out.Scan(); n++ {
				node, id, ok := strings.Cut(p.out.Text(), " ")
				if !ok {
					t.Fatalf("a process says %q", p.out.Text())
				}
				if n == 0 && nodes[node] {
					t.Errorf("node %s has two processes", node)
				}
				if nodes[node] = true; seen[id] {
					t.Errorf("ID %s came twice", id)
				}
				seen[id] = true
			}
		}
		for _, p := range all {
			_ = p.cmd.Process.Kill()
			for p.out.Scan() { // what it made before it was killed
				_, id, ok := strings.Cut(p.out.Text(), " ")
				if !ok || len(id) < len("100000000000000000") {
					continue // the last line may be half of one
				}
				if seen[id] {
					t.Errorf("ID %s came twice", id)
				}
				seen[id] = true
			}
			_ = p.cmd.Wait()
		}
	}
	if want := processes * rounds * each; len(seen) < want {
		t.Errorf("%d IDs, want %d at least", len(seen), want)
	}
}

// TestFolderChild is a process of TestFolderProcesses; by itself it has
// nothing to do.
func TestFolderChild(t *testing.T) {
	args := os.Args
	if len(args) < 3 || args[len(args)-2] != "dir" {
		return
	}
	g := must(Open(args[len(args)-1]))
	for {
		id, err := g.Next(t.Context())
		if err != nil {
			continue // the node's last process was killed a moment ago
		}
		gr, _ := g.Grant()
		if _, err := fmt.Fprintln(os.Stdout, gr.Node, int64(id)); errors.Is(err, io.ErrClosedPipe) {
			return
		}
	}
}
