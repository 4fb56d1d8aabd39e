package lease

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Ticket is a lease as a value, for servers whose holders are in other processes or other
// languages. No server keeps it: its holder sends it with each renewal and keeps the
// new one that comes back. So any server over the same store can renew it. It names
// the last write of its holder. Only who has the latest ticket can renew. A copy of
// the holder is noticed as for a [Lease].
//
// A holder must do what a [Lease] does: renew every third of the TTL, stop
// at Until, and stop at once when a renewal is an [ErrLost]. Keep a ticket
// secret within its namespace, because it can write the record of its node.
//
// A ticket is signed with a key from the record of the namespace. A ticket that was
// changed is refused as lost. So a holder decides only about the ticks that were
// granted to it. If it lies about what it used, it makes duplicates of its own IDs,
// and of nobody else's.
type Ticket struct {
	Namespace  string        `json:"namespace"`
	Node       int64         `json:"node"`
	Nodes      int           `json:"nodes"` // length of the block
	From       int64         `json:"from"`  // first tick granted
	Until      int64         `json:"until"` // first tick not granted
	TTL        time.Duration `json:"ttl"`
	Label      string        `json:"label"`
	Holder     string        `json:"holder"`
	Nonce      string        `json:"nonce"` // of the last write
	Revision   int64         `json:"revision"`
	Generation int64         `json:"generation"`
	MAC        string        `json:"mac"` // of all the others, by the key in the namespace's record
}

// Request is what a holder tells a server beside its [Options], for servers and their clients.
type Request struct {
	// Attempt is a random text of the holder, as that of [Ticket.Renew]; "" means none. Earlier has
	// those that had no answer: the lease that one of them got is found, and no second node taken.
	Attempt string
	Earlier []string

	// Lost is the last ticket of a holder that lost its lease, or nil: if the store was rolled back
	// behind it, the floor is raised first, above its ticks.
	Lost *Ticket

	// Free takes no node over: a holder that has lost its node does not take it back.
	Free bool

	// Prefer is the node that the holder would like, nil for none; Avoid has those that it refuses.
	Prefer *int64
	Avoid  []int64

	// Fingerprint and Keys are of the holder's scheme; "" means that it has none yet. Another one
	// than the namespace's is a [MismatchError].
	Fingerprint string
	Keys        []string // snowfence.Secret.ID of each, by key number
}

// Acquire acquires a lease and returns it as a ticket, for servers. r may be nil. The errors are
// those of [Open].
func Acquire(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, r *Request, o *Options,
) (Ticket, error) {
	if r == nil {
		r = &Request{}
	}
	if r.Attempt != "" {
		if err := checkAttempt(r.Attempt); err != nil {
			return Ticket{}, err
		}
	}
	c, unpin, err := ticketClaim(ctx, st, namespace, s, o)
	if err != nil {
		return Ticket{}, err
	}
	defer unpin()
	if err = c.create(ctx); err != nil {
		return Ticket{}, err
	}
	ns, err := c.signing(ctx)
	if err == nil {
		err = c.heed(ctx, r, ns)
	}
	if err == nil {
		_, err = firstGrant(ctx, c.setup, c)
	}
	if err != nil {
		return Ticket{}, err
	}
	return c.ticket(ns.ticketKey), nil
}

// heed has a new claim know what its holder asks for.
func (c *storeClaim) heed(ctx context.Context, r *Request, ns Namespace) error {
	if err := ns.suits(c.scheme, r); err != nil {
		return err
	}
	for _, node := range r.Avoid {
		c.refused[node] = errAvoided
	}
	c.attempt, c.free = r.Attempt, r.Free
	if r.Prefer != nil {
		c.prefer = []int64{*r.Prefer}
	}
	if r.Lost != nil {
		if err := c.remind(*r.Lost, ns); err != nil {
			return err
		}
	}
	if len(r.Earlier) > 0 {
		return c.find(ctx, ns, r.Earlier)
	}
	return nil
}

