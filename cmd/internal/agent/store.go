// Package agent has the parts of a server over other servers: it leases
// units from them, and hands out their nodes to the programs of one host.
package agent

import (
	"context"
	"errors"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// errNoStore refuses calls that need a store.
var errNoStore = errors.New("an agent has no store: ask its server, or use its store")

// namespaceStore knows one namespace, and keeps no nodes.
//
// Invariant: no record of a node is ever written, so nothing can be leased
// from it. All nodes that an agent hands out are of units that it leases
// elsewhere.
type namespaceStore struct{ store.Store }

// Swap implements [store.Store].
func (s namespaceStore) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) (_ []error, _ []store.Record, reply store.Reply) {
	errs := make([]error, len(writes))
	for i, w := range writes {
		if w.New.Namespace == store.Servers { // what a server says of itself, to itself
			reply, errs[i] = store.Put(ctx, s.Store, w)
			continue
		}
		errs[i] = errNoStore
	}
	return errs, nil, reply
}

// Add implements [store.Store].
func (namespaceStore) Add(context.Context, store.Addition) (store.Record, store.Reply, error) {
	return store.Record{}, store.Reply{}, errNoStore
}

// newStore returns a store that knows the namespace of a source.
func newStore(ctx context.Context, name string, s *snowfence.Scheme, o *scope.NamespaceOptions) (store.Store, error) {
	m := store.NewMemory()
	if _, err := scope.Namespaces(m).Create(ctx, name, s, o); err != nil {
		return nil, err
	}
	return namespaceStore{m}, nil
}
