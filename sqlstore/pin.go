package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"reflect"
	"sync"

	"github.com/snowfence/snowfence/lease/store"
)

// The last connection of all processes that closes deletes the side files,
// and the next one makes new ones, which does no harm. While we have a
// connection open, only a program that deletes or replaces them can change
// them. Programs that come later then use other files, and neither side
// sees the other's commits. So one connection stays open while there are
// leases, and each use compares the files.

// maxSeen bounds the connections remembered without leases; then it starts
// over.
const maxSeen = 16

// pinned is the connection that stays open while there are leases. Reads
// and renewals use it when it is free: prepared statements halve their
// cost, and its own last write saves reading the file again.
//
// It begins no transaction, because a failed one may cost the connection.
type pinned struct {
	conn *sql.Conn

	mu         sync.Mutex           // held while it is in use
	statements map[string]*sql.Stmt // by their text; nil when the connection is closed
}

// Pin implements [store.Store]: it keeps one connection. Over a server, the
// application's transactions can then not delay a renewal, so Pin refuses a
// pool of one connection. Over SQLite, Pin keeps none if the pool has no
// spare one.
func (s *Store) Pin(ctx context.Context) (unpin func(), err error) {
	if _, err := s.ask(ctx); err != nil {
		return nil, err
	}
	if !s.dialect.embedded {
		return s.keepConnection(ctx)
	}
	c, err := s.db.Conn(ctx) // before mu, which is taken by those who have one
	if err != nil {
		return nil, s.explainError(err)
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
		if err = sqliteDurable(ctx, c); err == nil { // no other process can change that
			s.sideFiles, err = s.firstSideFiles(ctx, c)
		}
		if err != nil {
			_ = c.Close()
			return nil, s.explainError(err)
		}
		s.pinned = &pinned{conn: c, statements: map[string]*sql.Stmt{}}
	}
	s.pins++
	return sync.OnceFunc(s.unpin), nil
}

func (s *Store) unpin() {
	s.mu.Lock()
	var last *pinned
	var k kept
	if s.pins--; s.pins == 0 {
		last, s.pinned = s.pinned, nil
		k, s.spare = s.spare, nil
	}
	s.mu.Unlock()
	last.close()
	if k != nil {
		k.close()
	}
}

// sideFilesFor returns the side files of a connection, and
// [store.ErrReplaced] before a write if they are no longer at the path.
func (s *Store) sideFilesFor(ctx context.Context, c *sql.Conn, why purpose) (files, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.replacement != nil {
		return files{}, s.replacement
	}
	used := s.sideFiles
	if s.pinned == nil {
		var err error
		if used, err = s.firstSideFiles(ctx, c); err != nil {
			return files{}, err
		}
	}
	if why == toRead {
		return used, nil // compared afterwards
	}
	return used, s.checkFiles(used)
}

// firstSideFiles returns the side files from when a connection was first
// used. mu is held.
func (s *Store) firstSideFiles(ctx context.Context, c *sql.Conn) (used files, err error) {
	var id any // the connection itself, so that no later one has its address
	err = c.Raw(func(conn any) error {
		if reflect.TypeOf(conn).Comparable() {
			id = conn
		}
		return nil
	})
	if err != nil {
		return files{}, err
	}
	if used, ok := s.seen[id]; ok && id != nil {
		return used, nil
	}
	if _, err := s.readMeta(ctx, c, "id"); err != nil { // the first read opens the side files
		return files{}, err
	}
	if used, err = s.file.presentFiles(); err != nil {
		return files{}, err
	}
	if len(s.seen) >= maxSeen {
		s.seen = map[any]files{}
	}
	s.seen[id] = used
	return used, nil
}

// replacedElse returns that the files were replaced, if the pinned
// connection shows it, and else the reason why there is no connection.
func (s *Store) replacedElse(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned == nil {
		return err
	}
	return cmp.Or(s.checkFiles(s.sideFiles), err)
}

// checkFiles compares the files with a connection's side files. A replaced
// file stays replaced: no program sees what its connections write, whatever
// comes in its place. mu is held.
func (s *Store) checkFiles(used files) error {
	if s.file == nil || s.replacement != nil {
		return s.replacement
	}
	err := s.file.checkFiles(used)
	if errors.Is(err, store.ErrReplaced) {
		s.replacement = err
	}
	return err
}

// preparedStatement returns a prepared statement and a function that ends
// its use. It is nil when the connection is in use or gone. There are about
// 15: keys are asked for in powers of two.
func (p *pinned) preparedStatement(ctx context.Context, query string) (*sql.Stmt, func()) {
	if p == nil || !p.mu.TryLock() {
		return nil, nil
	}
	st := p.statements[query]
	if st == nil && p.statements != nil {
		if made, err := p.conn.PrepareContext(ctx, query); err == nil {
			st, p.statements[query] = made, made
		}
	}
	if st == nil {
		p.mu.Unlock()
		return nil, nil
	}
	return st, p.mu.Unlock
}

// close gives the connection back to the pool.
func (p *pinned) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, statement := range p.statements {
		_ = statement.Close()
	}
	p.statements = nil
	_ = p.conn.Close()
}
