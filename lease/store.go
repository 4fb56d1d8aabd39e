package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// NamespaceNode is the node number of the record that describes a namespace itself.
const NamespaceNode = -1

// Key names a record: a node of a namespace, or with [NamespaceNode] the namespace itself.
type Key struct {
	Namespace string
	Node      int64
}

// Record is what a store keeps under a [Key]. Ticks are those of the
// namespace's layout. A store compares Nonce. It filters and sorts by
// the key, Until, Holder and Label. All other fields it only keeps.
type Record struct {
	Key
	Nonce      string // random, new with each write; "" means that there is no such record
	Revision   int64  // number of writes so far; it only goes back when the store was rolled back
	Generation int64  // of the namespace at the time of the write
	From       int64  // first tick of the unbroken run of granted ticks that ends at Until
	Until      int64  // first tick that is not granted: the floor of the next grant
	PrevUntil  int64  // end of the run before: no tick of [PrevUntil, From) was ever granted
	SkipFrom   int64  // ticks of [SkipFrom, SkipUntil) lie ahead and are used up; see RestoreNode
	SkipUntil  int64  // 0 when there are none
	Holder     string // "HASH.TICK" of the lease (claim.go); "" when given back or cleared
	Label      string // for people: who holds it, or held it last
	Veto       string // why an operator does not want the node to be leased; "" when it may be
	At         int64  // writer's wall clock, in Unix milliseconds
	// Data describes what a record is of, as JSON: a namespace, a sequence, or
	// a server, which has a record under a name that no namespace can have. In
	// the record of a node it passes between a holder and [Holders].
	Data string
}

// Held reports whether somebody holds the record's node at tick now.
func (r Record) Held(now int64) bool { return r.Holder != "" && r.Until > now }

// Write is one compare-and-swap. It replaces the record under New.Key
// by New if its nonce is Old. If Old is "", there must be no record.
type Write struct {
	Old string
	New Record
}

// Store keeps records. A lease needs nothing else
// of a database. It has no rules of its own.
//
// It promises three things, and leasetest checks them. A swap is
// atomic. An acknowledged swap is durable. A read sees every swap that
// was acknowledged before it began. It is safe for concurrent use.
//
// A store embeds [Basic], and then needs only Get, List and Swap. A
// wrapper embeds the store that it wraps, never Basic, so that it
// passes on what it does not change. leasetest.Wrapper checks that.
type Store interface {
	// Get returns the records of the keys, in their order. A
	// record that does not exist has its Key and no Nonce.
	Get(ctx context.Context, keys []Key) ([]Record, error)

	// List returns the records that match. The filters and the order only save
	// work, because the lease checks each record. So a store may return more
	// than was asked for, but within the limit nothing in place of a match.
	List(ctx context.Context, q Query) ([]Record, error)

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

	// Count returns the number of records of the nodes, or −1 if listing
	// them is as fast. Then its callers list. A lease counts to find a
	// node that never had a record, and reads the node before it uses it.
	Count(ctx context.Context, namespace string, nodes snowfence.NodeRange) (int64, error)

	// Identity returns a text that stays the same over restarts. It changes when the
	// data of a namespace may have been rolled back: a file was replaced, another
	// server was promoted. Most stores have one identity for all namespaces. The
	// namespace "" stands for the whole store. The text "" means that the store has no
	// identity. A lease asks after each swap, before it uses the grant, so avoid a
	// round trip if you can. An error that matches [ErrReplaced], here or from any
	// other method, ends the lease. After any other error the grant is not used yet.
	Identity(ctx context.Context, namespace string) (string, error)

	// Now returns the store's time, or the zero time if it has no clock. It
	// helps to choose nodes and to notice wrong clocks. It never decides safety.
	Now(ctx context.Context) (time.Time, error)

	// Pin keeps open what the store needs to notice that it was replaced. It is
	// called when a lease is opened, and unpin once when the lease has ended.
	Pin(ctx context.Context) (unpin func(), err error)

	// group returns the group that gathers the calls of the store,
	// or nil. It is not exported, so every store must embed Basic
	// or another store, and has methods that come later.
	group() *group
}

