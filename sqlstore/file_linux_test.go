package sqlstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
)

func TestFileCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func() {
		t.Helper()
		noError(t, os.WriteFile(path+".new", []byte("x"), 0o600))
		noError(t, os.Rename(path+".new", path))
	}
	fails(t, errOf(openFile(path)), "a file that is not there was opened")
	write()
	f, err := openFile(path)
	noError(t, err)
	id := f.number
	wantErr(t, f.checkFiles(files{}), nil, "the same file")
	if again, err := openFile(path); err != nil || again.number != id {
		t.Errorf("the same file has the identities %s and %s, %v", id, again.number, err)
	}
	noError(t, os.WriteFile(path, []byte("changed"), 0o600))
	if err := f.checkFiles(files{}); err != nil || f.number != id {
		t.Errorf("the same file with other content: %v, identity %s, was %s", err, f.number, id)
	}
	write()
	err = f.checkFiles(files{})
	if !errors.Is(err, store.ErrReplaced) || !strings.Contains(err.Error(), "another one") {
		t.Errorf("another file at the path: %v", err)
	}
	if g, err := openFile(path); err != nil || g.number == id {
		t.Errorf("another file has the same identity %s, %v", id, err)
	}
	noError(t, os.Remove(path))
	if err := f.checkFiles(files{}); !errors.Is(err, store.ErrReplaced) || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("no file at the path: %v", err)
	}
}

func TestSides(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		noError(t, os.WriteFile(path+suffix, nil, 0o600))
	}
	f, err := openFile(path)
	noError(t, err)
	for _, suffix := range suffixes[1:] {
		used, err := f.presentFiles()
		noError(t, err)
		wantErr(t, f.checkFiles(used), nil, "nothing changed")
		noError(t, os.WriteFile(path+".new", nil, 0o600))
		noError(t, os.Remove(path+suffix))
		if err := f.checkFiles(used); !errors.Is(err, store.ErrReplaced) ||
			!strings.Contains(err.Error(), suffix+" was deleted") {
			t.Errorf("%s was deleted: %v", suffix, err)
		}
		noError(t, os.Rename(path+".new", path+suffix))
		if err := f.checkFiles(used); !errors.Is(err, store.ErrReplaced) ||
			!strings.Contains(err.Error(), suffix+" is another one") {
			t.Errorf("%s is another one: %v", suffix, err)
		}
	}
}

// A file that is a mount of its own is refused, because its log is not.
func TestMountedFile(t *testing.T) {
	says(t, oneName("/ids.db", 1, true), "mount the folder", "a mounted file")
}