// errAvoided is why a node that the holder refuses is not leased.
var errAvoided = errors.New("its holder refuses it")

// suits is an error unless the holder has the scheme of the namespace, and no secret that it lacks.
func (ns Namespace) suits(s *snowfence.Scheme, r *Request) error {
	if r.Fingerprint != "" && r.Fingerprint != s.Fingerprint() {
		return &MismatchError{ns.Name, s.Fingerprint(), r.Fingerprint}
	}
	for number, id := range r.Keys {
		if id != "" && (number >= len(ns.Keys) || ns.Keys[number] != id) {
			err := fmt.Errorf("lease: namespace %q: %w: the server has not the secret with the number %d: give it "+
				"that one first", ns.Name, snowfence.ErrKey, number)
			return marked{err, ErrRefused}
		}
	}
	return nil
}

// find adopts what an attempt without an answer got. It looks at all nodes, which is rare. What it
// finds is used only after one more write, with another attempt: so a copy of the holder finds
// nothing.
func (c *storeClaim) find(ctx context.Context, ns Namespace, earlier []string) error {
	h := &hold{unanswered: map[string]bool{}, generation: ns.Generation, floor: ns.Floor, found: true}
	nodes := snowfence.NodeRange{From: 0, Until: nodeCount(c.ticks.layout)}
	blocks := map[string][]store.Record{} // by their nonce
	for r, err := range store.Records(ctx, c.st, c.name, nodes) {
		if err != nil {
			return fmt.Errorf("lease: reading nodes of namespace %q: %w", c.name, err)
		}
		if r.Holder != "" && r.Generation == ns.Generation && r.Label == c.opts.Label &&
			attempted(r.Nonce, earlier) {
			if blocks[r.Nonce] = append(blocks[r.Nonce], r); len(blocks[r.Nonce]) == c.opts.Nodes {
				h.records = blocks[r.Nonce]
				break
			}
		}
	}
	for _, r := range h.records { // none, if others took a part of it: that runs out by itself
		who, from := startOf(r.Holder)
		if from < ns.Floor { // it was computed before the floor was raised
			return nil
		}
		c.who, h.from = who, max(h.from, r.From, from)
	}
	if h.records != nil {
		c.held = h
	}
	return nil
}

// remind has a new claim know what an earlier one of its holder was granted. Its acquisition
// then begins as that of a [Lease] after a loss: it looks for a rollback, and raises the floor.
//
// Only what the namespace's key signed counts, so that no holder raises the floor of others at
// will. Ticks of an earlier layout say nothing about those of the present one.
func (c *storeClaim) remind(t Ticket, ns Namespace) error {
	switch {
	case t.Namespace != ns.Name:
		return invalidf("lease: namespace %q: the lost ticket is of namespace %q: leave it out", ns.Name,
			clip(t.Namespace))
	case t.verify(ns) != nil || t.Generation < ns.Since:
		return nil
	}
	h := &hold{generation: t.Generation}
	for _, k := range blockKeys(t.Namespace, t.Node, t.Nodes) {
		h.records = append(h.records, store.Record{Key: k, Revision: t.Revision})
	}
	c.lostHold, c.reached = h, t.Until
	return nil
}

