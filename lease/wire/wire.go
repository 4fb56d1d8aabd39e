// Package wire is what a server of leases and its holders say to each other. It is for authors of
// servers and of their clients. lease.Serve is such a [Server] over a store, lease.Keep holds a
// lease over one, and package remote is one for programs in other processes.
//
// A server keeps nothing: what it has to know of a lease is in its [Ticket], which the holder
// sends with each renewal. So any server over the same store can renew it.
package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// Server leases nodes by tickets. Errors that match store.ErrLost or lease.ErrNoNamespace mean
// that the lease is lost: its holder stops at once. After other errors of Renew it may have worked,
// and the old ticket is good until its end. All calls of one lease come one at a time.
type Server interface {
	// Acquire leases a node. The errors are as of lease.Open.
	Acquire(ctx context.Context, namespace string, r Request) (Lease, error)

	// Renew moves the end of a ticket's grant ahead. attempt is a random text of the holder: 16 to
	// 32 letters, digits, '-' and '_', a new one for each call. earlier has the attempts of this
	// ticket that had no answer.
	Renew(ctx context.Context, t Ticket, attempt string, earlier []string) (Lease, error)

	// Release gives the node back, for a holder that has stopped for good. used is the tick after
	// the last one that it used. A negative one means that it is not known: then the whole grant
	// counts as used. A lease that another process has by now is left alone.
	Release(ctx context.Context, t Ticket, used int64) error
}

// Request is what a holder asks for. The first fields are as in lease.Options.
type Request struct {
	TTL    time.Duration
	Node   *int64
	Guard  bool
	Within snowfence.NodeRange
	Nodes  int
	Label  string

	// Attempt is a random text of the holder, as a renewal has it; "" means none. Earlier has
	// those that had no answer: the lease that one of them got is found, and no second node taken.
	Attempt string
	Earlier []string

	// Lost is the last ticket of a holder that lost its lease, or nil: if the store was rolled back
	// behind it, the floor is raised first, above its ticks.
	Lost Ticket

	// Free takes no node over: a holder that has lost its node does not take it back.
	Free bool

	// Prefer is the node that the holder would like, nil for none; Avoid has those that it refuses.
	Prefer *int64
	Avoid  []int64

	// Fingerprint and Keys are of the holder's scheme; "" means that it has none yet. Another one
	// than the namespace's is a lease.ErrMismatch.
	Fingerprint string
	Keys        []string // snowfence.Secret.ID of each, by key number
}

// Lease is the answer of a [Server]: a ticket, and what it stands for.
type Lease struct {
	Ticket    Ticket
	Namespace string
	Label     string
	TTL       time.Duration
	Grant     snowfence.Grant
	Now       time.Time // of the server
}

// Ticket is a lease as a value. Its holder keeps it as it is, and secret within its namespace,
// because it can write the record of its node. Prints, logs and JSON have a word in its place: a
// server sends its bytes.
type Ticket []byte

// Format implements [fmt.Formatter].
func (Ticket) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("ticket")) }

// MarshalText implements [encoding.TextMarshaler].
func (Ticket) MarshalText() ([]byte, error) { return []byte("ticket"), nil }
