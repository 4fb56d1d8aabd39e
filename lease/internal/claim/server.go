package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// server is a [wire.Server] over a store.
type server struct {
	st       store.Store
	scheme   *snowfence.Scheme
	settings Settings
	begin    func(w world.World, namespace string) (Report, func())
}

// Serve returns the server that lease.Serve describes. begin returns the
// reporter of a request, and its announcement at the end.
func Serve(
	st store.Store, s *snowfence.Scheme, n Settings, begin func(w world.World, namespace string) (Report, func()),
) wire.Server {
	return server{st, s, n, begin}
}

// Acquire implements [wire.Server].
func (v server) Acquire(ctx context.Context, namespace string, r wire.Request) (none wire.Lease, _ error) {
	if err := CheckAttempt(r.Attempt); err != nil && r.Attempt != "" {
		return none, err
	}
	n := v.settings
	n.TTL, n.Node, n.Guard, n.Within, n.Nodes, n.Label = r.TTL, r.Node, r.Guard, r.Within, r.Nodes, r.Label
	c, end, err := v.claim(ctx, namespace, n)
	if err != nil {
		return none, err
	}
	defer end()
	if err = c.create(ctx); err != nil {
		return none, err
	}
	ns, err := c.signing(ctx)
	if err == nil {
		err = c.heed(ctx, r, ns)
	}
	if err == nil {
		_, err = firstGrant(ctx, c.Setup, c)
	}
	if err != nil {
		return none, err
	}
	return c.answer(ns.Signer()), nil
}

// Renew implements [wire.Server].
func (v server) Renew(ctx context.Context, b wire.Ticket, attempt string, earlier []string) (none wire.Lease, _ error) {
	t, err := ofStore(b)
	if err == nil {
		err = CheckAttempt(attempt)
	}
	if err != nil {
		return none, err
	}
	if strings.HasPrefix(t.Nonce, attempt+".") {
		// If all renewals had one attempt, a write of a copy would count as
		// the holder's.
		return none, fault.Invalidf("lease: node %d of namespace %q: the last renewal had the same attempt: use a "+
			"new random attempt for each", t.Node, t.Namespace)
	}
	c, end, err := v.resume(ctx, t, attempt)
	if err != nil {
		return none, err
	}
	defer end()
	signer, err := c.adopt(ctx, t, slices.Concat(earlier, []string{attempt}))
	if err == nil {
		_, err = c.proceed(ctx)
	}
	if err = c.loseIfReplaced(err); err == nil {
		return c.answer(signer), nil
	}
	if IsLost(err) {
		err = fmt.Errorf("lease: node %d of namespace %q: %w: %w", t.Node, t.Namespace, store.ErrLost, err)
	}
	return none, errors.Join(err, c.tellRollback(ctx)) // this claim ends here, and acquires nothing
}

// Release implements [wire.Server].
func (v server) Release(ctx context.Context, b wire.Ticket, used int64) error {
	t, err := ofStore(b)
	if err != nil {
		return err
	}
	c, end, err := v.resume(ctx, t, "")
	if err != nil {
		return err
	}
	defer end()
	if _, err := c.adopt(ctx, t, nil); IsLost(err) {
		return c.tellRollback(ctx)
	} else if err != nil {
		return err
	}
	if used < 0 {
		return c.GiveBack(ctx, nil)
	}
	return c.GiveBack(ctx, &Owed{t.Node, c.held.from, used})
}

// claim returns a claim that no goroutine keeps. end ends it.
func (v server) claim(ctx context.Context, namespace string, n Settings) (_ *storeClaim, end func(), _ error) {
	if err := fault.Check(v.st, namespace, v.scheme); err != nil {
		return nil, nil, err
	}
	n, err := n.Normal(v.scheme)
	if err != nil {
		return nil, nil, err
	}
	unpin, err := Pin(ctx, v.st, namespace)
	if err != nil {
		return nil, nil, err
	}
	w := world.From(ctx)
	tell, announce := v.begin(w, namespace)
	return newClaim(NewSetup(w, namespace, v.scheme, n, tell), v.st), func() { unpin(); announce() }, nil
}

// resume returns the claim of a ticket. Its nonces begin with the attempt,
// if there is one.
func (v server) resume(ctx context.Context, t ticket.Claims, attempt string) (_ *storeClaim, end func(), _ error) {
	n := v.settings
	n.TTL, n.Nodes, n.Label, n.Node = t.TTL, t.Nodes, t.Label, &t.Node
	c, end, err := v.claim(ctx, t.Namespace, n)
	if err != nil {
		return nil, nil, err
	}
	c.attempt = attempt
	c.noteReach(t.From, t.Until)
	return c, end, nil
}

// ofStore parses a ticket of the store. One of a lessor is an
// [fault.ErrElsewhere].
func ofStore(b wire.Ticket) (ticket.Claims, error) {
	t, err := ticket.Parse(b)
	if t.Lessor != "" {
		err = fmt.Errorf("lease: node %d of namespace %q: %w", t.Node, t.Namespace, fault.ErrElsewhere)
	}
	return t, err
}

const attemptLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// CheckAttempt is an [fault.ErrInvalid] unless a nonce can begin with the
// attempt.
func CheckAttempt(s string) error {
	// with the additions it is a nonce of less than 64
	if len(s) < 16 || len(s) > 32 || strings.Trim(s, attemptLetters) != "" {
		return fault.Invalidf("lease: the attempt must be 16 to 32 random letters, digits, '-' and '_'")
	}
	return nil
}
