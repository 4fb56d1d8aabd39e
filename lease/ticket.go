package lease

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Serve is for servers: it leases nodes of a store to holders elsewhere, in namespaces of a
// scheme. o has the server's own MaxSkew, Time, Logger and Events. The server keeps only its clock.
//
// A holder must do what a [Lease] does: renew every third of the TTL, stop at the end of its grant,
// and stop at once when a renewal is a [store.ErrLost]. A copy of the holder is noticed as for a
// [Lease].
//
// A ticket is signed with a key from the record of the namespace. A ticket that was changed is
// refused as lost. So a holder decides only about the ticks that were granted to it. If it lies
// about what it used, it makes duplicates of its own IDs, and of nobody else's.
func Serve(st store.Store, s *snowfence.Scheme, o *Options) wire.Server {
	v := server{st: st, scheme: s}
	if o != nil {
		v.opts = *o
	}
	if s != nil {
		v.opts.clock = clockOf(v.opts.Time, s)
	}
	return v
}

// server is one over a store.
type server struct {
	st     store.Store
	scheme *snowfence.Scheme
	opts   Options
}

// Acquire implements [wire.Server].
func (v server) Acquire(ctx context.Context, namespace string, r wire.Request) (none wire.Lease, _ error) {
	if r.Attempt != "" {
		if err := checkAttempt(r.Attempt); err != nil {
			return none, err
		}
	}
	o := v.opts
	o.TTL, o.Node, o.Guard, o.Within, o.Nodes, o.Label = r.TTL, r.Node, r.Guard, r.Within, r.Nodes, r.Label
	c, end, err := v.claim(ctx, namespace, o)
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
		_, err = firstGrant(ctx, c.setup, c)
	}
	if err != nil {
		return none, err
	}
	return c.answer(ns.ticketKey), nil
}