// Renew moves the end of a ticket's grant ahead and returns the next ticket. attempt
// is a random text of the holder: 16 to 32 letters, digits, '-' and '_', a new one for
// each call. earlier has those of this ticket that had no answer. An error that
// matches [ErrLost] means that somebody else has the lease, and ErrNoNamespace that
// its namespace is gone: stop at once. After any other error the old ticket is good
// until its end.
func (t Ticket) Renew(
	ctx context.Context, st store.Store, s *snowfence.Scheme, attempt string, earlier []string, o *Options,
) (Ticket, error) {
	if err := checkAttempt(attempt); err != nil {
		return t, err
	}
	if strings.HasPrefix(t.Nonce, attempt+".") {
		// If all renewals had one attempt, a write
		// of a copy would count as the holder's.
		return t, invalidf("lease: node %d of namespace %q: the attempt is that of the renewal before: take a "+
			"new random one for each", t.Node, t.Namespace)
	}
	c, unpin, err := t.resume(ctx, st, s, attempt, o)
	if err != nil {
		return t, err
	}
	defer unpin()
	key, err := c.adopt(ctx, t, slices.Concat(earlier, []string{attempt}))
	if err == nil {
		_, err = c.renew(ctx)
	}
	if err == nil {
		return c.ticket(key), nil
	}
	err = errors.Join(err, c.diagnose(ctx))
	if lost(err) {
		err = fmt.Errorf("lease: node %d of namespace %q: %w: %w", t.Node, t.Namespace, store.ErrLost, err)
	}
	return t, errors.Join(err, c.raiseIfSuspected(ctx))
}

// Release gives the node back, for a holder that has stopped for good. used is the
// tick after the last one that it used. A negative one means that it is not known:
// then the whole grant counts as used. A lease that somebody else has by now is left
// alone.
func (t Ticket) Release(ctx context.Context, st store.Store, s *snowfence.Scheme, used int64, o *Options) error {
	c, unpin, err := t.resume(ctx, st, s, "", o)
	if err != nil {
		return err
	}
	defer unpin()
	if _, err := c.adopt(ctx, t, nil); lost(err) {
		return nil
	} else if err != nil {
		return err
	}
	var sealed *owed
	if used >= 0 {
		sealed = &owed{t.Node, c.held.from, used}
	}
	return c.giveBack(ctx, sealed)
}

// ticketClaim returns a claim that nobody keeps. end ends it.
func ticketClaim(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, o *Options,
) (_ *storeClaim, end func(), _ error) {
	if err := check(st, namespace, s); err != nil {
		return nil, nil, err
	}
	opts, err := o.normal(s)
	if err != nil {
		return nil, nil, err
	}
	unpin, err := pin(ctx, st, namespace)
	if err != nil {
		return nil, nil, err
	}
	c := newClaim(newSetup(world.From(ctx), namespace, s, opts), st)
	return c, func() { unpin(); c.announce() }, nil
}

// resume returns the claim of a ticket. Its nonces begin with the attempt, if there is one.
func (t Ticket) resume(
	ctx context.Context, st store.Store, s *snowfence.Scheme, attempt string, o *Options,
) (_ *storeClaim, unpin func(), _ error) {
	var with Options
	if o != nil {
		with = *o
	}
	with.TTL, with.Nodes, with.Label, with.Node = t.TTL, t.Nodes, t.Label, &t.Node
	c, unpin, err := ticketClaim(ctx, st, t.Namespace, s, &with)
	if err != nil {
		return nil, nil, err
	}
	c.who, _, _ = strings.Cut(t.Holder, ".")
	c.reached, c.attempt = t.Until, attempt
	return c, unpin, nil
}

// adopt takes over what the ticket's holder has in the store: its last write, or one
// of these attempts whose reply was lost. The latter is used only after one more write,
// as for a lost reply of a Lease. It returns the key that signs the next ticket.
func (c *storeClaim) adopt(ctx context.Context, t Ticket, attempts []string) (key string, _ error) {
	stored, err := c.st.Get(ctx,
		append(blockKeys(t.Namespace, t.Node, t.Nodes), store.Key{Namespace: t.Namespace, Node: store.NamespaceNode}))
	if err != nil {
		return "", fmt.Errorf("lease: reading node %d: %w", t.Node, err)
	}
	last := len(stored) - 1
	ns, err := namespaceOf(c.st, stored[last])
	if err != nil {
		return "", err
	}
	if err := t.verify(ns); err != nil {
		return "", err
	}
	stored = stored[:last]
	h := &hold{unanswered: map[string]bool{}, generation: t.Generation, confirmed: true, from: t.From}
	for _, r := range stored {
		r.Revision = t.Revision
		h.records = append(h.records, r)
	}
	c.held = h
	for _, r := range stored {
		own := r.Nonce == t.Nonce || r.Holder == t.Holder && attempted(r.Nonce, attempts)
		if !own {
			return "", c.loseHold(stored, fmt.Errorf("node %d was changed by somebody else", r.Node))
		}
	}
	h.records = stored
	for _, r := range stored {
		h.from = max(h.from, r.From)
	}
	return ns.ticketKey, nil
}

