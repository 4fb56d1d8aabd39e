package sqlstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/snowfence/snowfence/lease"
)

// file is a database file as it was when the store was first used.
type file struct {
	path string
	info os.FileInfo
}

func openFile(path string) (*file, error) {
	// Only looked at, never opened: closing a second descriptor of a file drops the locks that SQLite holds in this process.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the file %s was deleted while it was opened: try again", path)
	}
	if err != nil {
		return nil, err
	}
	if err := local(path); err != nil {
		return nil, err
	}
	return &file{path, info}, nil
}

// check reports whether the path still leads to the same file. Grants written into any other file protect nobody.
func (f *file) check() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("sqlstore: %w: the file %s was deleted while in use: restart the programs that use it, so that all use the same one", lease.ErrReplaced, f.path)
	case err != nil:
		return fmt.Errorf("sqlstore: %w", err)
	case !os.SameFile(f.info, info):
		return fmt.Errorf("sqlstore: %w: the file %s is another one than the one that was opened: restart the programs that use it, so that all use the same one", lease.ErrReplaced, f.path)
	}
	return nil
}
