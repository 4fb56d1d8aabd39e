package statefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sameFile fails if the name of an open file leads to another file, or to
// none: another process may have locked that.
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

// replaceFile writes a new file, syncs it, renames it over path and syncs
// the folder. After a crash path has the old or the new content.
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
		return errors.Join(mountedAlone(err), os.Remove(temp))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// The lock file counts the writes of its state file. An older copy does not
// replace it, so that is noticed. It is written after the state file and
// not synced: it may be behind, never ahead. The name that both files have
// follows, and is synced before the state file has it. So a state file
// without its lock is noticed.
const (
	countLen = 20
	nameAt   = countLen + 1
	nameLen  = 26 // of rand.Text
	holderAt = nameAt + nameLen + 1
)

// writeName writes the name to a lock file, durably; its folder is synced
// with the state file.
func writeName(lock *os.File, name string) error {
	_, err := lock.WriteAt([]byte(name+"\n"), nameAt)
	return errors.Join(err, lock.Sync())
}

// nameIn returns the name in a lock file; another text is no state file's
// name.
func nameIn(lock *os.File) string {
	text := make([]byte, nameLen)
	_, _ = lock.ReadAt(text, nameAt)
	return string(text)
}

// writeHolder names the holder in a lock file, after the name. An error
// only means that a message says less.
func writeHolder(lock *os.File) {
	host, _ := os.Hostname()
	holder := fmt.Appendf(nil, "process %d (%s) on %s\n", os.Getpid(), filepath.Base(os.Args[0]), host)
	_ = lock.Truncate(holderAt)
	_, _ = lock.WriteAt(holder, holderAt)
}

// holderOf returns the last process that noted itself as the holder of a
// state file's lock.
func holderOf(path string) string {
	data, _ := os.ReadFile(path + ".lock")
	if len(data) <= holderAt {
		return "a process"
	}
	line, _, _ := strings.Cut(string(data[holderAt:]), "\n")
	return line
}

// countWrites writes the count to a lock file. An error only means that
// less is noticed.
func countWrites(lock *os.File, n int64) {
	_, _ = lock.WriteAt(fmt.Appendf(nil, "%0*d\n", countLen, n), 0)
}

// countedWrites returns the count of countWrites; 0 if it is not known.
func countedWrites(lock *os.File) int64 {
	text := make([]byte, countLen+1)
	if _, err := lock.ReadAt(text, 0); err != nil || text[countLen] != '\n' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[:countLen]), 10, 63)
	if err != nil {
		return 0
	}
	return int64(n)
}