// Basic has the neutral answer of each method that a [Store]
// may leave out. Stores embed it. Wrappers of stores do not.
type Basic struct{}

// Add returns [errors.ErrUnsupported].
func (Basic) Add(context.Context, Addition) (Record, error) { return Record{}, errors.ErrUnsupported }

// Count returns −1: the number is not known.
func (Basic) Count(context.Context, string, snowfence.NodeRange) (int64, error) { return -1, nil }

// Identity returns "": the store has none.
func (Basic) Identity(context.Context, string) (string, error) { return "", nil }

// Now returns the zero time: the store has no clock.
func (Basic) Now(context.Context) (time.Time, error) { return time.Time{}, nil }

// Pin has nothing to keep open.
func (Basic) Pin(context.Context) (unpin func(), err error) { return func() {}, nil }

func (Basic) group() *group { return nil }

var (
	// ErrLost is the result of a swap whose record had another nonce.
	ErrLost = errors.New("the record was changed by somebody else")

	// ErrReplaced means that the store that was opened is out of reach,
	// and another one is in its place: a file was deleted or replaced.
	ErrReplaced = errors.New("the store was replaced")

	// ErrReadOnly means that a store that was opened for reading only would
	// have to write: a record, or that its data was restored. See the
	// package of the store for how to open it so.
	ErrReadOnly = errors.New("the store is open for reading only")
)

// storedNamespace is what the record of a namespace keeps as JSON.
type storedNamespace struct {
	*Namespace
	TicketKey string `json:"ticket_key,omitempty"`
	Watched   bool   `json:"watched,omitempty"` // a server sets it; no store keeps it
}

func readNamespace(ctx context.Context, st Store, name string) (Namespace, error) {
	rs, err := st.Get(ctx, []Key{{name, NamespaceNode}})
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: reading namespace %q: %w", name, err)
	}
	return namespaceOf(st, rs[0])
}

// namespaceOf decodes the record of a namespace. A [Group] remembers the last one.
func namespaceOf(st Store, r Record) (Namespace, error) {
	if r.Nonce == "" {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w in this store: create it", r.Namespace, ErrNoNamespace)
	}
	if g := st.group(); g != nil {
		return g.decode(r)
	}
	return decodeNamespace(r)
}

func decodeNamespace(r Record) (Namespace, error) {
	ns := Namespace{Name: r.Namespace, Generation: r.Generation, record: r}
	stored := storedNamespace{Namespace: &ns}
	if err := json.Unmarshal([]byte(r.Data), &stored); err != nil {
		return Namespace{}, fmt.Errorf("lease: the record of namespace %q is damaged: stop its programs, "+
			"restore a backup, and wait the longest ttl and twice the skew before one starts "+
			"(docs/operate/operations.md, Backup): %w", r.Namespace, err)
	}
	ns.ticketKey, ns.watched = stored.TicketKey, stored.Watched
	return ns, nil
}

// write stores the namespace, or is [ErrLost] if somebody wrote it since it was read.
func (ns Namespace) write(ctx context.Context, st Store) (Namespace, error) {
	data, err := json.Marshal(storedNamespace{Namespace: &ns, TicketKey: ns.ticketKey})
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	old := ns.record.Nonce
	w := world.From(ctx)
	ns.record.Nonce = w.Text()
	ns.record.Revision++
	ns.record.Generation = ns.Generation
	ns.record.Until = ns.Floor
	ns.record.At = w.Now().UnixMilli()
	ns.record.Data = string(data)
	if err := st.Swap(ctx, []Write{{old, ns.record}})[0]; err != nil {
		return Namespace{}, fmt.Errorf("lease: writing namespace %q: %w", ns.Name, err)
	}
	return ns, nil
}
