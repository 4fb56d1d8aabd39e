// Package store is for authors of stores. It has the duties of a [Store]
// that keeps leases, sequences and backfills. Users choose an existing
// store, and need only package lease.
//
// A store keeps small versioned records by key, and replaces one only if it
// has not changed since it was read. It has no rules of its own, and needs
// no index but the order of its keys. Package storetest tests a store.
// docs/reference/adding-a-store.md says how to write and test yours.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// A Key.Node from 0 up is a node. These are other records, and backfills
// have numbers far below them.
const (
	NamespaceNode = -1 // the record that describes a namespace
	SequenceNode  = -2 // the record that describes a sequence; its Namespace is "#NAME"
)

// Key names a record.
type Key struct {
	Namespace string
	Node      int64
}

// Record is the value of a [Key]. A store compares Nonce, and an [Addition]
// changes Nonce, Revision, From and PrevUntil. It keeps all else as it is.
// Ticks are counted in the namespace's layout. Texts are UTF-8 without NUL.
// Nonce and Holder have at most 64 bytes, Label 255, Veto and Data 60,000.
type Record struct {
	Key
	Nonce      string // random, new with each write; "" means that there is no such record
	Revision   int64  // number of writes so far; it falls only when the store is rolled back
	Generation int64  // of the namespace at the time of the write
	From       int64  // first tick of the unbroken run of granted ticks that ends at Until
	Until      int64  // first tick that is not granted: the floor of the next grant
	PrevUntil  int64  // From before the last [Addition]; leases leave it 0
	Holder     string // "WHO.TICK": the lease, and the first tick it acquired; "" when given back or cleared
	Label      string // for people: the process that holds the node, or held it last
	Veto       string // why an operator does not want the node to be leased; "" when it may be
	At         int64  // writer's wall clock, in Unix milliseconds
	// Data describes, as JSON, the subject of the record: a namespace, a
	// sequence or a server. A server's record has a name that no namespace
	// can have.
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

// Reply says who answered a call, and when. A lease uses a grant only if
// the replies to its write and to the read after it have the identity that
// the namespace names.
type Reply struct {
	// Identity is a text that stays the same over restarts. It changes when
	// the data of the namespace may have been rolled back: a file was
	// replaced, another server was promoted. Most stores have one identity
	// for all namespaces. The text "" means that the store has none.
	//
	// It is of the server that carried out this very call: a pool or a
	// proxy may change servers between two calls. Where a store has to ask
	// for it apart, a read asks after it began, and a swap tells what was
	// asked before it. So only a read after a write shows where that went.
	Identity string

	// Now is the store's time during the call, or the zero time if it has
	// no clock. It helps to choose nodes and to notice wrong clocks. It
	// never decides safety.
	Now time.Time
}

// Store keeps records.
//
// It promises three things. A swap is atomic. An acknowledged swap is
// durable. A read sees every swap that was acknowledged before it began. It
// is safe for concurrent use.
//
// All keys of a call are of one namespace, except for Heads. A call with an
// error of the whole call has no [Reply]. An error that matches
// [ErrReplaced], from any method, ends the lease: a store that knows it
// returns it also when it gets no connection.
//
// A store embeds [Basic], and then needs only Get, List, Heads and Swap. A
// wrapper embeds the store that it wraps, never Basic, so that it passes on
// all other calls. It passes on each Reply: without it, leases are not
// renewed.
type Store interface {
	// Get returns the records of the keys, in their order. A record that
	// does not exist has its Key and no Nonce.
	Get(ctx context.Context, keys []Key) ([]Record, Reply, error)

	// List returns the records of the nodes of a namespace in the order of
	// the nodes, and only the first ones if they are more than limit, which
	// is at least 1. The records may be of different moments.
	List(ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int) ([]Record, Reply, error)

	// Heads returns the records with [NamespaceNode] and [SequenceNode], of
	// all namespaces and sequences, in the byte order of their names. Its
	// Reply has the identity of the whole store.
	Heads(ctx context.Context) ([]Record, Reply, error)

	// Swap carries out the writes, each alone and atomically. It returns
	// one result for each. Nil means that the write is done and durable.
	// [ErrLost] means that the stored nonce was another: the write was not
	// done and never will be. After any other error the write may have been
	// done, or may be done later. Keys must not repeat. A store may split a
	// large batch.
	//
	// A store that can read the keys of then in the same round trip, at the
	// point of the writes or after them, returns their records. Else it
	// returns nil, and the caller reads them. The Reply is of that read, or
	// of the writes that are nil or lost.
	Swap(ctx context.Context, writes []Write, then ...Key) ([]error, []Record, Reply)

	// Add carries out an addition: PrevUntil becomes From, From grows by N
	// but not beyond Limit, the revision is one higher, and the nonce is
	// [Addition.NonceAt] of it; all else stays. It returns the record after
	// that. In it, Revision and the fields that an addition does not change
	// may be those of a later write: then the nonce is another. [ErrLost]
	// means that there is no record of that generation: nothing was done
	// and never will be. After any other error the addition may have been
	// done, or may be done later. An error that matches
	// [errors.ErrUnsupported] means that the store cannot add: the function
	// [Add] then swaps.
	Add(ctx context.Context, a Addition) (Record, Reply, error)

	// Suspect gives the store another identity, for all namespaces, if it
	// has the given one. A caller uses it when it saw that the store lost a
	// write under that identity. After a nil error, all programs see
	// another identity than the given one, and a Reply from before is old.
	Suspect(ctx context.Context, identity string) error

	// Pin keeps open the files that the store needs to notice its
	// replacement. A lease calls Pin when it opens, and unpin once when it
	// has ended.
	Pin(ctx context.Context) (unpin func(), err error)
}

// Put carries out one write.
func Put(ctx context.Context, st Store, w Write) (Reply, error) {
	errs, _, reply := st.Swap(ctx, []Write{w})
	return reply, errs[0]
}

// Ask returns the reply to a small read of a namespace; "" stands for the
// whole store.
func Ask(ctx context.Context, st Store, namespace string) (reply Reply, err error) {
	if namespace == "" {
		_, reply, err = st.Heads(ctx)
	} else {
		_, reply, err = st.Get(ctx, []Key{{Namespace: namespace, Node: NamespaceNode}})
	}
	return reply, err
}

// Identity returns the identity of a namespace's data; "" stands for the
// whole store.
func Identity(ctx context.Context, st Store, namespace string) (string, error) {
	reply, err := Ask(ctx, st, namespace)
	return reply.Identity, err
}

// Join adds the reply to a later part of a call. It is an error if another
// store answered that part.
func (r *Reply) Join(part Reply) error {
	if *r != (Reply{}) && r.Identity != part.Identity {
		return fmt.Errorf("lease: the store changed from %q to %q during a call: try again", r.Identity, part.Identity)
	}
	*r = part
	return nil
}

// Follows is an error unless the store that replied to a read also carried
// out a write before it, with the reply wrote.
//
// Invariant: a write counts only where the same store shows afterwards that
// it is the right one. A proxy may divide writes and reads among servers.
func (r Reply) Follows(wrote Reply) error {
	if same, _ := Compare(r.Identity, wrote.Identity); same {
		return nil
	}
	return fmt.Errorf("the write went to the store %q, and the read after it to %q: connect to the server that is "+
		"written, not to a proxy that divides writes and reads", wrote.Identity, r.Identity)
}

// Basic has a default for each method that a [Store] may leave out. Stores
// embed it. Wrappers of stores must not.
type Basic struct{}

// Add returns [errors.ErrUnsupported].
func (Basic) Add(context.Context, Addition) (Record, Reply, error) {
	return Record{}, Reply{}, errors.ErrUnsupported
}

// Suspect does nothing: there is no identity to change.
func (Basic) Suspect(context.Context, string) error { return nil }

// Pin does nothing: there is nothing to keep open.
func (Basic) Pin(context.Context) (unpin func(), err error) { return func() {}, nil }

var (
	// ErrLost is the result of a swap that found another nonce in the
	// record.
	ErrLost = errors.New("another process changed the record")

	// ErrReplaced means that the store that was opened is out of reach,
	// and another one is in its place: a file was deleted or replaced.
	ErrReplaced = errors.New("the store was replaced")

	// ErrReadOnly means that a store that is open for reading only would
	// have to write. The package of each store says how to open it for
	// reading only. Such a store also returns ErrReadOnly when it would
	// have to write down that its data was restored.
	ErrReadOnly = errors.New("the store is open for reading only")
)

// These bound the texts of a record, in bytes: a database that cuts longer
// ones would keep another.
const (
	longestName  = 64
	longestLabel = 255
	longestText  = 60_000
)

// Check returns an error if a batch writes a key twice, because neither
// order would be right, or if it has a text that is too long. Stores call
// it first.
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
