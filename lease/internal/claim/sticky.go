package claim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A sticky file remembers across restarts which node a process held last.
// It is read before the search and written after an acquisition. It is only
// a hint, so it is not synced: the node's record is read before the swap,
// and the swap decides.

const stickyForm = "snowfence sticky 1\nnamespace %s\nnode %d\n"

// stickyNode returns the node that the sticky file names.
func (s *Setup) stickyNode() []int64 {
	if s.StickyFile == "" {
		return nil
	}
	node, err := readSticky(s.StickyFile, s.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the first start
	case err != nil:
		s.Logger.Warn("sticky file ignored", "namespace", s.Name, "file", s.StickyFile, "cause", err)
		return nil
	}
	return []int64{node}
}

func readSticky(path, namespace string) (node int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var in string
	if _, err := fmt.Sscanf(string(data), stickyForm, &in, &node); err != nil ||
		fmt.Sprintf(stickyForm, in, node) != string(data) || node < 0 {
		return 0, errors.New("it is damaged, or no sticky file")
	}
	if in != namespace {
		return 0, fmt.Errorf("it is of namespace %q: use a file for each", in)
	}
	return node, nil
}

// noteSticky writes the sticky file. That it cannot is no reason to be
// without a node.
func (s *Setup) noteSticky(node int64) {
	path := s.StickyFile
	if path == "" {
		return
	}
	if err := writeSticky(path, fmt.Sprintf(stickyForm, s.Name, node)); err != nil {
		s.Logger.Warn("sticky file not written", "namespace", s.Name, "file", path, "node", node, "cause", err)
	}
}

// writeSticky replaces the file in one step, so that a reader sees the old
// content or the new.
func writeSticky(path, text string) error {
	w, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	_, err = w.WriteString(text)
	if err = errors.Join(err, w.Close()); err == nil {
		err = os.Rename(w.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(w.Name()))
	}
	return nil
}
