package sqlstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/snowfence/snowfence/internal/disk"
	"github.com/snowfence/snowfence/lease/store"
)

// file is a database file as the store found it at its first use.
type file struct {
	path string // with symbolic links resolved, as SQLite does it: the names of the side files come from it
	info os.FileInfo

	number string // its inode, which tells it from a copy

	blind bool // connections never write, and the witness is not read
	looks bool // the witness is read and never written; see [NewReadOnly]

	mu     sync.Mutex
	open   *os.File // the witness; nil when there is none
	denial error    // why this user may not write it: he may only read the database
}

// files are a database, its log and its shared memory. A nil one did not
// exist.
type files [3]os.FileInfo

var suffixes = [len(files{})]string{"", "-wal", "-shm"}

func openFile(path string) (*file, error) {
	// Never opened: closing a second descriptor would drop SQLite's locks
	// in this process.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the file %s was deleted while it was opened: try again", path)
	}
	if err != nil {
		return nil, err
	}
	kind, err := disk.Network(path)
	switch {
	case err != nil:
		return nil, err
	case kind != "":
		return nil, fmt.Errorf("the file %s is on a network file system (%s), where the locks of SQLite do not hold: "+
			"choose a file on a local disk, or a database server for several machines", path, kind)
	}
	if err := oneName(path, disk.Links(info), disk.Mounted(path)); err != nil {
		return nil, err
	}
	return newFile(path, info), nil
}

func newFile(path string, info os.FileInfo) *file {
	return &file{path: path, info: info, number: fmt.Sprintf(":%d", disk.Inode(info))}
}

// oneName refuses a file with several names, because each name has side
// files of its own.
func oneName(path string, names uint64, mounted bool) error {
	if names > 1 {
		return fmt.Errorf("the file %s has %d names (hard links), and SQLite keeps the last commits beside each "+
			"name, where users of another name do not see them:"+
			" delete the other names (find them with: find DIR -samefile %s), or use symbolic links, which are safe",
			path, names, path)
	}
	if mounted {
		return fmt.Errorf("the file %s is a mount point of its own, and SQLite keeps the last commits in a file "+
			"beside it, where programs outside of the mount do not see them:"+
			" mount the folder that contains the file instead (for containers: -v /data:/data, not -v "+
			"/data/ids.db:/ids.db)", path)
	}
	return nil
}

// checkFiles reports whether the path still leads to the same files. Grants
// written into others protect nothing, because programs that open the path
// do not see them.
func (f *file) checkFiles(used files) error {
	now, err := f.presentFiles()
	if err != nil {
		return err
	}
	used[0] = f.info // which is the same for all connections
	for i, suffix := range suffixes {
		if err := unchanged(f.path+suffix, used[i], now[i]); err != nil {
			return err
		}
	}
	return nil
}

// presentFiles returns the files that the path leads to.
func (f *file) presentFiles() (now files, err error) {
	for i, suffix := range suffixes {
		if now[i], err = os.Stat(f.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return now, err
		}
	}
	return now, nil
}

func unchanged(path string, before, now os.FileInfo) error {
	what := "is another one than the one that was opened"
	switch {
	case before == nil && now == nil, before != nil && now != nil && os.SameFile(before, now):
		return nil
	case now == nil:
		what = "was deleted while in use"
	}
	return fmt.Errorf("%w: the file %s %s: restart the programs that use it, so that all use the same one",
		store.ErrReplaced, path, what)
}
