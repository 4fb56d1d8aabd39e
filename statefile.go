package snowfence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// stateWindow is how far ahead a state file grants: how often it is written while IDs are made (once in this time), and how long a process that
// was killed keeps its successor waiting at most.
const stateWindow = time.Second

// ErrStateFile means that a state file cannot be trusted or used. It is never taken for an empty one: that would start again at tick 0.
var ErrStateFile = errors.New("unusable state file")

// StateFile returns a fence for one fixed node on one machine that is safe over restarts: the file keeps the first tick that was never granted,
// written and synced before a tick below it is used. A process that starts again begins there, whatever the clock says; after a kill it
// may have to wait up to a second for it. The number must not be used on another machine, nor with another file.
//
// The file is locked by path + ".lock" for the life of the process, or until the fence is closed: the returned fence is an [io.Closer]. A
// file that does not exist means that the node was never used; so do not delete one. One that is damaged, or of another layout or node, is
// an [ErrStateFile] that says what to do. It belongs on a local disk.
func StateFile(path string, s *Scheme, node int64) (Fence, error) {
	if node < 0 || node >= s.Nodes() {
		return nil, fmt.Errorf("snowfence: state file %s: node %d: the layout has nodes 0 to %d", path, node, s.Nodes()-1)
	}
	abs, err := realPath(path)
	if err != nil {
		return nil, fmt.Errorf("snowfence: state file %s: %w", path, err)
	}
	lock, err := lockFile(abs + ".lock")
	if err != nil {
		return nil, fmt.Errorf("snowfence: state file %s: %w", path, err)
	}
	f := &stateFile{scheme: s, path: abs, lock: lock, state: fileState{layout: s.Fingerprint(), node: node}}
	if f.state, err = readState(abs, f.state); err != nil {
		lock.Close()
		return nil, err
	}
	f.from = f.state.until
	return f, nil
}

// realPath returns the one path that all symbolic links to a file end at, so that there is one lock. A file that does not exist yet is looked for in its folder.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(abs); errors.Is(err, fs.ErrNotExist) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		return filepath.Join(dir, filepath.Base(abs)), err
	} else if err != nil {
		return "", err
	} else if links(info) > 1 {
		return "", fmt.Errorf("%w: it has another name too (a hard link), under which somebody else can have it: keep one name", ErrStateFile)
	}
	return filepath.EvalSymlinks(abs)
}

type stateFile struct {
	binding
	scheme *Scheme
	path   string

	mu    sync.Mutex // of what follows; it is held while the file is written
	lock  *os.File   // nil when closed
	state fileState  // as it stands in the file
	from  int64      // first tick of the present grant
}

// fileState is the content of a state file.
type fileState struct {
	layout string
	node   int64
	until  int64 // first tick that was never granted
}

func (f *stateFile) Scheme() *Scheme { return f.scheme }

func (f *stateFile) Grant(ctx context.Context, after int64) (Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after > f.scheme.MaxTick() {
		return Grant{}, lifetimeError(f.scheme)
	}
	if f.state.until <= after || f.state.until == f.from {
		if err := ctx.Err(); err != nil {
			return Grant{}, fmt.Errorf("snowfence: state file %s: %w: it is written in the background: %w", f.path, ErrFenced, err)
		}
		window := max(int64(stateWindow/f.scheme.layout.Tick), 1)
		next := f.state
		next.until = min(max(after+1, f.from)+window, f.scheme.MaxTick()+1)
		if next.until <= f.from {
			return Grant{}, lifetimeError(f.scheme)
		}
		if err := f.write(next); err != nil {
			return Grant{}, err
		}
	}
	return Grant{Node: f.state.node, From: f.from, Until: f.state.until}, nil
}

// Release writes down that ticks from used on are free again.
func (f *stateFile) Release(_ context.Context, _ Grant, used int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.state
	next.until = min(f.state.until, max(used, f.from))
	if err := f.write(next); err != nil {
		f.from = f.state.until // what the file says is all that may be relied on
		return err
	}
	f.from = next.until
	return nil
}

