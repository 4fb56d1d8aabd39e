package statefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// dirWait is how long Folder waits while another process looks for a node.
const dirWait = 10 * time.Second

// Open returns a generator for a process that shares a folder with others
// of its machine, with the layout [snowfence.Default]. Each process has a
// node of its own. When a process ends, for any reason, another one can
// take over its node. Closing the generator frees the node.
//
//	ids, err := statefile.Open("/var/lib/app/ids")
//
// Open calls [Folder] for all nodes, and [snowfence.New]. Call these
// yourself for another layout, fewer nodes or a [snowfence.Config] of your
// own.
func Open(dir string) (*snowfence.Generator, error) {
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		return nil, err
	}
	f, err := Folder(dir, s, snowfence.NodeRange{})
	if err != nil {
		return nil, err
	}
	g, err := snowfence.New(snowfence.Config{Fence: &untilReleased{f}})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return g, nil
}

// untilReleased is a state file that is closed with its generator.
type untilReleased struct{ *Fence }

func (f *untilReleased) Release(ctx context.Context, g snowfence.Grant, used int64) error {
	if err := f.Fence.Release(ctx, g, used); err != nil {
		return err
	}
	return f.Close()
}

// Folder returns the fence of a state file in a folder, with a node that no
// other process uses. So the processes of one machine need neither a store
// nor node numbers. Folder makes the folder if its parent exists. The zero
// NodeRange means all nodes.
//
// The folder has a [File] for each node that was ever used, named after the
// node. Folder takes the first one that is free, from the lowest used one
// on. A new folder begins at a random node, so that the folders of two
// machines seldom have the same. Folder takes a file with IDs ahead of the
// clock only if there is no other. When a process ends, for any reason, the
// kernel frees its node. A suspended process keeps its node.
//
// All files of a folder have one layout and one list of secrets. An
// [ErrUnusable] says which file differs or is damaged, and what to do. If
// all nodes are taken, the error is a [snowfence.ErrBound] that says which
// processes have them. Keep the folder on a local disk, out of backups and
// images, and on one machine: two copies make the same IDs.
func Folder(dir string, s *snowfence.Scheme, nodes snowfence.NodeRange) (f *Fence, err error) {
	if nodes == (snowfence.NodeRange{}) {
		nodes.Until = s.Nodes()
	}
	if nodes.From < 0 || nodes.From >= nodes.Until || nodes.Until > s.Nodes() {
		return nil, fmt.Errorf("snowfence: folder %s: nodes from %d until %d: the layout has nodes 0 to %d",
			dir, nodes.From, nodes.Until, s.Nodes()-1)
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("snowfence: folder of state files: %w", err)
	}
	lock, err := lockWithin(filepath.Join(dir, "folder.lock"), dirWait)
	switch {
	case errors.Is(err, snowfence.ErrBound):
		return nil, fmt.Errorf("snowfence: folder %s: a process that looks for its node has locked the folder for %v: "+
			"find one that is stopped, and end it (%w)", dir, dirWait, err)
	case err != nil:
		return nil, fmt.Errorf("snowfence: folder %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("snowfence: folder of state files: %w", err)
	}
	if err := sameLayout(dir, entries, s); err != nil {
		return nil, err
	}
	return freeNode(dir, s, nodes, startNode(entries, nodes))
}

// startNode returns the lowest node that was used, or a random one.
func startNode(entries []fs.DirEntry, nodes snowfence.NodeRange) int64 {
	first := nodes.Until
	for _, e := range entries {
		node, err := strconv.ParseInt(strings.TrimSuffix(e.Name(), ".lock"), 10, 64)
		if err == nil && node >= nodes.From {
			first = min(first, node)
		}
	}
	if first == nodes.Until {
		first = nodes.From + rand.Int64N(nodes.Until) // which freeNode brings into the range
	}
	return first
}

// lockWithin is lockFile that tries again until another process has
// unlocked it.
func lockWithin(path string, most time.Duration) (*os.File, error) {
	var waited time.Duration
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		lock, err := lockFile(path)
		if !errors.Is(err, snowfence.ErrBound) || waited >= most {
			return lock, err
		}
		time.Sleep(pause)
		waited += pause
	}
}

// freeNode takes a node. The folder is locked until its file exists, so
// that everybody sees the folder's layout.
//
// Invariant: no node is used under two locks, and none under two layouts.
func freeNode(dir string, s *snowfence.Scheme, nodes snowfence.NodeRange, first int64) (*Fence, error) {
	now := max(s.Layout().TickOf(time.Now()), 0) // an unused node is free before the epoch, too

	var ahead *Fence // the one that can be used soonest
	var taken []string
	n := nodes.Until - nodes.From
	for i := range n {
		node := nodes.From + (first-nodes.From+i)%n
		path := filepath.Join(dir, strconv.FormatInt(node, 10))
		f, err := File(path, s, node)
		switch {
		case errors.Is(err, snowfence.ErrBound):
			taken = append(taken, fmt.Sprintf("%d by %s", node, holderOf(path)))
			continue
		case err != nil:
			return nil, closeFirst(ahead, err)
		case f.state.until <= now:
			if err := closeFirst(ahead, f.writeFirst()); err != nil {
				return nil, closeFirst(f, err)
			}
			return f, nil
		case ahead == nil || f.state.until < ahead.state.until:
			f, ahead = ahead, f
		}
		if err := closeFirst(f, nil); err != nil {
			return nil, closeFirst(ahead, err)
		}
	}
	if ahead == nil {
		return nil, fmt.Errorf("snowfence: folder %s: all nodes from %d to %d are taken: %s: stop a process that "+
			"needs none, or allow more nodes (%w)", dir, nodes.From, nodes.Until-1, strings.Join(taken, ", "),
			snowfence.ErrBound)
	}
	return ahead, nil
}

// writeFirst writes the file of a node that was never used.
func (f *Fence) writeFirst() error {
	if f.state.writes > 0 {
		return nil
	}
	return f.writeState(f.state)
}

// closeFirst closes a fence that is not needed, if there is one, and
// returns err too.
func closeFirst(f *Fence, err error) error {
	if f == nil {
		return err
	}
	return errors.Join(err, f.Close())
}

// sameLayout refuses a folder with files of another layout or other
// secrets. It reads the files of other processes without their locks: a
// file is replaced in one step.
func sameLayout(dir string, entries []fs.DirEntry, s *snowfence.Scheme) error {
	for _, e := range entries {
		node, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil {
			continue
		}
		path := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("snowfence: reading state file: %w", err)
		}
		found, err := decodeState(data)
		if err != nil {
			continue // the error of taking its node says what to do
		}
		f := &Fence{path: path, state: newState(s, node)}
		if err := f.compareContent(found); err != nil {
			return err
		}
	}
	return nil
}
