package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// heed gives a new claim the wishes of its holder, its lost ticket and its
// earlier attempts.
func (c *storeClaim) heed(ctx context.Context, r wire.Request, ns scope.Namespace) error {
	if err := Suits(ns.Name, ns.Keys, c.Scheme, r); err != nil {
		return err
	}
	c.attempt, c.onlyFree = r.Attempt, r.Free
	if r.Prefer != nil {
		c.wishes = []int64{*r.Prefer}
	}
	if len(r.Lost) > 0 {
		if err := c.remind(r.Lost, ns); err != nil {
			return err
		}
	}
	if len(r.Earlier) > 0 {
		if err := c.adoptAttempt(ctx, ns, r.Earlier); err != nil {
			return err
		}
	}
	if r.Known && c.held == nil {
		return fmt.Errorf("lease: namespace %q: no earlier attempt got a node: %w", c.Name, fault.ErrTaken)
	}
	return nil
}

// Suits is an error unless the holder has the scheme of the namespace, no
// secret that it lacks, and an attempt of its own for each call: with an
// earlier one again, a copy of the holder would find its nodes.
func Suits(namespace string, keys []string, s *snowfence.Scheme, r wire.Request) error {
	if r.Fingerprint != "" && r.Fingerprint != s.Fingerprint() {
		return fault.Mismatch(namespace, s.Fingerprint(), r.Fingerprint)
	}
	if slices.Contains(r.Earlier, r.Attempt) {
		return fault.Invalidf("lease: namespace %q: the attempt is one of the earlier ones, too: use a new random "+
			"attempt for each call", namespace)
	}
	for number, id := range r.Keys {
		if id != "" && (number >= len(keys) || keys[number] != id) {
			return fault.Refusedf("lease: namespace %q: %w: the server does not have the secret with the number %d: "+
				"give it that one first", namespace, snowfence.ErrKey, number)
		}
	}
	return nil
}

// adoptAttempt adopts the nodes of an attempt without an answer. It looks
// at all nodes, which is rare. It uses them only after one more write, with
// another attempt: so a copy of the holder finds nothing.
func (c *storeClaim) adoptAttempt(ctx context.Context, ns scope.Namespace, earlier []string) error {
	h := &hold{unanswered: map[string]bool{}, generation: ns.Generation, floor: ns.Floor, copyUses: true}
	nodes := snowfence.NodeRange{From: 0, Until: c.Scheme.Nodes()}
	blocks := map[string][]store.Record{} // by their nonce
	for r, err := range store.Records(ctx, c.st, c.Name, nodes) {
		if err != nil {
			return fmt.Errorf("lease: reading nodes of namespace %q: %w", c.Name, err)
		}
		if r.Holder != "" && r.Generation == ns.Generation && r.Label == c.Label &&
			attempted(r.Nonce, earlier) {
			if blocks[r.Nonce] = append(blocks[r.Nonce], r); len(blocks[r.Nonce]) == c.perBlock() {
				h.records, h.acked = blocks[r.Nonce], make([]int64, c.perBlock())
				break
			}
		}
	}
	for _, r := range h.records { // none, if others took a part of it: that runs out by itself
		_, from := startOf(r.Holder)
		if from < ns.Floor { // it was computed before the floor was raised
			return nil
		}
		h.from = max(h.from, r.From, from)
	}
	if h.records != nil {
		c.held = h
	}
	return nil
}

// remind tells a new claim the grant of an earlier one of its holder. Its
// acquisition then begins as one does after a loss: it looks for a
// rollback, and raises the floor.
//
// Only a ticket that the namespace vouches for counts, so that no holder
// raises the floor of others at will.
func (c *storeClaim) remind(lost wire.Ticket, ns scope.Namespace) error {
	t, err := ticket.Parse(lost)
	switch {
	case err != nil:
		return err
	case t.Namespace != ns.Name:
		return fault.Invalidf("lease: namespace %q: the lost ticket is of namespace %.100q: leave it out", ns.Name,
			t.Namespace)
	case vouch(ns, t) != nil:
		return nil
	}
	h := &hold{generation: t.Generation}
	for _, k := range blockKeys(t.Namespace, t.Node, t.Nodes, t.Unit) {
		h.records = append(h.records, store.Record{Key: k, Nonce: t.Nonce, Revision: t.Revision})
		h.acked = append(h.acked, t.Revision)
	}
	c.lostHold = h
	c.noteReach(t.From, t.Until)
	return nil
}