// attempted reports whether one of the attempts wrote a nonce.
func attempted(nonce string, attempts []string) bool {
	begin, _, _ := strings.Cut(nonce, ".") // a nonce without an attempt is no attempt
	return slices.Contains(attempts, begin)
}

// signing returns the namespace with the key that signs
// its tickets. The first ticket makes it.
func (c *storeClaim) signing(ctx context.Context) (Namespace, error) {
	for {
		ns, err := c.usable(ctx)
		if err != nil || ns.ticketKey != "" {
			return ns, err
		}
		ns.ticketKey = c.world.Text()
		if ns, err = ns.write(ctx, c.st); !errors.Is(err, store.ErrLost) {
			return ns, err
		}
	}
}

// verify is an error unless the namespace's key signed the ticket.
func (t Ticket) verify(ns Namespace) error {
	if ns.ticketKey == "" || !hmac.Equal([]byte(t.MAC), []byte(t.sign(ns.ticketKey).MAC)) {
		return fmt.Errorf("lease: node %d of namespace %q: %w: the ticket was changed, or is from another store",
			t.Node, t.Namespace, store.ErrLost)
	}
	return nil
}

// sign returns the ticket with its MAC: HMAC-SHA-256 of its other fields, as JSON.
func (t Ticket) sign(key string) Ticket {
	t.MAC = ""
	h := hmac.New(sha256.New, []byte(key))
	h.Write(t.Bytes())
	t.MAC = hex.EncodeToString(h.Sum(nil))
	return t
}

func (c *storeClaim) ticket(key string) Ticket {
	h := c.held
	r := h.records[0]
	return Ticket{
		// as JSON keeps it
		Namespace: c.name, Node: r.Node, Nodes: len(h.records), From: h.from, Until: r.Until, TTL: c.opts.TTL,
		Label:  strings.ToValidUTF8(c.opts.Label, "\uFFFD"),
		Holder: r.Holder, Nonce: r.Nonce, Revision: r.Revision, Generation: h.generation,
	}.sign(key)
}

// Bytes returns the ticket as a server gives it to its holder.
func (t Ticket) Bytes() []byte {
	b, _ := json.Marshal(t) // texts and numbers always have a JSON
	return b
}

// ParseTicket reads what [Ticket.Bytes] wrote, for servers. Other bytes are an [ErrInvalid].
func ParseTicket(b []byte) (Ticket, error) {
	var t Ticket
	if json.Unmarshal(b, &t) != nil || CheckName(t.Namespace) != nil {
		return Ticket{}, invalidf("lease: the ticket is damaged: send back the bytes of the last answer as they are")
	}
	return t, nil
}

// Format implements [fmt.Formatter]: it prints of which node the ticket is, and hides what proves
// who has it.
func (t Ticket) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "ticket of node %d of namespace %q, ticks %d to %d", t.Node, t.Namespace, t.From, t.Until)
}

// LogValue implements [slog.LogValuer], as Format does.
func (t Ticket) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(t)) }

// letters are what an attempt is made of.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func checkAttempt(s string) error {
	// with what is added it is a nonce of less than 64
	if len(s) < 16 || len(s) > 32 || strings.Trim(s, letters) != "" {
		return invalidf("lease: the attempt must be 16 to 32 random letters, digits, '-' and '_'")
	}
	return nil
}
