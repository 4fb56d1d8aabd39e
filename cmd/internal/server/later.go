package server

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

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
func (l *Later) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	return l.at().Get(ctx, keys)
}

// List implements [store.Store].
func (l *Later) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	return l.at().List(ctx, namespace, nodes, limit)
}

// Heads implements [store.Store].
func (l *Later) Heads(ctx context.Context) ([]store.Record, error) { return l.at().Heads(ctx) }

// Swap implements [store.Store].
func (l *Later) Swap(ctx context.Context, writes []store.Write) []error {
	return l.at().Swap(ctx, writes)
}

// Add implements [store.Store].
func (l *Later) Add(ctx context.Context, a store.Addition) (store.Record, error) {
	return l.at().Add(ctx, a)
}

// Identity implements [store.Store].
func (l *Later) Identity(ctx context.Context, name string) (string, error) {
	return l.at().Identity(ctx, name)
}

// Suspect implements [store.Store].
func (l *Later) Suspect(ctx context.Context, identity string) error {
	return l.at().Suspect(ctx, identity)
}

// Now implements [store.Store].
func (l *Later) Now(ctx context.Context) (time.Time, error) { return l.at().Now(ctx) }

// Pin implements [store.Store].
func (l *Later) Pin(ctx context.Context) (unpin func(), err error) { return l.at().Pin(ctx) }

// absent is a store that is not open.
type absent struct{ why error }

func (a absent) Get(context.Context, []store.Key) ([]store.Record, error) { return nil, a.why }
func (a absent) Heads(context.Context) ([]store.Record, error)            { return nil, a.why }
func (a absent) Add(context.Context, store.Addition) (store.Record, error) {
	return store.Record{}, a.why
}
func (a absent) Identity(context.Context, string) (string, error) { return "", a.why }
func (a absent) Suspect(context.Context, string) error            { return a.why }
func (a absent) Now(context.Context) (time.Time, error)           { return time.Time{}, a.why }
func (a absent) Pin(context.Context) (unpin func(), err error)    { return nil, a.why }
func (a absent) List(context.Context, string, snowfence.NodeRange, int) ([]store.Record, error) {
	return nil, a.why
}

func (a absent) Swap(_ context.Context, writes []store.Write) []error {
	return slices.Repeat([]error{a.why}, len(writes))
}
