package resp

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// New returns a server.
func New(cfg Config) *Server {
	s := &Server{
		Meter: cfg.Service.Meter(server.RESP), cfg: cfg, table: newTable(), startTime: time.Now(),
		conns: map[*conn]struct{}{}, ln: map[net.Listener]struct{}{},
		last: last{silence: 50 * time.Millisecond, runTime: 250 * time.Millisecond, refuseTime: time.Second},
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Serve accepts connections until the listener or the server is closed, and
// closes the listener. It returns nil when Shutdown was the reason.
func (s *Server) Serve(ln net.Listener) error {
	defer ln.Close()
	s.mu.Lock()
	if s.life.Err() != nil {
		s.mu.Unlock()
		return nil
	}
	s.ln[ln] = struct{}{}
	s.mu.Unlock()
	for pause := time.Duration(0); ; {
		c, err := ln.Accept()
		if err == nil {
			pause = 0
			s.serveConn(c)
			continue
		}
		if s.life.Err() != nil {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		// Out of file descriptors, for instance: connected clients go on.
		pause = min(max(5*time.Millisecond, 2*pause), time.Second)
		s.cfg.Logger.Warn("accepting a connection failed", "wire", "resp", "cause", err)
		select {
		case <-time.After(pause):
		case <-s.life.Done():
			return nil
		}
	}
}

// serveConn serves a connection in a goroutine of its own, or refuses it.
func (s *Server) serveConn(nc net.Conn) {
	user := s.cfg.User(nc)
	c := &conn{
		srv: s, c: nc, proto: 2, user: user, id: cmp.Or(user, s.cfg.Auth().Anyone()), number: s.lastID.Add(1),
		place: s.Enter(nc.RemoteAddr(), user, s.cfg.MaxConns),
	}
	s.mu.Lock()
	ended := s.life.Err() != nil
	if c.place != nil && !ended {
		s.conns[c] = struct{}{}
		s.done.Add(1)
	}
	s.mu.Unlock()
	if c.place == nil || ended {
		why := []byte("-ERR max number of clients reached\r\n")
		if ended {
			why = appendError(nil, server.Unavailable.Word(), server.ErrStopping.Error())
		}
		go func() {
			if c.place != nil {
				c.place.Leave()
			}
			if _, encrypts := nc.(secure); !encrypts { // no handshake of a refused client is waited for
				_ = nc.SetDeadline(time.Now().Add(s.cfg.Slow))
				_, _ = nc.Write(why)
			}
			_ = nc.Close()
		}()
		return
	}
	go func() {
		defer s.done.Done()
		c.serve()
		c.place.Leave()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
}

// Shutdown stops accepting, answers the commands of clients until they are
// silent for a moment, and closes all connections, by force when ctx ends.
// Busy clients are told to go after a while.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.end()
	for ln := range s.ln {
		_ = ln.Close() // it is closed by Serve, too
	}
	for c := range s.conns {
		_ = c.c.SetReadDeadline(time.Unix(1, 0)) // wakes readers of commands; replies still go out
	}
	s.mu.Unlock()
	over := make(chan struct{})
	go func() {
		s.done.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		_ = c.c.Close()
	}
	s.mu.Unlock()
	<-over
	return ctx.Err()
}
