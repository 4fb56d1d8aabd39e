package lease

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Package store says what these are. They stand here because they stand in signatures.
type (
	// Store is a database that keeps leases.
	Store = store.Store

	// Record is what a store keeps of a node.
	Record = store.Record

	// Key names a record.
	Key = store.Key

	// Write is one compare-and-swap.
	Write = store.Write
)

// NamespaceNode is the node number of the record that describes a namespace itself.
const NamespaceNode = store.NamespaceNode

var (
	// ErrLost is the result of a swap whose record had another nonce.
	ErrLost = store.ErrLost

	// ErrReplaced means that the store that was opened is out of reach,
	// and another one is in its place: a file was deleted or replaced.
	ErrReplaced = store.ErrReplaced

	// ErrReadOnly means that a store that was opened for reading only would
	// have to write: a record, or that its data was restored.
	ErrReadOnly = store.ErrReadOnly
)

// storedNamespace is what the record of a namespace keeps as JSON.
type storedNamespace struct {
	*Namespace
	Layouts   []string       `json:"layouts"`
	Regions   []storedRegion `json:"regions"`
	TicketKey string         `json:"ticket_key,omitempty"`
}

func readNamespace(ctx context.Context, st Store, name string) (Namespace, error) {
	rs, err := st.Get(ctx, []Key{{Namespace: name, Node: NamespaceNode}})
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
	if g, ok := st.(*group); ok {
		return g.decode(r)
	}
	return decodeNamespace(r)
}

func decodeNamespace(r Record) (Namespace, error) {
	ns := Namespace{Name: r.Namespace, Generation: r.Generation, record: r}
	stored := storedNamespace{Namespace: &ns}
	err := json.Unmarshal([]byte(r.Data), &stored)
	if err == nil {
		ns.Regions, err = readRegions(stored.Layouts, stored.Regions)
	}
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: the record of namespace %q is damaged: stop its programs, "+
			"restore a backup, and wait the longest ttl and twice the skew before one starts "+
			"(docs/operate/operations.md, Backup): %w", r.Namespace, err)
	}
	ns.ticketKey = stored.TicketKey
	return ns, nil
}

// write stores the namespace, or is [ErrLost] if somebody wrote it since it was read.
func (ns Namespace) write(ctx context.Context, st Store) (Namespace, error) {
	layouts, regions := storedRegions(ns.Regions)
	data, err := json.Marshal(storedNamespace{&ns, layouts, regions, ns.ticketKey})
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
	if err := st.Swap(ctx, []Write{{Old: old, New: ns.record}})[0]; err != nil {
		return Namespace{}, fmt.Errorf("lease: writing namespace %q: %w", ns.Name, err)
	}
	return ns, nil
}
