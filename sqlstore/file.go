package sqlstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/snowfence/snowfence/internal/disk"
	"github.com/snowfence/snowfence/lease/store"
)

// file is a database file as the store found it at its first use.
type file struct {
	path string // with symbolic links resolved, as SQLite does it: the names of the side files come from it
	info os.FileInfo

	number  string   // that tells it from a copy
	witness *witness // of its swaps; nil for connections that never write
}

// sideFiles are the log and the shared memory beside a database. A nil one did not exist.
type sideFiles [2]os.FileInfo

var suffixes = [len(sideFiles{})]string{"-wal", "-shm"}

func openFile(path string) (*file, error) {
	// Never opened: closing a second descriptor would drop SQLite's locks in this process.
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
	f := &file{path: path, info: info}
	f.number = f.identity()
	return f, nil
}

// floor returns how many swaps the witness knows of, and whether it knows the database.
func (f *file) floor(id string) (count int64, known bool, err error) {
	if f == nil || f.witness == nil || id == "" {
		return 0, true, nil
	}
	if count, known, err = f.witness.floor(id); err != nil {
		err = fmt.Errorf("reading the witness beside the database: %w", err)
	}
	return count, known, err
}

// oneName refuses a file with several names, because each name has side files of its own.
func oneName(path string, names uint64, mounted bool) error {
	if names > 1 {
		return fmt.Errorf("the file %s has %d names (hard links), and SQLite keeps the last commits beside each "+
			"name, where users of another name do not see them:"+
			" delete the other names (find them with: find DIR -samefile %s), or use symbolic links, which are safe",
			path, names, path)
	}
	if mounted {
		return fmt.Errorf("the file %s is a mount point of its own, and SQLite keeps the last commits in a file "+
			"beside it, where those outside of the mount do not see them:"+
			" mount the folder that contains the file instead (for containers: -v /data:/data, not -v "+
			"/data/ids.db:/ids.db)", path)
	}
	return nil
}

// sideFiles returns those that the path leads to now.
func (f *file) sideFiles() (s sideFiles, err error) {
	for i, suffix := range suffixes {
		if s[i], err = os.Stat(f.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return s, nil
}

// check reports whether the path still leads to the same files. Grants written into others
// protect nobody, because those who open the path do not see them.
func (f *file) check(s sideFiles) error {
	info, err := os.Stat(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unchanged(f.path, f.info, info); err != nil {
		return err
	}
	now, err := f.sideFiles()
	if err != nil {
		return err
	}
	for i, suffix := range suffixes {
		if err := unchanged(f.path+suffix, s[i], now[i]); err != nil {
			return err
		}
	}
	return nil
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
