package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/lease"
)

// Source is where an agent leases units: a server, or a store.
type Source struct {
	Name      string // for people
	Namespace string
	Scheme    *snowfence.Scheme
	Keys      []*snowfence.Secret // of the scheme
	Nodes     int                 // of a unit
	TTL       time.Duration       // of a lease
	Lease     func(ctx context.Context, o *lease.Options) (*lease.Lease, error)
}

// least is how many nodes an agent leases together where the unit of the namespace has fewer.
const least = 16

// UnitOf returns how many nodes an agent leases together in a namespace with a unit, of so many.
func UnitOf(unit, nodes int64) int {
	n := max(unit, 1)
	for n < least && n*2 <= nodes {
		n *= 2
	}
	return int(n)
}

// Agent hands out the nodes of its units.
type Agent struct {
	*serve.Process
	source *Source
	label  string
	logger *slog.Logger
	ended  chan error
}

// Start listens as the configuration says, and leases units with its Label.
func Start(ctx context.Context, c serve.Config, s *Source) (*Agent, error) {
	if s.Nodes < 2 {
		return nil, fmt.Errorf("namespace %q has one node: an agent hands out several: take another namespace",
			s.Namespace)
	}
	a := &Agent{source: s, label: c.Label, logger: c.Logger, ended: make(chan error, 1)}
	st, err := newStore(ctx, s.Namespace, s.Scheme, &lease.NamespaceOptions{Unit: int64(s.Nodes), MaxTTL: s.TTL})
	if err != nil {
		return nil, err
	}
	c.Unit, c.Quota, c.ReadyFor = a.unit, max(1, s.Nodes/4), []string{s.Namespace}
	c.Block = 1
	c.Keys = func(string) ([]*snowfence.Secret, error) { return s.Keys, nil }
	a.Process, err = serve.Start(ctx, c, st)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Ended delivers why the agent cannot lease again: the namespace has changed, or is gone. Another
// agent reads it anew.
func (a *Agent) Ended() <-chan error { return a.ended }

// unit leases a unit.
func (a *Agent) unit(ctx context.Context, within snowfence.NodeRange) (*lease.Lease, error) {
	l, err := a.source.Lease(ctx, &lease.Options{
		TTL: a.source.TTL, Nodes: a.source.Nodes, Within: within, Label: a.label, Idle: -1, Logger: a.logger,
	})
	if errors.Is(err, lease.ErrMismatch) || errors.Is(err, lease.ErrNoNamespace) {
		select {
		case a.ended <- err:
		default: // it is known
		}
	}
	return l, err
}
