package server

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Later is a store that may be opened after its server began to listen.
// Until then each call fails, as if the store had become unreachable. Safe
// for concurrent use.
type Later struct{ now atomic.Pointer[store.Store] }

// Open says that the store is open.
func (l *Later) Open(st store.Store) { l.now.Store(&st) }

// Absent says why the store is not open. Call it, or Open, before anybody
// uses the store.
func (l *Later) Absent(why error) { l.Open(absent{why}) }

func (l *Later) at() store.Store { return *l.now.Load() }

// Get implements [store.Store].
func (l *Later) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	return l.at().Get(ctx, keys)
}

// List implements [store.Store].
func (l *Later) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	return l.at().List(ctx, namespace, nodes, limit)
}

// Heads implements [store.Store].
func (l *Later) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	return l.at().Heads(ctx)
}

// Swap implements [store.Store].
func (l *Later) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) ([]error, []store.Record, store.Reply) {
	return l.at().Swap(ctx, writes, then...)
}

// Add implements [store.Store].
func (l *Later) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	return l.at().Add(ctx, a)
}

// Suspect implements [store.Store].
func (l *Later) Suspect(ctx context.Context, identity string) error {
	return l.at().Suspect(ctx, identity)
}

// Pin implements [store.Store].
func (l *Later) Pin(ctx context.Context) (unpin func(), err error) { return l.at().Pin(ctx) }

// absent is a store that is not open.
type absent struct{ why error }

func (a absent) Get(context.Context, []store.Key) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, a.why
}

func (a absent) Heads(context.Context) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, a.why
}

func (a absent) Add(context.Context, store.Addition) (store.Record, store.Reply, error) {
	return store.Record{}, store.Reply{}, a.why
}
func (a absent) Suspect(context.Context, string) error         { return a.why }
func (a absent) Pin(context.Context) (unpin func(), err error) { return nil, a.why }
func (a absent) List(context.Context, string, snowfence.NodeRange, int) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, a.why
}

func (a absent) Swap(_ context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	return slices.Repeat([]error{a.why}, len(writes)), nil, store.Reply{}
}
