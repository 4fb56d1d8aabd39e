package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Core is common to the parts of a service: its store and options, room for
// requests, and counts of them. All methods are safe for concurrent use.
type Core struct {
	Room
	store store.Store
	opts  Options
	id    string // of this server among those over the store
	now   func() time.Time

	life      context.Context // ends with the service
	endLife   context.CancelFunc
	lastWrite atomic.Pointer[lastWrite] // nil before the server has a record
	meters    [wires]Meter
	readiness atomic.Pointer[func() error] // see SetReady
}

// ID names this server among those over the store. It is another one after
// each start.
func (s *Core) ID() string { return s.id }

// Label names the holder of this server's nodes to people.
func (s *Core) Label() string { return s.opts.Label }

// Store returns the store.
func (s *Core) Store() store.Store { return s.store }

// Ping asks the store for something small. The error says why it is
// unreachable.
func (s *Core) Ping(ctx context.Context) error {
	_, _, err := s.store.Get(ctx, []store.Key{{Namespace: "default", Node: store.NamespaceNode}})
	return err
}

// Ready returns why requests should go to another server, as the owner of
// this one says (see SetReady); alone, whether the store answers.
func (s *Core) Ready(ctx context.Context) error {
	if judge := s.readiness.Load(); judge != nil {
		return (*judge)()
	}
	return s.Ping(ctx)
}

// SetReady sets the judge of Ready. Anybody may ask it often, so it should
// answer from memory.
func (s *Core) SetReady(judge func() error) { s.readiness.Store(&judge) }

// storeTimeout bounds the store's part of one request, for callers without
// a limit of their own.
const storeTimeout = 10 * time.Second

var errStoreTimeout = fmt.Errorf("the store did not answer in %v: %w", storeTimeout, context.DeadlineExceeded)

// WithStoreTimeout bounds the store's part of a request.
func WithStoreTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, storeTimeout, errStoreTimeout)
}

// newScheme returns the scheme of a layout with the server's secrets for a
// namespace.
func (c *Core) newScheme(name string, l snowfence.Layout) (_ *snowfence.Scheme, err error) {
	var keys []*snowfence.Secret
	if l.Cipher != snowfence.Plain && c.opts.Keys != nil {
		if keys, err = c.opts.Keys(name); err != nil {
			return nil, err
		}
	}
	s, err := snowfence.NewScheme(l, keys...)
	if errors.Is(err, snowfence.ErrKey) {
		return nil, Errorf(Refused, "namespace %q is encrypted, and the server does not have its secrets: %w",
			name, err)
	}
	return s, err
}
