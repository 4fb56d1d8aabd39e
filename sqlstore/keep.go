package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// kept holds the connection of a store's leases, so that a renewal waits
// for no transaction of the application. It is empty while a call uses the
// connection; nil replaces a dropped connection.
type kept chan *sql.Conn

// keepConnection takes a connection out of the pool for all leases of the
// store.
func (s *Store) keepConnection(ctx context.Context) (unpin func(), err error) {
	if s.db.Stats().MaxOpenConnections == 1 {
		return nil, fmt.Errorf("sqlstore: the pool has one connection (SetMaxOpenConns(1)), and a lease needs one for "+
			"itself, so that its renewals wait for no transaction: allow 2 or more, or give the "+
			"IDs a *sql.DB of their own (%w)", lease.ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins++; s.pins == 1 {
		s.spare = make(kept, 1)
		s.spare <- nil
	}
	return sync.OnceFunc(s.unpin), nil
}

// connection returns the kept connection. While another call uses that, it
// returns the kept one or one of the pool, whichever is free first.
func (s *Store) connection(ctx context.Context) (c *sql.Conn, giveBack func(drop bool), err error) {
	s.mu.Lock()
	k := s.spare
	s.mu.Unlock()
	select {
	case c = <-k:
	default:
		return s.eitherConnection(ctx, k)
	}
	return s.ownConnection(ctx, k, c)
}

// ownConnection returns the kept connection, or another one that it keeps
// from now on.
func (s *Store) ownConnection(ctx context.Context, k kept, c *sql.Conn) (*sql.Conn, func(drop bool), error) {
	if c == nil {
		var err error
		if c, err = s.db.Conn(ctx); err != nil {
			k <- nil
			return nil, nil, err
		}
	}
	return c, func(bad bool) {
		if bad {
			drop(c)
			c = nil
		}
		k <- c
	}, nil
}

// eitherConnection waits for the pool, and for the kept connection if there
// is one.
func (s *Store) eitherConnection(ctx context.Context, k kept) (*sql.Conn, func(drop bool), error) {
	pooled := func(c *sql.Conn, err error) (*sql.Conn, func(bool), error) {
		return c, func(bad bool) {
			if bad {
				drop(c)
			}
			_ = c.Close()
		}, err
	}
	if k == nil {
		return pooled(s.db.Conn(ctx))
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		c   *sql.Conn
		err error
	}
	pool := make(chan result, 1)
	go func() {
		c, err := s.db.Conn(waiting)
		pool <- result{c, err}
	}()
	select {
	case r := <-pool:
		return pooled(r.c, r.err)
	case c := <-k:
		go func() { // it may have got one meanwhile
			if r := <-pool; r.err == nil {
				_ = r.c.Close()
			}
		}()
		return s.ownConnection(ctx, k, c)
	}
}

// close gives the connection back to the pool, at the latest when the call
// ends that uses it.
func (k kept) close() {
	end := func(c *sql.Conn) {
		if c != nil {
			_ = c.Close()
		}
	}
	select {
	case c := <-k:
		end(c)
	default:
		go func() { end(<-k) }()
	}
}

// drop closes a connection, which does not go back to the pool.
func drop(c *sql.Conn) { _ = c.Raw(func(any) error { return driver.ErrBadConn }) }

// serverAnswers reports whether the server answers at all, after a
// statement had no answer. It drops the idle connections that are silent:
// they are as old as the silent one.
func (s *Store) serverAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	var silent sync.WaitGroup
	for range s.db.Stats().Idle {
		silent.Go(func() {
			if c, err := s.db.Conn(ctx); err == nil {
				if c.PingContext(ctx) != nil {
					drop(c)
				}
				_ = c.Close()
			}
		})
	}
	silent.Wait()
	return s.db.PingContext(ctx) == nil
}
