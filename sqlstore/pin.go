package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"sync"
)

// The last connection of all processes that closes deletes the side files, and the next one
// makes new ones, which does no harm. While we have a connection open, only somebody who
// deletes or replaces them can change them. Those who come later then use other files, and
// neither side sees the other's commits. So one connection stays open while there are
// leases, and each use compares the files.

// maxSeen bounds the connections remembered without leases; then it starts over.
const maxSeen = 16

// Pin implements [store.Store]: it keeps one connection open. A pool without a spare one
// goes without: each connection is then compared with itself.
func (s *Store) Pin(ctx context.Context) (unpin func(), err error) {
	if err := s.use(ctx, toRead, nothing); err != nil {
		return nil, err
	}
	c, err := s.db.Conn(ctx) // before mu, which is taken by those who have one
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %s: %w", s.dialect.name, s.dialect.advice(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.db.Stats()
	spare := stats.MaxOpenConnections == 0 || stats.InUse < stats.MaxOpenConnections
	switch {
	case s.pinned != nil:
		_ = c.Close() // goes back to the pool
	case s.file == nil || !spare:
		_ = c.Close()
		return func() {}, nil
	default:
		used, err := s.firstSideFiles(ctx, c)
		if err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("sqlstore: %s: %w", s.dialect.name, s.dialect.advice(err))
		}
		s.pinned, s.sideFiles = &pinned{conn: c, statements: map[string]*sql.Stmt{}}, used
	}
	s.pins++
	return sync.OnceFunc(s.unpin), nil
}

func (s *Store) unpin() {
	s.mu.Lock()
	var last *pinned
	if s.pins--; s.pins == 0 {
		last, s.pinned = s.pinned, nil
	}
	s.mu.Unlock()
	last.close()
}

// sideFilesFor returns the side files of a connection, and [store.ErrReplaced] before a
// write if they are no longer at the path.
func (s *Store) sideFilesFor(ctx context.Context, c *sql.Conn, why purpose) (sideFiles, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.replaced != nil {
		return sideFiles{}, s.replaced
	}
	used := s.sideFiles
	if s.pinned == nil {
		var err error
		if used, err = s.firstSideFiles(ctx, c); err != nil {
			return sideFiles{}, err
		}
	}
	if why == toRead {
		return used, nil // compared afterwards
	}
	return used, s.checkFiles(used)
}

// firstSideFiles returns the side files from when a connection was first used. mu is held.
func (s *Store) firstSideFiles(ctx context.Context, c *sql.Conn) (used sideFiles, err error) {
	var id any
	err = c.Raw(func(conn any) error {
		if reflect.TypeOf(conn).Comparable() {
			id = conn
		}
		return nil
	})
	if err != nil {
		return sideFiles{}, err
	}
	if used, ok := s.seen[id]; ok && id != nil {
		return used, nil
	}
	if _, err := s.meta(ctx, c, "id"); err != nil { // the first read opens the side files
		return sideFiles{}, err
	}
	if used, err = s.file.sideFiles(); err != nil {
		return sideFiles{}, err
	}
	if s.seen == nil || len(s.seen) >= maxSeen {
		s.seen = map[any]sideFiles{}
	}
	s.seen[id] = used
	return used, nil
}

// checkPinned checks the files, with the pinned connection if there is one.
func (s *Store) checkPinned(ctx context.Context) error {
	s.mu.Lock()
	if s.pinned == nil {
		s.mu.Unlock()
		return s.use(ctx, toRead, nothing)
	}
	defer s.mu.Unlock()
	if err := s.checkFiles(s.sideFiles); err != nil {
		return fmt.Errorf("sqlstore: %s: %w", s.dialect.name, s.dialect.advice(err))
	}
	return nil
}

// checkFiles compares the files with a connection's side files. A replaced file stays
// replaced: nobody sees what its connections write, whatever comes in its place. mu is
// held.
func (s *Store) checkFiles(used sideFiles) error {
	if s.file == nil || s.replaced != nil {
		return s.replaced
	}
	err := s.file.check(used)
	if isReplaced(err) {
		s.replaced = err
	}
	return err
}
