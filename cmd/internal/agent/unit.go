package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// unit is the server of one lease: it asks the source, and keeps in the state what the next agent
// needs. The lease of the next agent gets its first grant from the state.
type unit struct {
	state  *state
	source wire.Server

	// The mutex of the state guards what follows.
	left     bool   // by an earlier agent, and not taken yet
	known    bool   // the next Acquire is answered from the state
	machine  uint64 // counter of resumptions when it was leased
	ticket   wire.Ticket
	attempts []string // to renew with the ticket, that had no answer, also of earlier agents
	grant    snowfence.Grant
	spent    []int64 // below which tick each node may have been sublet
}

// Acquire implements [wire.Server].
func (u *unit) Acquire(ctx context.Context, namespace string, r wire.Request) (none wire.Lease, _ error) {
	machine := world.From(ctx).Machine().Counter() // before the unit is this machine's
	if l, ok := u.resumed(machine); ok {
		return l, nil
	}
	l, err := u.source.Acquire(ctx, namespace, r)
	if err != nil {
		return none, err
	}
	u.state.mu.Lock()
	defer u.state.mu.Unlock()
	if !slices.Contains(u.state.units, u) {
		u.state.units = append(u.state.units, u)
	}
	u.machine, u.ticket, u.attempts, u.grant = machine, l.Ticket, nil, l.Grant
	u.spent = slices.Repeat([]int64{l.Grant.From}, int(l.Grant.Nodes))
	if err := u.state.put(); err != nil {
		return none, err
	}
	return l, nil
}

// resumed returns the lease that the earlier agent had, if it goes on.
func (u *unit) resumed(machine uint64) (l wire.Lease, ok bool) {
	u.state.mu.Lock()
	defer u.state.mu.Unlock()
	if !u.known {
		return l, false
	}
	u.known = false
	l, err := lease.ReadTicket(u.ticket)
	l.Now = time.Now()
	return l, err == nil && u.machine == machine
}

// Renew implements [wire.Server]. The attempt is kept before it is sent, and the new ticket before
// it is used.
func (u *unit) Renew(
	ctx context.Context, t wire.Ticket, attempt string, _ []string,
) (none wire.Lease, _ error) {
	u.state.mu.Lock()
	earlier := u.attempts
	if len(earlier) < maxAttempts {
		u.attempts = append(slices.Clone(earlier), attempt)
	}
	err := u.state.put()
	u.state.mu.Unlock()
	if err != nil {
		return none, err
	}
	l, err := u.source.Renew(ctx, t, attempt, earlier)
	u.state.mu.Lock()
	defer u.state.mu.Unlock()
	if errors.Is(err, store.ErrLost) || errors.Is(err, lease.ErrNoNamespace) || errors.Is(err, lease.ErrElsewhere) {
		return none, errors.Join(err, u.forget())
	}
	if err != nil {
		return none, err
	}
	u.ticket, u.grant, u.attempts = l.Ticket, l.Grant, nil
	if err := u.state.put(); err != nil {
		return none, err
	}
	return l, nil
}

// maxAttempts is how many attempts a server takes.
const maxAttempts = 64

// forget has the next agent know nothing of the unit. The mutex is held.
func (u *unit) forget() error {
	u.state.units = slices.DeleteFunc(u.state.units, func(o *unit) bool { return o == u })
	u.spent = nil
	return u.state.put()
}

// Release implements [wire.Server]. The state forgets the unit before it is given back, above all
// that was sublet of it.
func (u *unit) Release(ctx context.Context, t wire.Ticket, used int64) error {
	u.state.mu.Lock()
	if used >= 0 && len(u.spent) > 0 {
		used = max(used, slices.Max(u.spent))
	}
	err := u.forget()
	u.state.mu.Unlock()
	if err != nil {
		return err
	}
	return u.source.Release(ctx, t, used)
}

// note keeps the end of a sublease, as [lease.SubletOptions] says.
func (u *unit) note(sublease snowfence.Grant) error {
	u.state.mu.Lock()
	defer u.state.mu.Unlock()
	i, end := sublease.Node-u.grant.Node, sublease.Until
	if i < 0 || i >= int64(len(u.spent)) {
		return errors.New("its unit was given back or lost")
	}
	before := u.spent[i]
	u.spent[i] = end
	if end <= before { // the file may say more
		return nil
	}
	return u.state.put()
}
