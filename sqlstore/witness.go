package sqlstore

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/internal/disk"
)

// The witness is a file beside the database that says how many swaps it has
// seen. A database that has seen fewer was put back: by .restore, by a
// dump, or by a copy over the file.
//
// A swap is noted after its commit without a sync, so the file may be
// behind, never ahead. Programs note swaps in any order: each count goes to
// its own slot, and the highest counts.

const (
	slots     = 16
	slotWidth = 20 + 1 + 16 + 1
)

// highestNote returns the highest count noted for a database, and whether
// there is one.
func (f *file) highestNote(id string) (count int64, known bool, err error) {
	if f == nil || f.blind || id == "" {
		return 0, true, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if count, known, err = f.noted(id); known || err != nil {
		return count, known, err
	}
	if err := f.reopen(); err != nil { // it was deleted or replaced, or is there by now
		return 0, false, fmt.Errorf("reading the witness beside the database: %w", err)
	}
	return f.noted(id)
}

func (f *file) noted(id string) (count int64, known bool, err error) {
	if f.open == nil {
		return 0, f.denial != nil, nil
	}
	var text [slots * slotWidth]byte // what is missing in the file is zeros, which are no slot
	if _, err := f.open.ReadAt(text[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, false, fmt.Errorf("reading the witness beside the database: %w", err)
	}
	count, known = highest(&text, id)
	return count, known, nil
}

// highest returns the highest count that a witness has for a database.
func highest(text *[slots * slotWidth]byte, id string) (count int64, known bool) {
	for at := 0; at < len(text); at += slotWidth {
		n, err := strconv.ParseInt(string(text[at:at+20]), 10, 64)
		if err == nil && (n > count || !known) && string(text[at:at+slotWidth]) == slot(id, n) {
			count, known = n, true
		}
	}
	return count, known
}

// slot is a count with a checksum, which names its database too.
func slot(id string, count int64) string {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s %d", id, count)
	return fmt.Sprintf("%020d %016x\n", count, sum.Sum64())
}

// noteCount writes how many committed swaps a database has seen.
func (f *file) noteCount(id string, count int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looks || f.denial != nil || f.open == nil {
		return nil // who swaps asks first; see writable
	}
	if _, err := f.open.WriteAt([]byte(slot(id, count)), count%slots*slotWidth); err != nil {
		return fmt.Errorf("writing the witness beside the database: %w", err)
	}
	return nil
}

// writable returns why swaps cannot be noted.
func (f *file) writable() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.denial == nil {
		return nil
	}
	if err := cmp.Or(f.reopen(), f.denial); err != nil { // it may be allowed by now
		return fmt.Errorf("the witness beside the database: %w", err)
	}
	return nil
}

// beginWitness starts the witness of a database with a new identity.
func (f *file) beginWitness(id string, count int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.reopen()
	if err == nil && f.open == nil {
		err = f.createWitness()
	}
	if err == nil {
		_, err = f.open.WriteAt([]byte(strings.Repeat(slot(id, count), slots)), 0)
	}
	if err == nil {
		err = f.open.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing the witness beside the database: %w", err)
	}
	return nil
}

func (f *file) reopen() error {
	f.closeWitness()
	f.denial = nil
	w, err := os.OpenFile(f.path+"-witness", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		f.denial = err
		w, err = os.Open(f.path + "-witness")
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err == nil {
		f.open = w
	}
	return err
}

// createWitness gives the witness the database's rights, as SQLite does for
// its side files.
func (f *file) createWitness() (err error) {
	if f.open, err = os.OpenFile(f.path+"-witness", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err := disk.Own(f.open, f.info); err != nil {
		return err
	}
	return f.open.Chmod(f.info.Mode().Perm())
}

func (f *file) closeWitness() {
	if f.open != nil {
		_ = f.open.Close()
		f.open = nil
	}
}
