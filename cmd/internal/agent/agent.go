package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
	"github.com/snowfence/snowfence/remote"
)

// Agent hands out the nodes of its units. It keeps nothing over a restart.
type Agent struct {
	Store store.Store // of the server
	Nodes int         // of a unit

	source source
	scheme *snowfence.Scheme
	ttl    time.Duration // of units
	label  string
	logger *slog.Logger
}

// least is the smallest unit of an agent, in nodes, if the layout has room.
const least = 16

// New returns an agent for a namespace of other servers. It changes the
// settings c so that a server over the agent's Store hands out its units.
func New(ctx context.Context, c *serve.Config, from wire.Server, name string, ns remote.Namespace) (*Agent, error) {
	a := &Agent{
		source: source{from, name, make(chan error, 1)}, ttl: ns.MaxTTL, logger: c.Logger,
		label: cmp.Or(c.Label, server.LabelOf("agent")),
	}
	var keys []*snowfence.Secret
	var err error
	if c.Keys != nil {
		if keys, err = c.Keys(name); err != nil {
			return nil, err
		}
	}
	if a.scheme, err = snowfence.NewScheme(ns.Layout, keys...); err != nil {
		return nil, fmt.Errorf("namespace %q: %w", name, err)
	}
	a.Nodes = unitOf(ns.Unit, a.scheme.Nodes())
	if a.Nodes < 2 {
		return nil, fmt.Errorf("namespace %q has one node: an agent hands out several: take another namespace", name)
	}
	o := &scope.NamespaceOptions{Unit: int64(a.Nodes), MaxTTL: ns.MaxTTL}
	if a.Store, err = newStore(ctx, name, a.scheme, o); err != nil {
		return nil, err
	}
	c.Unit, c.Agent, c.Quota = a.unit, true, max(1, a.Nodes/4)
	return a, nil
}

// unitOf returns how many nodes an agent leases together in a namespace
// with this unit and these nodes.
func unitOf(unit, nodes int64) int {
	n := max(unit, 1)
	for n < least && n*2 <= nodes {
		n *= 2
	}
	return int(n)
}

// Ended delivers the reason why the agent can lease no more: the namespace
// was changed or deleted. A new agent reads the namespace again.
func (a *Agent) Ended() <-chan error { return a.source.endReason }

// unit leases a unit, and sublets its nodes.
func (a *Agent) unit(ctx context.Context, within snowfence.NodeRange, life string) (*sublet.Server, error) {
	all, err := lease.Keep(ctx, a.source, a.source.namespace, a.scheme, 1, &lease.Options{
		TTL: a.ttl, Nodes: a.Nodes, Within: within, Label: a.label, Logger: a.logger,
	})
	if err != nil {
		return nil, err
	}
	return sublet.New(all[0], life)
}

// source leases units. It notes why nothing can be leased any more. If the
// longest ttl was lowered since, the server chooses the ttl.
type source struct {
	wire.Server
	namespace string
	endReason chan error
}

// Acquire implements [wire.Server].
func (s source) Acquire(ctx context.Context, namespace string, r wire.Request) (wire.Lease, error) {
	l, err := s.Server.Acquire(ctx, namespace, r)
	if errors.Is(err, lease.ErrInvalid) {
		r.TTL = 0
		l, err = s.Server.Acquire(ctx, namespace, r)
	}
	if errors.Is(err, lease.ErrMismatch) || errors.Is(err, lease.ErrNoNamespace) {
		select {
		case s.endReason <- err:
		default: // it is known
		}
	}
	return l, err
}
