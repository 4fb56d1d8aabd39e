// Package statefile makes IDs on one machine without a store. For each
// node, a file says up to which tick IDs may go, and it is written before
// they are made.
//
//	ids, err := statefile.Open("/var/lib/app/ids") // the processes share a folder
//
// For a layout, nodes or a [snowfence.Config] of your own, use the fences
// of [Folder] and [File].
package statefile

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/disk"
	"github.com/snowfence/snowfence/internal/world"
)

// stateWindow is how far ahead a state file grants: how often it is
// written, and how long the successor of a killed process waits at most.
const stateWindow = time.Second

// ErrUnusable means that a state file cannot be trusted or used. It never
// counts as empty, because then IDs would start again at tick 0.
var ErrUnusable = errors.New("unusable state file")

// Fence is the fence of [File]. It is safe for concurrent use.
type Fence struct {
	scheme   *snowfence.Scheme
	machine  world.Machine // that the file was opened on
	path     string
	ownShare *share // of a generator that uses the fence itself, not a slice of it

	mu    sync.Mutex // of what follows and of all shares; it is held while the file is written
	lock  *os.File   // nil when closed
	state fileState  // as it stands in the file, with the secrets of this scheme
	floor int64      // first tick that no generator had used when it gave its grant back
	bound []*share   // in use
}

// File returns a fence for one fixed node on one machine. It is safe over
// restarts: the file holds the first tick that was never granted, and is
// synced before a lower tick is used. The next process begins there,
// whatever the clock says; after a kill it may wait 1.4 s and the lead, or
// two ticks. Do not use the node on another machine or with another file.
//
// The file is locked by path + ".lock" until [Fence.Close] or the end of
// the process. No file means that the node was never used. File returns an
// [ErrUnusable] that says what to do (see [Reset]) if the file is damaged,
// of another layout, node or secret, or older than the last one written.
// The lock file counts the writes and has the file's random name. So File
// notices a deleted or older file, and a file without its lock. It does not
// notice when both are restored together: keep both on a local disk and out
// of backups. If the folder is moved while it is in use, the fence notices
// it before the next write.
func File(path string, s *snowfence.Scheme, node int64) (*Fence, error) {
	f, err := lockState(path, s, node)
	if err != nil {
		return nil, err
	}
	if err := f.readFile(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.floor, f.ownShare.from = f.state.until, f.state.until
	return f, nil
}

// Reset writes a state file that counts as used up to a time, which is the
// parameter after. It replaces a file that is damaged, missing or an older
// copy, or that does not know its secrets. No ID of the node may be later
// than that time: stop its processes, and take the time of the stop, plus
// their [snowfence.Config.Lead], and how far their clock was ahead. The
// scheme must have the secrets of the node's IDs. If a good file says a
// later time, that stays. A damaged file has lost its slices: use
// [Fence.SequencePart] again.
func Reset(path string, s *snowfence.Scheme, node int64, after time.Time) error {
	tick := s.Layout().TickOf(after)
	if tick >= s.MaxTick() {
		return fmt.Errorf("snowfence: state file %s: %w", path, overLifetime(s))
	}
	f, err := lockState(path, s, node)
	if err != nil {
		return err
	}
	var unknown unknownState
	if err := f.readFile(); err != nil && !errors.As(err, &unknown) {
		return errors.Join(err, f.Close())
	}
	next := f.state
	next.until = max(next.until, tick+1, 0)
	return errors.Join(f.writeState(next), f.Close())
}

// lockState locks a state file, without reading it.
func lockState(path string, s *snowfence.Scheme, node int64) (*Fence, error) {
	if node < 0 || node >= s.Nodes() {
		return nil, fmt.Errorf("snowfence: state file %s: node %d: the layout has nodes 0 to %d",
			path, node, s.Nodes()-1)
	}
	abs, err := realPath(path)
	if err != nil {
		return nil, fmt.Errorf("snowfence: state file %s: %w", path, err)
	}
	if kind, err := disk.Network(filepath.Dir(abs)); err != nil || kind != "" {
		return nil, fmt.Errorf("snowfence: state file %s: %w", path, cmp.Or(err, fmt.Errorf("%w: it is on a network "+
			"file system (%s), where locks do not hold: choose a local disk, or a lease for several machines",
			ErrUnusable, kind)))
	}
	lock, err := lockFile(abs + ".lock")
	switch {
	case errors.Is(err, snowfence.ErrBound):
		return nil, fmt.Errorf("snowfence: state file %s: %s uses it: stop that one, or give this one another node "+
			"and file (%w)", path, holderOf(abs), err)
	case err != nil:
		return nil, fmt.Errorf("snowfence: state file %s: %w", path, err)
	}
	writeHolder(lock)
	l := s.Layout()
	own := &share{numbers: numbers{l.First, l.Last}}
	m := world.Real().Machine()
	return &Fence{scheme: s, machine: m, path: abs, lock: lock, state: newState(s, node), ownShare: own}, nil
}

// realPath returns the one path behind all symbolic links, so that there is
// one lock. A file that does not exist yet is looked for in its folder.
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
	} else if disk.Links(info) > 1 {
		return "", fmt.Errorf("%w: it has another name too (a hard link), "+
			"under which another program can have it: keep one name", ErrUnusable)
	}
	return filepath.EvalSymlinks(abs)
}