// adopt takes over the ticket's hold in the store: its last write, or one
// of these attempts by the ticket's Holder, which no other acquisition has.
// An attempt is used only after one more write, as for a lost answer of a
// Lease. It returns the signer of the next ticket.
func (c *storeClaim) adopt(ctx context.Context, t ticket.Claims, attempts []string) (*ticket.Signer, error) {
	if int64(t.Nodes)/t.Unit > probeRecords { // a forged ticket must not make it read so much
		ns, err := c.readNamespace(ctx)
		if err != nil {
			return nil, err
		}
		if err := vouch(ns, t); err != nil {
			return nil, err
		}
	}
	found, a, err := answer.Read(ctx, c.World, c.st, append(blockKeys(t.Namespace, t.Node, t.Nodes, t.Unit),
		store.Key{Namespace: t.Namespace, Node: store.NamespaceNode})...)
	if err != nil {
		return nil, fmt.Errorf("lease: reading node %d: %w", t.Node, err)
	}
	c.last = &a
	last := len(found) - 1
	ns, err := scope.ReadNamespace(c.st, found[last])
	if err != nil {
		return nil, err
	}
	if err := vouch(ns, t); err != nil {
		return nil, err
	}
	stored := found[:last]
	_ = c.fillSettings(ns) // a ttl that the namespace does not allow any more is cut by each confirmation
	h := &hold{unanswered: map[string]bool{}, generation: t.Generation, confirmed: true, from: t.From, until: t.Until}
	for _, r := range stored { // as the ticket knows it, for diagnose
		r.Nonce, r.Revision = t.Nonce, t.Revision
		h.records, h.acked = append(h.records, r), append(h.acked, r.Revision)
	}
	c.held, c.earlier = h, attempts
	for _, r := range stored {
		own := r.Nonce == t.Nonce || r.Holder == t.Holder && attempted(r.Nonce, attempts)
		if !own {
			return nil, c.loseHold(found, fmt.Errorf("another process changed node %d", r.Node))
		}
	}
	h.records = stored
	for _, r := range stored {
		h.from = max(h.from, r.From)
	}
	return ns.Signer(), nil
}

// vouch is an error unless the namespace signed the ticket, and for its
// present layout and unit: ticks of an earlier layout say nothing about the
// present one.
func vouch(ns scope.Namespace, t ticket.Claims) error {
	if t.Generation < ns.Since {
		return fmt.Errorf("lease: node %d of namespace %q: %w: the layout or the unit was changed since", t.Node,
			ns.Name, store.ErrLost)
	}
	return ns.Signer().Verify(t)
}

// attempted reports whether one of the attempts wrote a nonce.
func attempted(nonce string, attempts []string) bool {
	begin, _, _ := strings.Cut(nonce, ".") // a nonce without an attempt is no attempt
	return slices.Contains(attempts, begin)
}

// signing returns the namespace with the key that signs its tickets. The
// first ticket makes it.
func (c *storeClaim) signing(ctx context.Context) (scope.Namespace, error) {
	for {
		ns, err := c.usable(ctx)
		if err != nil {
			return ns, err
		}
		if ns, err = ns.Signing(ctx, c.st); !errors.Is(err, store.ErrLost) {
			return ns, err
		}
	}
}

// answer is the holder's part of a grant: the signed ticket, and its
// claims.
func (c *storeClaim) answer(signer *ticket.Signer) wire.Lease {
	h := c.held
	r := h.records[0]
	t := ticket.Claims{
		Namespace: c.Name, Node: r.Node, Nodes: int(c.nodes(h)), Unit: c.unit, From: h.from,
		Until: h.until, TTL: c.TTL, Label: c.Label,
		Holder: r.Holder, Nonce: r.Nonce, Revision: slices.Min(h.acked), Generation: h.generation,
	}
	out := t.Lease(signer.Sign(t))
	out.Now = c.Now()
	return out
}
