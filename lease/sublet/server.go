// Package sublet divides a lease from memory, for servers whose holders
// need a node each.
package sublet

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
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Server hands out the nodes of a lease one by one, from memory. An
// acquisition, a renewal or a release of a node costs no call to the store.
// A holder keeps such a node as any other, with lease.Keep.
//
// Subleases end with the grant of the lease at the latest. When the lease
// is lost or has ended, renewals are a [store.ErrLost]. A ticket of another
// Server is a lease.ErrElsewhere: its holder uses its grant to the end, and
// takes another node. It is safe for concurrent use.
type Server struct {
	lease *lease.Lease
	setup *claim.Setup                              // of the lease
	held  func(after int64) (snowfence.Grant, bool) // of the lease
	life  string                                    // names these subleases in tickets

	mu      sync.Mutex     // of what follows
	machine world.Machine  // that the key was made on: a copy has another one
	key     *ticket.Signer // of a random text
	serial  int64
	d       *division // nil when nothing of the lease is handed out
}

// New hands out the nodes of a lease from memory, in place of a generator.
// It ends with the lease, which it renews every five seconds, or more
// often. life names the subleases in tickets: no other Server may ever have
// the same; "" takes a random text. The error is snowfence.ErrBound if the
// lease has a generator.
func New(l *lease.Lease, life string) (*Server, error) {
	s := &Server{lease: l, held: l.Held}
	var err error
	if s.setup, err = l.Lend(s.seal); err != nil {
		return nil, err
	}
	s.life = cmp.Or(life, s.setup.World.Text())
	s.begin()
	return s, nil
}

// Lease returns the lease of the nodes.
func (s *Server) Lease() *lease.Lease { return s.lease }

// Held counts the nodes that nobody else can have now and that had a last
// holder with such a label; nil means any. A node that was given back
// counts until the possible use of its holder has passed.
func (s *Server) Held(such func(label string) bool) int64 {
	if such == nil {
		such = func(string) bool { return true }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.d == nil {
		return 0
	}
	return s.d.held(s.setup.Ticks, s.setup.Now(), such)
}

// begin takes another key, for tickets of this machine only, and has handed
// nothing out. mu is held, or s is new.
func (s *Server) begin() {
	w := s.setup.World
	s.machine, s.key, s.d = w.Machine(), ticket.NewSigner(w.Text()), nil
}

// seal ends all subleases, as far as this lease can, and returns the end of
// their possible use.
func (s *Server) seal() int64 {
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
// that is asked for by its number. The ttl is [scope.DefaultTTL] unless the
// request names one, and is cut to two thirds of the lease's.
func (s *Server) Acquire(_ context.Context, namespace string, r wire.Request) (none wire.Lease, _ error) {
	l := s.setup
	r.Attempt = cmp.Or(r.Attempt, l.World.Text())
	if err := claim.CheckAttempt(r.Attempt); err != nil {
		return none, err
	}
	if namespace != l.Name || r.Node != nil || r.Nodes > 1 {
		return none, fault.Invalidf("lease: namespace %q: this lessor leases single nodes of namespace %q only, "+
			"and you cannot choose the number: ask the store for others", namespace, l.Name)
	}
	if err := claim.Suits(l.Name, l.Scheme.KeyIDs(), l.Scheme, r); err != nil {
		return none, err
	}
	o := claim.Settings{TTL: r.TTL, Label: r.Label, Within: r.Within}
	if _, err := o.Normal(l.Scheme); err != nil {
		return none, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.refresh() {
		return none, s.unavailable()
	}
	t, now := l.Ticks, l.Now()
	if s.d.grant.Until <= t.Layout.TickOf(now) {
		return none, s.unavailable()
	}
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
		return none, &claim.TakenError{
			Nodes: snowfence.NodeRange{From: g.Node, Until: g.Node + g.Nodes}, Block: 1, Namespace: l.Name,
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
//
// Invariant: a copy divides no grant of before. It looks at the machine
// before it asks for the grant: the lease has none after an earlier
// resumption, and answer notices a later one.
func (s *Server) refresh() bool {
	if s.machine.Copied() {
		s.begin()
	}
	g, ok := s.held(-1)
	switch {
	case !ok:
		return false
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
func (s *Server) wanted(r wire.Request) func(node int64) bool {
	return func(node int64) bool {
		return r.Within == snowfence.NodeRange{} || node >= r.Within.From && node < r.Within.Until
	}
}

// Renew implements [wire.Server].
func (s *Server) Renew(_ context.Context, b wire.Ticket, attempt string, earlier []string) (none wire.Lease, _ error) {
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
	t, now := s.setup.Ticks, s.setup.Now()
	t.TTL = k.TTL
	s.d.renew(i, t, now, attempt)
	return s.answer(i, t, now, k.Label)
}

// Release implements [wire.Server].
func (s *Server) Release(_ context.Context, b wire.Ticket, used int64) error {
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
func (s *Server) read(b wire.Ticket) (ticket.Claims, error) {
	k, err := ticket.Parse(b)
	if err != nil {
		return k, err
	}
	if k.Lessor != s.life {
		return k, fmt.Errorf("lease: node %d of namespace %q: %w", k.Node, k.Namespace, fault.ErrElsewhere)
	}
	return k, s.key.Verify(k)
}

// holds returns the slot of a ticket, or −1. mu is held.
func (s *Server) holds(k ticket.Claims, attempts []string) int {
	if s.d == nil {
		return -1
	}
	tenancy, _ := strconv.ParseInt(k.Holder, 10, 64) // as answer wrote it
	return s.d.holds(k.Node, tenancy, k.Revision, attempts)
}

// answer is the holder's part of a slot, unless the machine was copied
// since the slot was chosen: then a copy may have given it to another one.
// mu is held.
func (s *Server) answer(i int, t claim.Ticks, now time.Time, label string) (none wire.Lease, _ error) {
	x, g := s.d.slots[i], s.d.sublease(i)
	if s.machine.Copied() {
		return none, s.unavailable()
	}
	k := ticket.Claims{
		Namespace: s.setup.Name, Node: g.Node, Nodes: 1, Unit: 1, From: g.From,
		Until: g.Until, TTL: t.TTL, Label: label,
		Lessor: s.life, Holder: strconv.FormatInt(x.tenancy, 10), Nonce: x.attempt, Revision: x.serial,
	}
	out := k.Lease(s.key.Sign(k))
	out.Now = now
	return out, nil
}

// unavailable says why nothing can be handed out now.
func (s *Server) unavailable() error {
	if err := s.lease.Err(); err != nil {
		return fmt.Errorf("lease: subleases of namespace %q: %w", s.setup.Name, err)
	}
	return fmt.Errorf("lease: subleases of namespace %q: %w: their lessor has no grant now: try again",
		s.setup.Name, snowfence.ErrFenced)
}
