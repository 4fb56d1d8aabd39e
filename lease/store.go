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

// Record is what a store keeps under a [Key]. Ticks are those of the namespace's layout.
// A store compares Nonce and filters and sorts by the key, Until, Holder and Label; all
// else it only keeps.
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
	// Data describes a namespace, as JSON. Of a node it passes between a holder and
	// [Holders], and no store keeps it.
	Data string
}

// Held reports whether somebody holds the record's node at tick now.
func (r Record) Held(now int64) bool { return r.Holder != "" && r.Until > now }

// Write is one compare-and-swap: the record under New.Key becomes New if its nonce is
// Old, or if there is none and Old is "".
type Write struct {
	Old string
	New Record
}

// Store keeps records. It is all a lease needs to know of a database, and has no rules of its own.
//
// It promises, and leasetest checks: a swap is atomic; once acknowledged it is durable; reads see
// every swap acknowledged before they began. It is safe for concurrent use.
//
// A store embeds [Basic], and then needs only Get, List and Swap. A wrapper embeds the
// store that it wraps, never Basic, so that it passes on what it does not change:
// leasetest.Wrapper checks that.
type Store interface {
	// Get returns the records of the keys, in their order; one that does not exist has
	// its Key and no Nonce.
	Get(ctx context.Context, keys []Key) ([]Record, error)

	// List returns the records that match. The filters and the order save work; the lease looks at
	// each record again, and so a store may return more than was asked for, but within the limit
	// nothing else in place of a match.
	List(ctx context.Context, q Query) ([]Record, error)

	// Swap carries out the writes, each on its own and each atomic, and returns for each: nil when
	// it is done and durable; [ErrLost] when the stored nonce was another, so that nothing was and
	// will be done; any other error when it is not known whether it was done or still will be. Keys
	// must not repeat. A store may split a large batch.
	Swap(ctx context.Context, writes []Write) []error

	// Count returns the number of records of the nodes. It is −1 when the store cannot count faster
	// than it lists: then its callers list. A lease finds a node that never had a record by
	// counting, and reads the node before it uses it.
	Count(ctx context.Context, namespace string, nodes snowfence.NodeRange) (int64, error)

	// Identity returns a text that stays the same over restarts and changes when the data of a
	// namespace may have been rolled back: a file was replaced, another server was promoted. Most
	// stores have one identity for all namespaces. The namespace "" stands for the whole store; the
	// text "" means that the store has no identity. It is asked for after each swap and before its
	// use, so it should cost no round trip where that can be avoided. An error that matches
	// [ErrReplaced] ends the lease, as it does from any other method; with others the swap is not
	// used yet.
	Identity(ctx context.Context, namespace string) (string, error)

	// Now returns the store's time; the zero time means that it has no clock. It helps to choose
	// nodes and to notice clocks that are off, and never decides safety.
	Now(ctx context.Context) (time.Time, error)

	// Pin keeps open what the store needs to notice that it was replaced. It is called when a lease
	// is opened, and unpin once when the lease has ended.
	Pin(ctx context.Context) (unpin func(), err error)

	// group returns the group that gathers the calls of the store; nil when there is
	// none. It is not exported, so that every store embeds Basic or another store, and
	// has the methods that come later.
	group() *group
}

// Basic has the neutral answer of every method that a [Store] may leave out. Stores embed it;
// wrappers of stores do not.
type Basic struct{}

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

	// ErrReplaced means that the store is no longer the one that was opened, and that its
	// old self is out of reach: a file was deleted or replaced.
	ErrReplaced = errors.New("the store was replaced")
)

// storedNamespace is what the record of a namespace keeps as JSON.
type storedNamespace struct {
	*Namespace
	TicketKey string `json:"ticket_key,omitempty"`
	Watched   bool   `json:"watched,omitempty"` // in no store
}

func readNamespace(ctx context.Context, st Store, name string) (Namespace, error) {
	rs, err := st.Get(ctx, []Key{{name, NamespaceNode}})
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: reading namespace %q: %w", name, err)
	}
	return namespaceOf(st, rs[0])
}

// namespaceOf returns what a record of a store says. A [Group] remembers what it decoded last.
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

// write stores the namespace if nobody wrote it since it was read, which is an [ErrLost] otherwise.
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
