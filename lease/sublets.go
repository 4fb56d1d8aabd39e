package lease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Sublets hands out the nodes of a lease one by one, from memory: it is a
// [wire.Server] over the lease. An acquisition, a renewal or a release of a
// node costs no call to the store. A holder keeps such a node as any other,
// with [Keep].
//
// Subleases end with the grant of the lease at the latest. When the lease
// is lost or has ended, renewals are a [store.ErrLost]. A ticket of another
// Sublets is an [ErrElsewhere]: its holder uses its grant to the end, and
// takes another node. It is safe for concurrent use.
type Sublets struct {
	lease *Lease
	life  string // names these subleases in tickets

	mu      sync.Mutex     // of what follows
	machine world.Machine  // that the key was made on: a copy has another one
	key     *ticket.Signer // of a random text
	serial  int64
	d       *division // nil when nothing of the lease is handed out
}

// Sublet hands out the nodes of the lease from memory, in place of a
// generator. It ends with the lease, which it renews every five seconds, or
// more often. life names the subleases in tickets: no other Sublets may
// ever have the same; "" takes a random text. The error is
// snowfence.ErrBound if the lease has a generator.
func (l *Lease) Sublet(life string) (*Sublets, error) {
	s := &Sublets{lease: l, life: cmp.Or(life, l.setup.World.Text())}
	s.begin()
	if _, err := l.Bind(s.seal); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.pace.most = heartbeat
	l.pace.renewAt = l.next(l.setup.World.Now())
	l.mu.Unlock()
	l.kick()
	return s, nil
}

// heartbeat is how often a lessor writes to the store, whatever its ttl, so
// that it notices a loss or a rollback before its holders have gone on for
// long.
const heartbeat = 5 * time.Second

// Lease returns the lease of the nodes.
func (s *Sublets) Lease() *Lease { return s.lease }

// Held counts the nodes that nobody else can have now and that had a last
// holder with such a label; nil means any. A node that was given back
// counts until the possible use of its holder has passed.
func (s *Sublets) Held(such func(label string) bool) int64 {
	if such == nil {
		such = func(string) bool { return true }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.d == nil {
		return 0
	}
	return s.d.held(s.lease.setup.Ticks, s.lease.setup.Now(), such)
}

// begin takes another key, for tickets of this machine only. mu is held, or
// s is new.
func (s *Sublets) begin() {
	w := s.lease.setup.World
	s.machine, s.key = w.Machine(), ticket.NewSigner(w.Text())
}

// seal ends all subleases, as far as this lease can, and returns the end of
// their possible use.
func (s *Sublets) seal() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.d == nil {
		return 0
	}
	end := s.d.end()
	s.serial, s.d = s.d.serial, nil
	return end
}

