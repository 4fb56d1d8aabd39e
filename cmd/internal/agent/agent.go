package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/lease"
)

// least is how many nodes an agent leases together where the unit of the namespace has fewer.
const least = 16

// unitOf returns how many nodes an agent leases together in a namespace with a unit, of so many.
func unitOf(unit, nodes int64) int {
	n := max(unit, 1)
	for n < least && n*2 <= nodes {
		n *= 2
	}
	return int(n)
}

// Agent hands out the nodes of its units.
type Agent struct {
	*serve.Process
	Nodes int // of a unit

	origin *origin
	state  *state
	label  string
	logger *slog.Logger
}

// stateSuffix is behind the path of the socket.
const stateSuffix = ".state"

// Start listens as the configuration says, at a socket, and leases units with its Label. What an
// earlier agent at that socket left, it goes on with, also while the source does not answer.
func Start(ctx context.Context, c serve.Config, s *Source) (_ *Agent, err error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Agent{label: c.Label, logger: c.Logger}
	if a.state, err = openState(strings.TrimPrefix(c.HTTP, "unix:")+stateSuffix, c.Logger); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if a.origin, err = reach(ctx, s, a.state); err != nil {
		return nil, err
	}
	a.Nodes = a.origin.about.Nodes
	if a.Nodes < 2 {
		return nil, fmt.Errorf("namespace %q has one node: an agent hands out several: take another namespace",
			s.Namespace)
	}
	if err := a.state.begin(a.origin.about); err != nil {
		return nil, err
	}
	st, err := newStore(ctx, s.Namespace, a.origin.scheme,
		&lease.NamespaceOptions{Unit: int64(a.Nodes), MaxTTL: a.origin.about.TTL})
	if err != nil {
		return nil, err
	}
	c.Unit, c.KeepUnits, c.Quota, c.ReadyFor = a.unit, a.keeps, max(1, a.Nodes/4), []string{s.Namespace}
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
func (a *Agent) Ended() <-chan error { return a.origin.ended }

// Stop ends the agent, as [serve.Process] says. It gives its units back. If the source does not
// answer, and there is a file, the next agent goes on with them.
func (a *Agent) Stop(ctx context.Context) error {
	return errors.Join(a.Process.Stop(ctx), a.close())
}

// keeps reports whether the units stay, for the next agent: it can get no others.
func (a *Agent) keeps(ctx context.Context) bool {
	if a.state.path == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, knownWait)
	defer cancel()
	opened, err := a.origin.source.Open(ctx)
	if err != nil {
		return away(err)
	}
	opened.Close()
	return false
}

func (a *Agent) close() error {
	err := a.state.close()
	if a.origin != nil {
		a.origin.close()
	}
	return err
}

// unit goes on with a unit of the earlier agent, or leases one, and sublets its nodes.
func (a *Agent) unit(ctx context.Context, within snowfence.NodeRange, life string) (*lease.Sublets, error) {
	u := a.state.resume(within)
	if u == nil {
		u = &unit{state: a.state}
	}
	u.source = a.origin
	all, err := lease.Keep(ctx, u, a.origin.about.Namespace, a.origin.scheme, 1, &lease.Options{
		TTL: a.origin.about.TTL, Nodes: a.Nodes, Within: within, Label: a.label, Idle: -1, Logger: a.logger,
	})
	if err != nil {
		return nil, err
	}
	return all[0].Sublet(&lease.SubletOptions{Life: life, Spent: u.ends(), Note: u.note})
}

// ends returns below which tick each node of the unit may have been sublet.
func (u *unit) ends() []int64 {
	u.state.mu.Lock()
	defer u.state.mu.Unlock()
	return slices.Clone(u.spent)
}