// heed has a new claim know what its holder asks for.
func (c *storeClaim) heed(ctx context.Context, r wire.Request, ns Namespace) error {
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
	if len(r.Lost) > 0 {
		if err := c.remind(r.Lost, ns); err != nil {
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
func (ns Namespace) suits(s *snowfence.Scheme, r wire.Request) error {
	if r.Fingerprint != "" && r.Fingerprint != s.Fingerprint() {
		return mismatch(ns.Name, s.Fingerprint(), r.Fingerprint)
	}
	for number, id := range r.Keys {
		if id != "" && (number >= len(ns.Keys) || ns.Keys[number] != id) {
			return refusedf("lease: namespace %q: %w: the server has not the secret with the number %d: give it "+
				"that one first", ns.Name, snowfence.ErrKey, number)
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
				h.records, h.acked = blocks[r.Nonce], make([]int64, c.opts.Nodes)
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
func (c *storeClaim) remind(lost wire.Ticket, ns Namespace) error {
	t, err := parseTicket(lost)
	switch {
	case err != nil:
		return err
	case t.Namespace != ns.Name:
		return invalidf("lease: namespace %q: the lost ticket is of namespace %.100q: leave it out", ns.Name,
			t.Namespace)
	case t.verify(ns) != nil || t.Generation < ns.Since:
		return nil
	}
	h := &hold{generation: t.Generation}
	for _, k := range blockKeys(t.Namespace, t.Node, t.Nodes) {
		h.records = append(h.records, store.Record{Key: k, Revision: t.revision(k.Node)})
		h.acked = append(h.acked, t.revision(k.Node))
	}
	c.lostHold, c.reached = h, t.Until
	return nil
}

// Renew implements [wire.Server].
func (v server) Renew(
	ctx context.Context, b wire.Ticket, attempt string, earlier []string,
) (none wire.Lease, _ error) {
	t, err := parseTicket(b)
	if err == nil {
		err = checkAttempt(attempt)
	}
	if err != nil {
		return none, err
	}
	if strings.HasPrefix(t.Nonce, attempt+".") {
		// If all renewals had one attempt, a write
		// of a copy would count as the holder's.
		return none, invalidf("lease: node %d of namespace %q: the attempt is that of the renewal before: take a "+
			"new random one for each", t.Node, t.Namespace)
	}
	c, end, err := v.resume(ctx, t, attempt)
	if err != nil {
		return none, err
	}
	defer end()
	key, err := c.adopt(ctx, t, slices.Concat(earlier, []string{attempt}))
	if err == nil {
		_, err = c.renew(ctx)
	}
	if err == nil {
		return c.answer(key), nil
	}
	err = errors.Join(err, c.diagnose(ctx))
	if isLost(err) {
		err = fmt.Errorf("lease: node %d of namespace %q: %w: %w", t.Node, t.Namespace, store.ErrLost, err)
	}
	return none, errors.Join(err, c.raiseIfSuspected(ctx))
}

// Release implements [wire.Server].
func (v server) Release(ctx context.Context, b wire.Ticket, used int64) error {
	t, err := parseTicket(b)
	if err != nil {
		return err
	}
	c, end, err := v.resume(ctx, t, "")
	if err != nil {
		return err
	}
	defer end()
	if _, err := c.adopt(ctx, t, nil); isLost(err) {
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

// claim returns a claim that nobody keeps. end ends it.
func (v server) claim(ctx context.Context, namespace string, o Options) (_ *storeClaim, end func(), _ error) {
	if err := check(v.st, namespace, v.scheme); err != nil {
		return nil, nil, err
	}
	opts, err := o.normal(v.scheme)
	if err != nil {
		return nil, nil, err
	}
	unpin, err := pin(ctx, v.st, namespace)
	if err != nil {
		return nil, nil, err
	}
	c := newClaim(newSetup(world.From(ctx), namespace, v.scheme, opts), v.st)
	return c, func() { unpin(); c.announce() }, nil
}

// resume returns the claim of a ticket. Its nonces begin with the attempt, if there is one.
func (v server) resume(ctx context.Context, t ticket, attempt string) (_ *storeClaim, end func(), _ error) {
	o := v.opts
	o.TTL, o.Nodes, o.Label, o.Node = t.TTL, t.Nodes, t.Label, &t.Node
	c, end, err := v.claim(ctx, t.Namespace, o)
	if err != nil {
		return nil, nil, err
	}
	c.who, _, _ = strings.Cut(t.Holder, ".")
	c.reached, c.attempt = t.Until, attempt
	return c, end, nil
}

// adopt takes over what the ticket's holder has in the store: its last write, or one
// of these attempts whose reply was lost. The latter is used only after one more write,
// as for a lost reply of a Lease. It returns the key that signs the next ticket.
func (c *storeClaim) adopt(ctx context.Context, t ticket, attempts []string) (key string, _ error) {
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
	_ = c.settle(ns) // a ttl that the namespace does not allow any more is cut by each confirmation
	h := &hold{
		unanswered: map[string]bool{}, generation: t.Generation, confirmed: true, from: t.From, until: t.Until,
	}
	for _, r := range stored {
		r.Revision = t.revision(r.Node)
		h.records, h.acked = append(h.records, r), append(h.acked, r.Revision)
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

// answer is what the holder gets of a grant: the ticket, signed, and what it stands for.
func (c *storeClaim) answer(key string) wire.Lease {
	h := c.held
	r := h.records[0]
	now := c.now()
	t := ticket{
		// as JSON keeps it
		Namespace: c.name, Node: r.Node, Nodes: len(h.records), From: h.from, Until: h.until, TTL: c.opts.TTL,
		Label:  strings.ToValidUTF8(c.opts.Label, "\uFFFD"),
		Holder: r.Holder, Nonce: r.Nonce, Revision: r.Revision, Generation: h.generation,
	}
	out := t.sign(key).lease()
	out.Now = now
	return out
}

// ticket is what a [wire.Ticket] says.
type ticket struct {
	Namespace  string        `json:"namespace"`
	Node       int64         `json:"node"`
	Nodes      int           `json:"nodes"` // length of the block
	From       int64         `json:"from"`  // first tick granted
	Until      int64         `json:"until"` // first tick not granted
	TTL        time.Duration `json:"ttl"`
	Label      string        `json:"label"`
	Holder     string        `json:"holder"`
	Nonce      string        `json:"nonce"`    // of the last write
	Revision   int64         `json:"revision"` // of the first node; others of a block may have another
	Generation int64         `json:"generation"`
	MAC        string        `json:"mac"` // of all the others, by the key in the namespace's record
}

// revision returns the one that the store had acknowledged of a node, as far as the ticket says it.
func (t ticket) revision(node int64) int64 {
	if node == t.Node {
		return t.Revision
	}
	return 1
}

// verify is an error unless the namespace's key signed the ticket.
func (t ticket) verify(ns Namespace) error {
	if ns.ticketKey == "" || !hmac.Equal([]byte(t.MAC), []byte(t.sign(ns.ticketKey).MAC)) {
		return fmt.Errorf("lease: node %d of namespace %q: %w: the ticket was changed, or is from another store",
			t.Node, t.Namespace, store.ErrLost)
	}
	return nil
}

// sign returns the ticket with its MAC: HMAC-SHA-256 of its other fields, as JSON.
func (t ticket) sign(key string) ticket {
	t.MAC = ""
	h := hmac.New(sha256.New, []byte(key))
	h.Write(t.bytes())
	t.MAC = hex.EncodeToString(h.Sum(nil))
	return t
}

func (t ticket) bytes() wire.Ticket {
	b, _ := json.Marshal(t) // texts and numbers always have a JSON
	return b
}

func (t ticket) lease() wire.Lease {
	return wire.Lease{
		Ticket: t.bytes(), Namespace: t.Namespace, Label: t.Label, TTL: t.TTL,
		Grant: snowfence.Grant{Node: t.Node, From: t.From, Until: t.Until, Nodes: int64(t.Nodes)},
	}
}

// ReadTicket returns what a ticket says, for servers that look at it before they do what its holder
// asks. It is not verified. Other bytes are an [ErrInvalid].
func ReadTicket(b wire.Ticket) (wire.Lease, error) {
	t, err := parseTicket(b)
	if err != nil {
		return wire.Lease{}, err
	}
	return t.lease(), nil
}

func parseTicket(b wire.Ticket) (ticket, error) {
	var t ticket
	if json.Unmarshal(b, &t) != nil || checkName(t.Namespace) != nil {
		return ticket{}, invalidf("lease: the ticket is damaged: send back the bytes of the last answer as they are")
	}
	return t, nil
}

// attemptLetters are what an attempt is made of.
const attemptLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func checkAttempt(s string) error {
	// with what is added it is a nonce of less than 64
	if len(s) < 16 || len(s) > 32 || strings.Trim(s, attemptLetters) != "" {
		return invalidf("lease: the attempt must be 16 to 32 random letters, digits, '-' and '_'")
	}
	return nil
}
