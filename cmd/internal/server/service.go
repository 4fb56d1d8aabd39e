// Package server is the service behind every wire: IDs, leases and
// namespaces over a store, for callers that are somewhere else.
//
// The wires (HTTP, gRPC and Connect, the Redis protocol) are packages of
// their own. They read requests, call a part of a [Service], and answer an
// error by its [Kind]. No rule about IDs or leases is theirs. All parts
// share a [Core]: the store, the options, and the limits of memory.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// Service makes IDs and numbers, and keeps leases, for callers. Each part
// is safe for concurrent use.
type Service struct {
	*Core
	Spaces     *Spaces     // namespaces that are in use
	IDs        *IDs        // makes IDs of a namespace
	Views      *Views      // shows the nodes of a namespace as they change
	Leases     *Leases     // leases nodes
	Sequences  *Sequences  // takes numbers
	Servers    *Servers    // knows the servers over the store
	Management *Management // changes namespaces and sequences
}

// New returns a service over a store, which the caller closes after the
// service. Wrap the store with store.Group first, because callers arrive
// together.
func New(st store.Store, o Options) *Service {
	c := &Core{store: st, opts: o.withDefaults(), id: rand.Text(), now: time.Now}
	c.life, c.endLife = context.WithCancel(context.Background())
	spaces, sequences := newSpaces(c), newSequences(c)
	views := &Views{core: c, spaces: spaces, all: map[string]*Watched{}}
	return &Service{
		Core: c, Spaces: spaces, IDs: &IDs{core: c, spaces: spaces}, Views: views, Sequences: sequences,
		Leases: &Leases{core: c, spaces: spaces, views: views}, Servers: newServers(c, spaces),
		Management: &Management{core: c, spaces: spaces, views: views, sequences: sequences},
	}
}

// Close ends all generators and sequences, and gives nodes and numbers
// back, as far as the store answers until ctx ends. Requests fail from then
// on.
func (s *Service) Close(ctx context.Context) error {
	s.Views.mu.Lock() // so that no reader begins while the last ones are waited for
	s.endLife()
	s.Views.mu.Unlock()
	defer s.Views.wait.Wait()
	given := make(chan error, 1)
	go func() { given <- s.Sequences.close(ctx) }()
	return errors.Join(s.Spaces.close(ctx), <-given)
}
