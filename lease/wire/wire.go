// Package wire defines the messages between a server of leases and the
// holders. It is for authors of servers and of clients. lease.Serve returns
// a [Server] over a store, lease.Keep holds leases from a Server, and
// package remote reaches a Server in another process.
//
// A server over a store keeps no state: all it has to know of a lease is in
// a [Ticket], which the holder sends with each renewal. So any server over
// the same store can renew the lease.
package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// Server leases nodes by tickets. Errors that match store.ErrLost or
// lease.ErrNoNamespace mean that the lease is lost: its holder stops at
// once. After any other error of Renew, the lease may have been renewed or
// not, and the holder can use the old ticket until its grant ends. A holder
// makes the calls for one lease one at a time.
type Server interface {
	// Acquire leases a node. It returns the errors of lease.Open.
	Acquire(ctx context.Context, namespace string, r Request) (Lease, error)

	// Renew moves the end of a ticket's grant ahead. attempt is a random
	// text that the holder makes for each call: 16 to 32 letters, digits,
	// '-' and '_'. earlier has the attempts with this ticket that had no
	// answer.
	Renew(ctx context.Context, t Ticket, attempt string, earlier []string) (Lease, error)

	// Release gives the node back, for a holder that has stopped for good.
	// used is the tick after the last one that it used. If used is
	// negative, the whole grant counts as used. Release does nothing if
	// another process has the node by now.
	Release(ctx context.Context, t Ticket, used int64) error
}

// Request is the wish of a holder. The first fields are as in
// lease.Options.
type Request struct {
	TTL    time.Duration
	Node   *int64
	Guard  bool
	Within snowfence.NodeRange
	Nodes  int
	Label  string

	// Attempt is a random text as in Server.Renew; "" means none. Earlier
	// has the attempts that had no answer: if one of them got a lease, the
	// server finds it and takes no second node. Known means that the server
	// takes no other node: without such a lease, the error is
	// lease.ErrTaken.
	Attempt string
	Earlier []string
	Known   bool

	// Lost is the last ticket of a holder that lost its lease, or nil. If a
	// rollback of the store lost that lease, the server first raises the
	// floor above its ticks.
	Lost Ticket

	// Free means that the server takes no node from a holder: a holder that
	// lost its node does not take it back.
	Free bool

	// Prefer is the node that the holder would like; nil means none.
	Prefer *int64

	// Fingerprint and Keys are of the holder's scheme; "" means that it has
	// none yet. If the namespace has another scheme, the error is
	// lease.ErrMismatch.
	Fingerprint string
	Keys        []string // snowfence.Secret.ID of each, by key number
}

// Lease is the answer of a [Server]: a ticket, and the lease that it stands
// for.
type Lease struct {
	Ticket    Ticket
	Namespace string
	Label     string
	TTL       time.Duration
	Lessor    string // the server of subleases, by its life; "" for a lease of the store
	Grant     snowfence.Grant
	Now       time.Time // of the server
}

// Ticket stands for a lease. The holder must not change it, and must keep
// it secret, because with it any program can write the record of the node.
// fmt, logs and JSON show the word "ticket" in its place; to send one, send
// its bytes.
type Ticket []byte

// Format implements [fmt.Formatter].
func (Ticket) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("ticket")) }

// MarshalText implements [encoding.TextMarshaler].
func (Ticket) MarshalText() ([]byte, error) { return []byte("ticket"), nil }

// Machine returns a function that reports whether this machine was resumed
// from a snapshot since, where the hypervisor tells of it. Another machine
// with the same memory may run then, so a client drops IDs that it got
// ahead. It calls Machine before it asks for them, and looks again after it
// took one.
func Machine() (copied func() bool) { return world.Real().Machine().Copied }
