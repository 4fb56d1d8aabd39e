// Package store is for authors of stores: what a [Store] must do so that leases, sequences and
// backfills can be kept in it. Users take a store that exists, and need only package lease.
//
// A store keeps small versioned records by key, and replaces one if it is still as it was read.
// It has no rules of its own, and needs no index but the order of its keys. Package storetest
// checks one: docs/reference/adding-a-store.md says how to write and test yours.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// Records of nodes have numbers from 0 up, and records of backfills numbers far below these two.
const (
	NamespaceNode = -1 // of the record that describes a namespace
	SequenceNode  = -2 // of the record that describes a sequence, whose namespace is "#NAME"
)

// Key names a record.
type Key struct {
	Namespace string
	Node      int64
}

// Record is what a store keeps under a [Key]. A store compares Nonce, and an addition changes
// Nonce, Revision, From and PrevUntil. It only keeps all else. Ticks are counted in the
// namespace's layout. Texts are UTF-8 without NUL. Nonce and Holder have at most 64 bytes,
// Label 255, Veto and Data 60,000.
type Record struct {
	Key
	Nonce      string // random, new with each write; "" means that there is no such record
	Revision   int64  // number of writes so far; it only goes back when the store was rolled back
	Generation int64  // of the namespace at the time of the write
	From       int64  // first tick of the unbroken run of granted ticks that ends at Until
	Until      int64  // first tick that is not granted: the floor of the next grant
	PrevUntil  int64  // end of the run before: no tick of [PrevUntil, From) was ever granted
	SkipFrom   int64  // ticks of [SkipFrom, SkipUntil) lie ahead and are used up; Operator.Restore
	SkipUntil  int64  // 0 when there are none
	Holder     string // "HASH.TICK" of the lease (claim.go); "" when given back or cleared
	Label      string // for people: who holds it, or held it last
	Veto       string // why an operator does not want the node to be leased; "" when it may be
	At         int64  // writer's wall clock, in Unix milliseconds
	// Data describes what a record is of, as JSON: a namespace, a sequence, or
	// a server, which has a record under a name that no namespace can have.
	Data string
}

// Held reports whether the record's node has a holder at tick now.
func (r Record) Held(now int64) bool { return r.Holder != "" && r.Until > now }

// Write is one compare-and-swap. It replaces the record under New.Key
// by New if its nonce is Old. If Old is "", there must be no record.
type Write struct {
	Old string
	New Record
}

