package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"sync"
)

// The last connection of all processes that is closed deletes the side files, and the
// next one makes new ones: no harm is done. Where a connection of ours is open, they
// cannot change but by somebody who deletes or replaces them, and then those who come
// later use others than we do. Neither side would see the other's commits. So one
// connection stays open while there are leases, and each use compares.

// maxSeen bounds how many connections are remembered; a pool that opens and closes more
// without leases starts over.
const maxSeen = 16

// Pin implements [lease.Store]: it keeps one connection open. A pool without one to spare
// is left alone: there each connection is compared with itself.
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
		used, err := s.join(ctx, c)
		if err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("sqlstore: %s: %w", s.dialect.name, s.dialect.advice(err))
		}
		s.pinned, s.sides = &pinned{conn: c, statements: map[string]*sql.Stmt{}}, used
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

// joined returns the side files that a connection uses, and [lease.ErrReplaced] before a write
// where they are no longer the ones at the path.
func (s *Store) joined(ctx context.Context, c *sql.Conn, why purpose) (sides, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.replaced != nil {
		return sides{}, s.replaced
	}
	used := s.sides
	if s.pinned == nil {
		var err error
		if used, err = s.join(ctx, c); err != nil {
			return sides{}, err
		}
	}
	if why == toRead {
		return used, nil // compared afterwards
	}
	return used, s.compare(used)
}

// join returns the side files that were there when a connection was first used. mu is held.
func (s *Store) join(ctx context.Context, c *sql.Conn) (used sides, err error) {
	var id any
	err = c.Raw(func(conn any) error {
		if reflect.TypeOf(conn).Comparable() {
			id = conn
		}
		return nil
	})
	if err != nil {
		return sides{}, err
	}
	if used, ok := s.seen[id]; ok && id != nil {
		return used, nil
	}
	if _, err := s.meta(ctx, c, "id"); err != nil { // the first read opens the side files
		return sides{}, err
	}
	if used, err = s.file.sides(); err != nil {
		return sides{}, err
	}
	if s.seen == nil || len(s.seen) >= maxSeen {
		s.seen = map[any]sides{}
	}
	s.seen[id] = used
	return used, nil
}

// compared checks the files. Where a connection is pinned, no other one is needed for that.
func (s *Store) compared(ctx context.Context) error {
	s.mu.Lock()
	if s.pinned == nil {
		s.mu.Unlock()
		return s.use(ctx, toRead, nothing)
	}
	defer s.mu.Unlock()
	if err := s.compare(s.sides); err != nil {
		return fmt.Errorf("sqlstore: %s: %w", s.dialect.name, s.dialect.advice(err))
	}
	return nil
}

// compare checks the files against the side files of a connection. What was once replaced
// stays so: what its connections write reaches nobody, whatever is put in the place. mu
// is held.
func (s *Store) compare(used sides) error {
	if s.file == nil || s.replaced != nil {
		return s.replaced
	}
	err := s.file.check(used)
	if isReplaced(err) {
		s.replaced = err
	}
	return err
}