// Scheme implements [snowfence.Fence].
func (f *Fence) Scheme() *snowfence.Scheme { return f.scheme }

// Bind implements [snowfence.Binder].
func (f *Fence) Bind(func() int64) (func(), error) { return f.bindShare(f.ownShare) }

// Held implements [snowfence.Fence].
func (f *Fence) Held(after int64) (snowfence.Grant, bool) { return f.heldBy(f.ownShare, after) }

// Grant implements [snowfence.Fence]. It writes the file unless it has a
// grant with Until > after.
func (f *Fence) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	return f.grantTo(f.ownShare, after)
}

// Release implements [snowfence.Fence]: it writes to the file that ticks
// from used on are free again.
func (f *Fence) Release(_ context.Context, _ snowfence.Grant, used int64) error {
	return f.releaseShare(f.ownShare, used)
}

func (f *Fence) heldBy(u *share, after int64) (snowfence.Grant, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heldGrant(u, after)
}

// heldGrant needs mu.
func (f *Fence) heldGrant(u *share, after int64) (snowfence.Grant, bool) {
	if f.state.until <= after || f.state.until == u.from || f.mayUse(u) != nil || f.machine.Copied() {
		return snowfence.Grant{}, false
	}
	g := snowfence.Grant{Node: f.state.node, From: u.from, Until: f.state.until}
	if u.slice {
		g.FirstSeq, g.LastSeq = u.first, u.last
	}
	return g, true
}

func (f *Fence) grantTo(u *share, after int64) (snowfence.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after > f.scheme.MaxTick() {
		return snowfence.Grant{}, overLifetime(f.scheme)
	}
	if err := cmp.Or(f.refuseCopy(), f.mayUse(u)); err != nil {
		return snowfence.Grant{}, err
	}
	gr, ok := f.heldGrant(u, after)
	if !ok {
		window := max(int64(stateWindow/f.scheme.Layout().Tick), 1)
		next := f.state
		next.until = min(max(after+1, u.from)+window, f.scheme.MaxTick()+1)
		if next.until <= u.from {
			return snowfence.Grant{}, overLifetime(f.scheme)
		}
		next.slices = f.slicesWith(u)
		if err := f.writeState(next); err != nil {
			return snowfence.Grant{}, err
		}
		gr, _ = f.heldGrant(u, after)
	}
	return gr, nil
}

func (f *Fence) releaseShare(u *share, used int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refuseCopy(); err != nil {
		return err
	}
	f.floor = max(f.floor, min(used, f.state.until))
	if f.sharedBeside(u) {
		u.from = f.state.until // others may have used every tick below
		return nil
	}
	next := f.state
	next.until = f.floor
	if err := f.writeState(next); err != nil {
		f.floor = f.state.until // what the file says is all that may be relied on
		u.from = f.floor
		return err
	}
	u.from = next.until
	return nil
}

// refuseCopy refuses a file if the machine was resumed from a snapshot: a
// copy of the machine may have a copy of the file. It moves the file away,
// so that later processes refuse it, too. It needs mu.
func (f *Fence) refuseCopy() error {
	if !f.machine.Copied() {
		return nil
	}
	if f.lock != nil { // after Close it may be a successor's
		_ = os.Rename(f.path, f.path+".copied") // or an earlier call did it
	}
	return f.unknownError("the machine was resumed from a snapshot, and a copy of it may use node %d", f.state.node)
}

// overLifetime is the error for ticks past the last one of a layout.
func overLifetime(s *snowfence.Scheme) error {
	return fmt.Errorf("%w: the time bits ran out at %s: change the layout",
		snowfence.ErrLifetime, s.Layout().EndOfLife().Format(time.RFC3339))
}

// Close unlocks the file. A second call does nothing.
func (f *Fence) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return nil
	}
	err := f.lock.Close()
	f.lock = nil
	return err
}

// fileClosed is an [snowfence.ErrClosed] for generators: waiting is in
// vain.
type fileClosed struct{}

func (fileClosed) Error() string        { return "it was closed" }
func (fileClosed) Is(target error) bool { return target == snowfence.ErrClosed }

// writeState makes next the content of the file, durably, or keeps the old
// content.
func (f *Fence) writeState(next fileState) error {
	if f.lock == nil {
		return fmt.Errorf("snowfence: state file %s: %w: %w", f.path, ErrUnusable, fileClosed{})
	}
	if err := sameFile(f.lock); err != nil {
		return fmt.Errorf("snowfence: state file %s: %w: %w", f.path, ErrUnusable, err)
	}
	if next.writes++; next.name == "" {
		next.name = rand.Text()
		if err := writeName(f.lock, next.name); err != nil {
			return fmt.Errorf("snowfence: writing the lock of state file %s: %w", f.path, err)
		}
	}
	if err := replaceFile(f.path, next.encode()); err != nil {
		return fmt.Errorf("snowfence: writing state file %s: %w", f.path, err)
	}
	f.state = next
	countWrites(f.lock, next.writes)
	return nil
}