// Store keeps records.
//
// It promises three things. A swap is atomic. An acknowledged swap is durable. A read sees every
// swap that was acknowledged before it began. It is safe for concurrent use.
//
// A store embeds [Basic], and then needs only Get, List, Heads and Swap. A wrapper embeds the
// store that it wraps, never Basic, so that it passes on what it does not change.
type Store interface {
	// Get returns the records of the keys, in their order. A
	// record that does not exist has its Key and no Nonce.
	Get(ctx context.Context, keys []Key) ([]Record, error)

	// List returns the records of the nodes of a namespace in the order of the nodes, the first
	// of them if they are more than the limit, which is at least 1. It need not be of one moment.
	List(ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int) ([]Record, error)

	// Heads returns the records of all namespaces and sequences, those with [NamespaceNode] and
	// [SequenceNode], in the order of the names, byte by byte.
	Heads(ctx context.Context) ([]Record, error)

	// Swap carries out the writes, each alone and atomically. For each it returns one
	// of three results. nil: it is done and durable. [ErrLost]: the stored nonce was
	// another, so nothing is done, now or later. Any other error: it is not known
	// whether it is done, or will be. Keys must not repeat. A store may split a large
	// batch.
	Swap(ctx context.Context, writes []Write) []error

	// Add carries out an addition: PrevUntil becomes From, From grows by N but not beyond Limit,
	// the revision is one higher, and the nonce is [Addition.NonceAt] of it; all else stays. It
	// returns the record as it is then. [ErrLost] means that there is no record of that
	// generation, so that nothing was and will be done; with any other error that is not known.
	// Revision, and what an addition leaves, may be of a later write. An error that matches
	// [errors.ErrUnsupported] means that the store cannot add: the function [Add] then swaps.
	Add(ctx context.Context, a Addition) (Record, error)

	// Identity returns a text that stays the same over restarts. It changes when the
	// data of a namespace may have been rolled back: a file was replaced, another
	// server was promoted. Most stores have one identity for all namespaces. The
	// namespace "" stands for the whole store. The text "" means that the store has no
	// identity. A lease asks after each swap, before it uses the grant, so avoid a
	// round trip if you can. An error that matches [ErrReplaced], here or from any
	// other method, ends the lease. After any other error the grant is not used yet.
	Identity(ctx context.Context, namespace string) (string, error)

	// Suspect gives the store another identity, of all namespaces, if it has the given one. A
	// caller saw that the store lost a write under that identity. After a nil the store has another
	// one for everybody, now or before the call.
	Suspect(ctx context.Context, identity string) error

	// Now returns the store's time, or the zero time if it has no clock. It
	// helps to choose nodes and to notice wrong clocks. It never decides safety.
	Now(ctx context.Context) (time.Time, error)

	// Pin keeps open what the store needs to notice that it was replaced. It is
	// called when a lease is opened, and unpin once when the lease has ended.
	Pin(ctx context.Context) (unpin func(), err error)
}

// Basic has the neutral answer of each method that a [Store]
// may leave out. Stores embed it. Wrappers of stores do not.
type Basic struct{}

// Add returns [errors.ErrUnsupported].
func (Basic) Add(context.Context, Addition) (Record, error) { return Record{}, errors.ErrUnsupported }

// Identity returns "": the store has none.
func (Basic) Identity(context.Context, string) (string, error) { return "", nil }

// Suspect has no identity to change.
func (Basic) Suspect(context.Context, string) error { return nil }

// Now returns the zero time: the store has no clock.
func (Basic) Now(context.Context) (time.Time, error) { return time.Time{}, nil }

// Pin has nothing to keep open.
func (Basic) Pin(context.Context) (unpin func(), err error) { return func() {}, nil }

var (
	// ErrLost is the result of a swap whose record had another nonce.
	ErrLost = errors.New("another process changed the record")

	// ErrReplaced means that the store that was opened is out of reach,
	// and another one is in its place: a file was deleted or replaced.
	ErrReplaced = errors.New("the store was replaced")

	// ErrReadOnly means that a store that was opened for reading only would
	// have to write: a record, or that its data was restored. See the
	// package of the store for how to open it so.
	ErrReadOnly = errors.New("the store is open for reading only")
)

// These bound the texts of a record, in bytes: a database that cuts longer ones would keep another.
const (
	longestName  = 64
	longestLabel = 255
	longestText  = 60_000
)

// Check returns an error if one batch writes a key twice, because no order would be right, or a
// text that is too long. Stores call it first.
func Check(writes []Write) error {
	var seen map[Key]bool
	if len(writes) > 1 {
		seen = make(map[Key]bool, len(writes))
	}
	for _, w := range writes {
		r := w.New
		if seen[r.Key] {
			return fmt.Errorf("lease: node %d of namespace %q is written twice in one batch", r.Node, r.Namespace)
		}
		if max(len(r.Namespace), len(r.Nonce), len(r.Holder)) > longestName || len(r.Label) > longestLabel ||
			max(len(r.Veto), len(r.Data)) > longestText {
			return fmt.Errorf("lease: node %d of namespace %.80q: a text of the record is too long: names and nonces "+
				"may have %d bytes, labels %d, all else %d", r.Node, r.Namespace, longestName, longestLabel,
				longestText)
		}
		if seen != nil {
			seen[r.Key] = true
		}
	}
	return nil
}