// Acquire implements [wire.Server]. It sublets single nodes only, and none
// that is asked for by its number. The ttl is [DefaultTTL] unless the
// request names one, and is cut to two thirds of the lease's.
func (s *Sublets) Acquire(_ context.Context, namespace string, r wire.Request) (none wire.Lease, _ error) {
	l := s.lease
	r.Attempt = cmp.Or(r.Attempt, l.setup.World.Text())
	if err := claim.CheckAttempt(r.Attempt); err != nil {
		return none, err
	}
	if namespace != l.setup.Name || r.Node != nil || r.Nodes > 1 {
		return none, fault.Invalidf("lease: namespace %q: this lessor leases single nodes of namespace %q only, "+
			"and you cannot choose the number: ask the store for others", namespace, l.setup.Name)
	}
	if err := claim.Suits(l.setup.Name, l.setup.Scheme.KeyIDs(), l.setup.Scheme, r); err != nil {
		return none, err
	}
	o := claim.Settings{TTL: r.TTL, Label: r.Label, Within: r.Within}
	if _, err := o.Normal(l.setup.Scheme); err != nil {
		return none, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.refresh() {
		return none, s.unavailable()
	}
	t, now := l.setup.Ticks, l.setup.Now()
	t.TTL = min(t.TTL*2/3, cmp.Or(r.TTL, scope.DefaultTTL))
	i := s.d.found(r.Earlier)
	if i >= 0 {
		s.d.renew(i, t, now, r.Attempt)
		return s.answer(i, t, now, r.Label)
	}
	if i = s.d.free(t, now, s.wanted(r)); i < 0 || r.Known {
		g := s.d.grant
		if g.From > t.Layout.TickOf(now) { // nodes of other leases would begin as late
			return none, fmt.Errorf("lease: subleases of namespace %q: %w: the grant of their lessor begins at %s",
				namespace, snowfence.ErrFenced, t.Layout.TimeOf(g.From).UTC().Format(time.RFC3339))
		}
		return none, &TakenError{
			Nodes: snowfence.NodeRange{From: g.Node, Until: g.Node + g.Nodes}, Block: 1, Namespace: l.setup.Name,
			Held: s.d.held(t, now, func(string) bool { return true }),
		}
	}
	s.d.begin(i, t, now, r.Attempt, r.Label)
	return s.answer(i, t, now, r.Label)
}

// refresh goes on with the lease's present hold, and reports whether there
// is one. mu is held.
//
// The lease drops a grant before it seals, so a grant that is here was not
// given back.
func (s *Sublets) refresh() bool {
	g, ok := s.lease.Held(-1)
	switch {
	case !ok:
		return false
	case s.machine.Copied():
		s.begin()
		s.d = divide(g, s.serial)
	case s.d == nil:
		s.d = divide(g, s.serial)
	case !s.d.sameNodes(g): // a lessor that is a holder of another one took other nodes
		s.d = divide(g, s.d.serial)
	default:
		s.d.extend(g)
	}
	return true
}

// wanted returns which nodes a request allows.
func (s *Sublets) wanted(r wire.Request) func(node int64) bool {
	return func(node int64) bool {
		in := r.Within == snowfence.NodeRange{} || node >= r.Within.From && node < r.Within.Until
		return in && !slices.Contains(r.Avoid, node)
	}
}

// Renew implements [wire.Server].
func (s *Sublets) Renew(
	_ context.Context, b wire.Ticket, attempt string, earlier []string,
) (none wire.Lease, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.read(b)
	if err == nil {
		err = claim.CheckAttempt(attempt)
	}
	if err != nil {
		return none, err
	}
	if k.Nonce == attempt { // as in server.Renew
		return none, fault.Invalidf("lease: node %d of namespace %q: the last renewal had the same attempt: use a new "+
			"random attempt for each", k.Node, k.Namespace)
	}
	held := s.refresh()
	i := s.holds(k, append(slices.Clone(earlier), attempt))
	if i < 0 {
		return none, fmt.Errorf("lease: node %d of namespace %q: %w: its sublease has ended", k.Node, k.Namespace,
			store.ErrLost)
	}
	if !held {
		return none, s.unavailable()
	}
	t, now := s.lease.setup.Ticks, s.lease.setup.Now()
	t.TTL = k.TTL
	s.d.renew(i, t, now, attempt)
	return s.answer(i, t, now, k.Label)
}

// Release implements [wire.Server].
func (s *Sublets) Release(_ context.Context, b wire.Ticket, used int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.read(b)
	if err != nil {
		return err
	}
	if i := s.holds(k, nil); i >= 0 {
		s.d.release(i, used)
	}
	return nil
}

// read returns the claims of a ticket, if it is from here. A changed one is
// lost. mu is held.
func (s *Sublets) read(b wire.Ticket) (ticket.Claims, error) {
	k, err := ticket.Parse(b)
	if err != nil {
		return k, err
	}
	if k.Lessor != s.life {
		return k, fmt.Errorf("lease: node %d of namespace %q: %w", k.Node, k.Namespace, ErrElsewhere)
	}
	return k, s.key.Verify(k)
}

// holds returns the slot of a ticket, or −1. mu is held.
func (s *Sublets) holds(k ticket.Claims, attempts []string) int {
	if s.d == nil {
		return -1
	}
	tenancy, _ := strconv.ParseInt(k.Holder, 10, 64) // as answer wrote it
	return s.d.holds(k.Node, tenancy, k.Revision, attempts)
}

// answer is the holder's part of a slot, unless the machine was copied
// since the slot was chosen: then a copy may have given it to another one.
// mu is held.
func (s *Sublets) answer(i int, t claim.Ticks, now time.Time, label string) (none wire.Lease, _ error) {
	x, g := s.d.slots[i], s.d.sublease(i)
	if s.machine.Copied() {
		return none, s.unavailable()
	}
	k := ticket.Claims{
		Namespace: s.lease.setup.Name, Node: g.Node, Nodes: 1, Unit: 1, From: g.From,
		Until: g.Until, TTL: t.TTL, Label: label,
		Lessor: s.life, Holder: strconv.FormatInt(x.tenancy, 10), Nonce: x.attempt, Revision: x.serial,
	}
	out := k.Lease(s.key.Sign(k))
	out.Now = now
	return out, nil
}

// unavailable says why nothing can be handed out now.
func (s *Sublets) unavailable() error {
	if err := s.lease.Err(); err != nil {
		return fmt.Errorf("lease: subleases of namespace %q: %w", s.lease.setup.Name, err)
	}
	return fmt.Errorf("lease: subleases of namespace %q: %w: their lessor has no grant now: try again",
		s.lease.setup.Name, snowfence.ErrFenced)
}
