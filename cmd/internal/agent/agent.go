package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/lease"
)

// Agent hands out the nodes of its units. It keeps nothing over a restart.
type Agent struct {
	*serve.Process
	Nodes int // of a unit

	source source
	opened *Opened
	scheme *snowfence.Scheme
	label  string
	logger *slog.Logger
}

const (
	least    = 16               // nodes of a unit where that of the namespace has fewer
	openWait = 30 * time.Second // for the answer of a source
)

// unitOf returns how many nodes an agent leases together in a namespace with a unit, of so many.
func unitOf(unit, nodes int64) int {
	n := max(unit, 1)
	for n < least && n*2 <= nodes {
		n *= 2
	}
	return int(n)
}

// Start asks the source, listens as the configuration says, at a socket, and leases units with its
// Label.
func Start(ctx context.Context, c serve.Config, s *Source) (_ *Agent, err error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	asking, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	a := &Agent{label: c.Label, logger: c.Logger}
	if a.opened, err = s.Open(asking); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.opened.Close()
		}
	}()
	if a.scheme, err = s.Scheme(a.opened.Layout); err != nil {
		return nil, err
	}
	a.Nodes = unitOf(a.opened.Unit, a.scheme.Nodes())
	if a.Nodes < 2 {
		return nil, fmt.Errorf("namespace %q has one node: an agent hands out several: take another namespace",
			s.Namespace)
	}
	st, err := newStore(ctx, s.Namespace, a.scheme,
		&lease.NamespaceOptions{Unit: int64(a.Nodes), MaxTTL: a.opened.MaxTTL})
	if err != nil {
		return nil, err
	}
	a.source = source{a.opened.Server, s.Namespace, make(chan error, 1)}
	c.Unit, c.Quota, c.ReadyFor = a.unit, max(1, a.Nodes/4), []string{s.Namespace}
	c.Block = 1
	c.Keys = func(string) ([]*snowfence.Secret, error) { return s.Keys, nil }
	a.Process, err = serve.Start(context.WithoutCancel(ctx), c, st)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Ended delivers why the agent cannot lease again: the namespace has changed, or is gone. Another
// agent reads it anew.
func (a *Agent) Ended() <-chan error { return a.source.ended }

// Stop ends the agent, as [serve.Process] says. It gives its units back.
func (a *Agent) Stop(ctx context.Context) error {
	err := a.Process.Stop(ctx)
	a.opened.Close()
	return err
}

// unit leases a unit, and sublets its nodes.
func (a *Agent) unit(ctx context.Context, within snowfence.NodeRange, life string) (*lease.Sublets, error) {
	all, err := lease.Keep(ctx, a.source, a.source.namespace, a.scheme, 1, &lease.Options{
		TTL: a.opened.MaxTTL, Nodes: a.Nodes, Within: within, Label: a.label, Idle: -1, Logger: a.logger,
	})
	if err != nil {
		return nil, err
	}
	return all[0].Sublet(life)
}