// Close unlocks the file. It does nothing when that was done already.
func (f *stateFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return nil
	}
	err := f.lock.Close()
	f.lock = nil
	return err
}

// write makes next the content of the file, durably, or leaves the old content and says why.
func (f *stateFile) write(next fileState) error {
	if f.lock == nil {
		return fmt.Errorf("snowfence: state file %s: %w: it was closed", f.path, ErrStateFile)
	}
	if err := sameFile(f.lock); err != nil {
		return fmt.Errorf("snowfence: state file %s: %w: %w", f.path, ErrStateFile, err)
	}
	if err := replaceFile(f.path, next.encode()); err != nil {
		return fmt.Errorf("snowfence: writing state file %s: %w", f.path, err)
	}
	f.state = next
	return nil
}

// sameFile reports an error when the name of an open file leads to another file by now, or to none: somebody else may hold a lock on that.
func sameFile(file *os.File) error {
	mine, err := file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(file.Name())
	if err != nil {
		return fmt.Errorf("its lock was taken away: %w: restart this process", err)
	}
	if !os.SameFile(mine, there) {
		return fmt.Errorf("its lock %s was replaced: restart this process, and find out who did it", file.Name())
	}
	return nil
}

// replaceFile writes a new file beside path, syncs it, renames it over path and syncs the folder, so that after a crash at any moment path holds
// the old or the new content.
func replaceFile(path string, data []byte) error {
	temp := path + ".new"
	w, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// The file is four lines of text and one with their CRC-32C, so that a person can read it and a torn or edited one is noticed.
const stateHeader = "snowfence state 1"

func (s fileState) encode() []byte {
	body := fmt.Appendf(nil, "%s\nlayout %s\nnode %d\nuntil %d\n", stateHeader, s.layout, s.node, s.until)
	return fmt.Appendf(body, "sum %08x\n", crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// readState reads the file at path and checks that it is of the layout and node of want. Without a file it returns want.
func readState(path string, want fileState) (fileState, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return want, nil
	}
	if err != nil {
		return fileState{}, fmt.Errorf("snowfence: reading state file: %w", err)
	}
	const remedy = "restore it, or use another node with a new file; deleting it would make IDs twice"
	s, err := decodeState(data)
	switch {
	case err != nil:
		return fileState{}, fmt.Errorf("snowfence: state file %s: %w: %w: %s", path, ErrStateFile, err, remedy)
	case s.node != want.node:
		return fileState{}, fmt.Errorf("snowfence: state file %s: %w: it is of node %d, not %d: use a file for each node", path, ErrStateFile, s.node, want.node)
	case s.layout != want.layout:
		return fileState{}, fmt.Errorf("snowfence: state file %s: %w: it is of the layout %s, not %s: use another node with a new file, or plan the change first", path, ErrStateFile, s.layout, want.layout)
	}
	return s, nil
}

func decodeState(data []byte) (s fileState, err error) {
	if len(data) == 0 {
		return s, errors.New("it is empty")
	}
	// What is written back differs from what was read unless every byte is as it should be, the sum included.
	line, rest, _ := strings.Cut(string(data), "\n")
	if line != stateHeader {
		return s, fmt.Errorf("it starts with %q, not with %q", shorten(line), stateHeader)
	}
	layout, rest, _ := strings.Cut(rest, "\n")
	s.layout = strings.TrimPrefix(layout, "layout ")
	if _, err := fmt.Sscanf(rest, "node %d\nuntil %d\n", &s.node, &s.until); err != nil {
		return s, errors.New("it is cut off or damaged")
	}
	if s.until < 0 || !bytes.Equal(s.encode(), data) {
		return s, errors.New("its sum does not match: it is damaged or was edited")
	}
	return s, nil
}
