package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/snowfence/snowfence/lease/store"
)

// bounded is a store for sequences over a pool of connections. A row of a
// sequence may be locked by another program's transaction, and a call then
// keeps its connection until it ends. So few writes are under way at a
// time, and leases find a connection always. Writes of sequences with a
// slow last write wait apart, so that the others find one too.
type bounded struct {
	store.Store
	all, late chan struct{} // each write under way has a place

	mu      sync.Mutex
	wasLate map[string]bool // by namespace
}

// forLeases is how many connections sequences leave to leases.
const forLeases = 2

// boundedStore returns a store that writes over all but some of the
// connections.
func boundedStore(st store.Store, connections int) store.Store {
	if connections == 0 {
		return st
	}
	n := max(1, connections-forLeases)
	return &bounded{
		Store: st, all: make(chan struct{}, n), late: make(chan struct{}, max(1, n/2)), wasLate: map[string]bool{},
	}
}

// Add implements [store.Store].
func (b *bounded) Add(ctx context.Context, a store.Addition) (r store.Record, reply store.Reply, err error) {
	err = b.writeBounded(ctx, a.Key.Namespace, func() error {
		r, reply, err = b.Store.Add(ctx, a)
		return err
	})
	return r, reply, err
}

// Swap implements [store.Store].
func (b *bounded) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) (errs []error, read []store.Record, reply store.Reply) {
	err := b.writeBounded(ctx, writes[0].New.Namespace, func() error {
		errs, read, reply = b.Store.Swap(ctx, writes, then...)
		return errors.Join(errs...)
	})
	for len(errs) < len(writes) {
		errs = append(errs, err)
	}
	return errs, read, reply
}

// writeBounded carries out a write when there is a place for it.
func (b *bounded) writeBounded(ctx context.Context, name string, do func() error) error {
	b.mu.Lock()
	late := b.wasLate[name]
	b.mu.Unlock()
	places := []chan struct{}{b.all}
	if late {
		places = []chan struct{}{b.late, b.all}
	}
	for _, place := range places {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		case <-ctx.Done():
			return fmt.Errorf("other sequences wait for the store, whose rows may be locked by open transactions: %w",
				ctx.Err())
		}
	}
	err := do()
	b.mu.Lock()
	defer b.mu.Unlock()
	if late = err != nil && ctx.Err() != nil; late {
		b.wasLate[name] = true
	} else {
		delete(b.wasLate, name)
	}
	return err
}
