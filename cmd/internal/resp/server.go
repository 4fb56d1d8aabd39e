// Package resp is the service over the Redis protocol, versions 2 and 3, so
// that every Redis client in every language is a client.
package resp

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Config says how a Server works.
type Config struct {
	Service *server.Service
	Auth    func() *server.Auth // who callers are; asked at each AUTH, so that tokens can be reloaded
	Version string              // of the program, for HELLO and INFO

	// User returns who a program at a socket of an agent is; nil if that is
	// not known.
	User func(c net.Conn) *server.Identity

	// MaxConns bounds how many clients there are at a time.
	MaxConns int

	// Slow is how long a client may take to identify itself, to send the
	// rest of a command, or to take its replies.
	Slow time.Duration

	Logger *slog.Logger
}

// Server serves connections. All methods are safe for concurrent use.
type Server struct {
	cfg       Config
	table     []*command // sorted by name
	startTime time.Time
	last      last
	life      context.Context
	end       context.CancelFunc

	*server.Meter

	lastID atomic.Int64
	mu     sync.Mutex
	conns  map[*conn]struct{}
	ln     map[net.Listener]struct{}
	done   sync.WaitGroup
}

// command is one entry of the table of commands.
type command struct {
	name        string // upper case
	arity       int    // as COMMAND says it: number of words, the name included; negative for at least
	anonymous   bool   // needs no authentication
	isQueueable bool   // goes between MULTI and EXEC
	atOnce      bool   // is carried out there, too
	key         keyUse // of its first argument
	run         func(c *conn, args [][]byte)
}

// keyUse is a command's use of a key: "" if it has none.
type keyUse string

const (
	reads  keyUse = "readonly"
	writes keyUse = "write"
)

// findCommand looks a command up by its name, in any case.
func (s *Server) findCommand(name []byte) *command {
	var buf [32]byte
	if len(name) > len(buf) {
		return nil
	}
	up := append(buf[:0], name...)
	for i, b := range up {
		if b >= 'a' && b <= 'z' {
			up[i] = b - 'a' + 'A'
		}
	}
	i, ok := slices.BinarySearchFunc(s.table, string(up), func(c *command, name string) int {
		return cmp.Compare(c.name, name)
	})
	if !ok {
		return nil
	}
	return s.table[i]
}

// last says how long a stop waits for the last commands of a client.
type last struct {
	silence    time.Duration // for the next command: one on its way would meet a closed connection
	runTime    time.Duration // for all that are carried out
	refuseTime time.Duration // for those after them, which tell a busy client to go
}
