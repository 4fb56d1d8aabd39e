//go:build unix

// Package journal is a small store of leases: records in memory, and a file
// to which each swap is added and synced before it counts. It is the
// example of docs/reference/adding-a-store.md, and serves one process at a
// time.
package journal

import (
	"bytes"
	"cmp"
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

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Store is a store.Store over one file. It is safe for concurrent use.
type Store struct {
	store.Basic
	path string
	f    *os.File

	mu      sync.Mutex
	id      string
	records map[store.Key]store.Record
	failure error // what went wrong with a write; after it nothing is known any more
}

// line is one line of the file: the identity, in the first, or a record.
type line struct {
	ID     string        `json:",omitempty"`
	Record *store.Record `json:",omitempty"`
}

// Open opens the file, and makes it if there is none. A second process is
// refused.
func Open(path string) (_ *Store, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, f: f, records: map[store.Key]store.Record{}}
	if err := s.loadFile(); err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %s: %w", path, err), f.Close())
	}
	return s, nil
}

func (s *Store) loadFile() error {
	if err := syscall.Flock(int(s.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another process has it: stop that one: %w", err)
	}
	data, err := io.ReadAll(s.f)
	if err != nil {
		return err
	}
	// The rest is a write that was cut off, and was never acknowledged.
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
		if err := s.appendLines(line{ID: s.id}); err != nil {
			return err
		}
	}
	if err := s.f.Sync(); err != nil { // the process before may have been killed between write and sync
		return err
	}
	return syncFolder(s.path)
}

// appendLines writes lines at the end, in one piece.
func (s *Store) appendLines(lines ...line) error {
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

// reply identifies the store: another file in its place is another store.
func (s *Store) reply(ctx context.Context) (none store.Reply, _ error) {
	open, err := s.f.Stat()
	if err := errors.Join(err, ctx.Err(), s.failure); err != nil {
		return none, err
	}
	there, err := os.Stat(s.path)
	if err != nil || !os.SameFile(open, there) {
		return none, fmt.Errorf("journal: %s: %w", s.path, store.ErrReplaced)
	}
	return store.Reply{Identity: s.id}, nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := s.reply(ctx)
	if err != nil {
		return nil, reply, err
	}
	out := make([]store.Record, len(keys))
	for i, k := range keys {
		out[i] = s.records[k]
		out[i].Key = k
	}
	return out, reply, nil
}

// List implements store.Store.
func (s *Store) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := s.reply(ctx)
	if err != nil {
		return nil, reply, err
	}
	out := s.recordsThat(func(k store.Key) bool {
		return k.Namespace == namespace && k.Node >= nodes.From && k.Node < nodes.Until
	})
	return out[:min(limit, len(out))], reply, nil
}

// Heads implements store.Store.
func (s *Store) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := s.reply(ctx)
	if err != nil {
		return nil, reply, err
	}
	return s.recordsThat(func(k store.Key) bool {
		return k.Node == store.NamespaceNode || k.Node == store.SequenceNode
	}), reply, nil
}

// recordsThat returns the records that match, in the order of their keys.
func (s *Store) recordsThat(match func(store.Key) bool) []store.Record {
	var out []store.Record
	for k, r := range s.records {
		if match(k) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// Swap implements store.Store.
func (s *Store) Swap(ctx context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(writes))
	reply, err := s.reply(ctx)
	if err := errors.Join(err, store.Check(writes)); err != nil {
		return fill(errs, err), nil, reply
	}
	var lines []line
	for i, w := range writes {
		if s.records[w.New.Key].Nonce != w.Old {
			errs[i] = store.ErrLost
			continue
		}
		lines = append(lines, line{Record: &w.New})
	}
	if len(lines) == 0 {
		return errs, nil, reply
	}
	if err := errors.Join(s.appendLines(lines...), s.f.Sync()); err != nil {
		s.failure = fmt.Errorf("journal: %s: it is not known what is on the disk: open it again: %w", s.path, err)
		return fill(errs, s.failure), nil, reply
	}
	for _, l := range lines { // only what is on the disk is shown to others
		s.records[l.Record.Key] = *l.Record
	}
	return errs, nil, reply
}

func fill(errs []error, err error) []error {
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// Suspect implements store.Store: the last line with an ID counts.
func (s *Store) Suspect(_ context.Context, identity string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil || s.id != identity {
		return s.failure
	}
	id := rand.Text()
	if err := errors.Join(s.appendLines(line{ID: id}), s.f.Sync()); err != nil {
		s.failure = fmt.Errorf("journal: %s: it is not known what is on the disk: open it again: %w", s.path, err)
		return s.failure
	}
	s.id = id
	return nil
}

// Close closes the file. All acknowledged writes are in it.
func (s *Store) Close() error { return s.f.Close() }
