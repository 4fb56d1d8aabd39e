package sqlstore

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// witness is a file beside the database that says how many swaps it has seen. A database
// that has seen fewer was put back: by .restore, by a dump, or by a copy over the file.
//
// A swap is noted after its commit without a sync, so the file may be behind, never ahead.
// Programs note swaps in any order: each count goes to its own slot, and the highest
// counts.
type witness struct {
	path string
	like os.FileInfo // the database: who may write it may write its witness

	looks bool // it is never written; see [NewReadOnly]

	mu     sync.Mutex
	open   *os.File // nil when there is none
	denied error    // why this user may not write it: he may only read the database

	last noted // what it said when it was read last
}

// noted is what the file said of a database when it was read last.
type noted struct {
	text  [slots * slotWidth]byte
	id    string
	count int64
	known bool
}

const (
	slots     = 16
	slotWidth = 20 + 1 + 16 + 1
)

// slot is a count with a checksum, which names its database too.
func slot(id string, count int64) string {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s %d", id, count)
	return fmt.Sprintf("%020d %016x\n", count, sum.Sum64())
}

// floor returns the highest count noted for a database, and whether there is one.
func (w *witness) floor(id string) (count int64, known bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if count, known, err = w.read(id); known || err != nil {
		return count, known, err
	}
	if err := w.reopen(); err != nil { // it was deleted or replaced, or is there by now
		return 0, false, err
	}
	return w.read(id)
}

func (w *witness) read(id string) (count int64, known bool, err error) {
	if w.open == nil {
		return 0, w.denied != nil, nil
	}
	var text [slots * slotWidth]byte // what is missing in the file is zeros, which are no slot
	if _, err := w.open.ReadAt(text[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	}
	if text != w.last.text || id != w.last.id {
		w.last = noted{text: text, id: id}
		w.last.count, w.last.known = highest(&text, id)
	}
	return w.last.count, w.last.known, nil
}

// highest returns the highest count that a witness has for a database.
func highest(text *[slots * slotWidth]byte, id string) (count int64, known bool) {
	var counts [slots]int64
	for i := range counts {
		counts[i], _ = strconv.ParseInt(string(text[i*slotWidth:][:20]), 10, 64)
	}
	for range counts { // the highest one first
		i := 0
		for j := range counts {
			if counts[j] > counts[i] {
				i = j
			}
		}
		if string(text[i*slotWidth:(i+1)*slotWidth]) == slot(id, counts[i]) {
			return counts[i], true
		}
		counts[i] = -1
	}
	return 0, false
}

// note writes how many committed swaps a database has seen.
func (w *witness) note(id string, count int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looks || w.denied != nil || w.open == nil {
		return nil // who swaps asks first; see writable
	}
	_, err := w.open.WriteAt([]byte(slot(id, count)), count%slots*slotWidth)
	return err
}

// writable returns why swaps cannot be noted.
func (w *witness) writable() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.denied == nil {
		return nil
	}
	if err := w.reopen(); err != nil { // it may be allowed by now
		return err
	}
	return w.denied
}

// begin starts the file for a database with a new identity.
func (w *witness) begin(id string, count int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.reopen()
	if err == nil && w.open == nil {
		err = w.create()
	}
	if err != nil {
		return err
	}
	if _, err := w.open.WriteAt([]byte(strings.Repeat(slot(id, count), slots)), 0); err != nil {
		return err
	}
	return w.open.Sync()
}

func (w *witness) reopen() error {
	if w.open != nil {
		_ = w.open.Close()
		w.open = nil
	}
	f, err := os.OpenFile(w.path, os.O_RDWR, 0)
	w.denied = nil
	if errors.Is(err, fs.ErrPermission) {
		w.denied = err
		f, err = os.Open(w.path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err == nil {
		w.open = f
	}
	return err
}

// create gives the file the database's rights, as SQLite does for its side files.
func (w *witness) create() error {
	f, err := os.OpenFile(w.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w.open = f
	if err := owned(f, w.like); err != nil {
		return err
	}
	return f.Chmod(w.like.Mode().Perm())
}

func (w *witness) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open != nil {
		_ = w.open.Close()
		w.open = nil
	}
}
