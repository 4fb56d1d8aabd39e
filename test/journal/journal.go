//go:build unix

// Package journal is a small store of leases: records in memory, and a file to which each
// swap is added and synced before it counts. It is the example of
// docs/reference/adding-a-store.md, and serves one process at a time.
package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/snowfence/snowfence/lease"
)

// Store is a lease.Store over one file. It is safe for concurrent use.
type Store struct {
	lease.Basic
	path string
	f    *os.File

	mu      sync.Mutex
	id      string
	records map[lease.Key]lease.Record
	broken  error // what went wrong with a write; after it nothing is known any more
}

// line is one line of the file: who it is, in the first, or a record.
type line struct {
	ID     string        `json:",omitempty"`
	Record *lease.Record `json:",omitempty"`
}

// Open opens the file, and makes it if there is none. A second process is refused.
func Open(path string) (_ *Store, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, f: f, records: map[lease.Key]lease.Record{}}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %s: %w", path, err), f.Close())
	}
	return s, nil
}

func (s *Store) load() error {
	if err := syscall.Flock(int(s.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another process has it: stop that one: %w", err)
	}
	data, err := io.ReadAll(s.f)
	if err != nil {
		return err
	}
	// what stands behind is a write that was cut off, and was never acknowledged
	whole := bytes.LastIndexByte(data, '\n') + 1
	for text := range bytes.Lines(data[:whole]) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil || (l.ID == "") == (l.Record == nil) {
			return fmt.Errorf("a line is damaged: put a backup in its place: %.100q", text)
		}
		if l.Record == nil {
			s.id = l.ID
		} else {
			s.records[l.Record.Key] = *l.Record
		}
	}
	if err := s.f.Truncate(int64(whole)); err != nil {
		return err
	}
	if _, err := s.f.Seek(int64(whole), io.SeekStart); err != nil {
		return err
	}
	if s.id == "" {
		s.id = rand.Text()
		if err := s.add(line{ID: s.id}); err != nil {
			return err
		}
	}
	if err := s.f.Sync(); err != nil { // the process before may have been killed between write and sync
		return err
	}
	return syncFolder(s.path)
}

// add writes lines at the end, in one piece.
func (s *Store) add(lines ...line) error {
	var b bytes.Buffer
	for _, l := range lines {
		if err := json.NewEncoder(&b).Encode(l); err != nil {
			return err
		}
	}
	_, err := s.f.Write(b.Bytes())
	return err
}

// syncFolder makes the name of a new file durable.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Get implements lease.Store.
func (s *Store) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(ctx.Err(), s.broken); err != nil {
		return nil, err
	}
	out := make([]lease.Record, len(keys))
	for i, k := range keys {
		out[i] = s.records[k]
		out[i].Key = k
	}
	return out, nil
}

// List implements lease.Store.
func (s *Store) List(ctx context.Context, q lease.Query) ([]lease.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(ctx.Err(), s.broken); err != nil {
		return nil, err
	}
	var out []lease.Record
	for _, r := range s.records {
		if q.Match(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, q.Compare)
	if q.Limit > 0 {
		out = out[:min(q.Limit, len(out))]
	}
	return out, nil
}

// Swap implements lease.Store.
func (s *Store) Swap(ctx context.Context, writes []lease.Write) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(writes))
	if err := errors.Join(ctx.Err(), s.broken, lease.Distinct(writes)); err != nil {
		return fill(errs, err)
	}
	var lines []line
	for i, w := range writes {
		if s.records[w.New.Key].Nonce != w.Old {
			errs[i] = lease.ErrLost
			continue
		}
		lines = append(lines, line{Record: &w.New})
	}
	if len(lines) == 0 {
		return errs
	}
	if err := errors.Join(s.add(lines...), s.f.Sync()); err != nil {
		s.broken = fmt.Errorf("journal: %s: it is not known what is on the disk: open it again: %w", s.path, err)
		return fill(errs, s.broken)
	}
	for _, l := range lines { // only what is on the disk is shown to others
		s.records[l.Record.Key] = *l.Record
	}
	return errs
}

func fill(errs []error, err error) []error {
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// Identity implements lease.Store: another file in its place is another store.
func (s *Store) Identity(context.Context, string) (string, error) {
	open, err := s.f.Stat()
	if err != nil {
		return "", err
	}
	there, err := os.Stat(s.path)
	if err != nil || !os.SameFile(open, there) {
		return "", fmt.Errorf("journal: %s: %w", s.path, lease.ErrReplaced)
	}
	return s.id, nil
}

// Close closes the file. What was acknowledged is in it.
func (s *Store) Close() error { return s.f.Close() }
