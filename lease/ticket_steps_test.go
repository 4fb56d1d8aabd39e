package lease

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// attempts are of renewals, one after another.
const (
	attempt1 = "attempt-number-1"
	attempt2 = "attempt-number-2"
)

// remote returns a stage for tickets, and their options.
func remote(t *testing.T) (*stage, *Options) {
	g := empty(t, withRollback)
	o := g.c.opts
	return g, &o
}

// acquired is what a server acquires by a request with these options.
func acquired(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, r wire.Request, o *Options,
) (ticket, error) {
	if o != nil {
		r.TTL, r.Node, r.Guard, r.Within, r.Nodes, r.Label = o.TTL, o.Node, o.Guard, o.Within, o.Nodes, o.Label
	}
	return parsed(Serve(st, s, o).Acquire(ctx, namespace, r))
}

// parsed is the ticket of an answer.
func parsed(l wire.Lease, err error) (ticket, error) {
	if err != nil {
		return ticket{}, err
	}
	return parseTicket(l.Ticket)
}

func (t ticket) bytes() wire.Ticket { return t.appendTo(nil) }

func (t ticket) Renew(
	ctx context.Context, st store.Store, s *snowfence.Scheme, attempt string, earlier []string, o *Options,
) (ticket, error) {
	return parsed(Serve(st, s, o).Renew(ctx, t.bytes(), attempt, earlier))
}

func (t ticket) Release(ctx context.Context, st store.Store, s *snowfence.Scheme, used int64, o *Options) error {
	return Serve(st, s, o).Release(ctx, t.bytes(), used)
}

func (g *stage) ticket(o *Options) ticket {
	g.Helper()
	t, err := acquired(g.Context(), g.st, "n", g.c.scheme, wire.Request{}, o)
	g.must(err)
	return t
}

func (g *stage) renewed(t ticket, attempt string, o *Options) ticket {
	g.Helper()
	next, err := t.Renew(g.Context(), g.st, g.c.scheme, attempt, nil, o)
	g.must(err)
	return next
}

// unanswered makes writes of a namespace, or of nodes, unanswered.
func (g *stage) unanswered(namespace bool) {
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		if (ws[0].New.Node == store.NamespaceNode) == namespace {
			return silent(len(ws))
		}
		return do(ws)
	}
}

// A ticket is acquired or not at all. The store is kept open only meanwhile.
func TestAcquireOrNot(t *testing.T) {
	gets := 0
	for name, c := range map[string]struct {
		hurt func(g *stage, p *pinned, o *Options)
		want error
	}{
		"all is well":      {func(*stage, *pinned, *Options) {}, nil},
		"a wrong option":   {func(_ *stage, _ *pinned, o *Options) { o.TTL = time.Millisecond }, ErrInvalid},
		"not to be opened": {func(_ *stage, p *pinned, _ *Options) { p.err = errSilent }, errSilent},
		"a namespace that cannot be made": {func(g *stage, p *pinned, o *Options) {
			p.Memory, o.Create = store.NewMemory(), true
			g.unanswered(true)
		}, errSilent},
		"no answer about the key": {func(g *stage, p *pinned, _ *Options) {
			gets = 0
			p.onGet = func([]store.Key) error {
				if gets++; gets == 2 {
					return errSilent
				}
				return nil
			}
		}, errSilent},
		"a key that cannot be written": {func(g *stage, _ *pinned, _ *Options) {
			_, err := g.c.usable(g.Context()) // it writes the namespace, too
			g.must(err)
			g.rename(func(ns *Namespace) { ns.ticketKey = "" })
			g.unanswered(true)
		}, errSilent},
		"a node that is vetoed": {func(g *stage, _ *pinned, _ *Options) {
			_, err := Namespaces(g.st).Veto(g.Context(), "n", 5, "rack on fire")
			g.must(err)
		}, ErrVetoed},
	} {
		g, o := remote(t)
		p := &pinned{scripted: g.st}
		c.hurt(g, p, o)
		ticket, err := acquired(t.Context(), p, "n", g.c.scheme, wire.Request{}, o)
		if !errors.Is(err, c.want) || (err == nil) != (ticket.Node == 5) || p.open != 0 {
			t.Errorf("%s: %+v, %v, and the store is kept open %d times", name, ticket, err, p.open)
		}
		if held := g.record(5).Holder != ""; held != (c.want == nil) {
			t.Errorf("%s: the node is held: %t", name, held)
		}
	}
	g, o := remote(t)
	if _, err := acquired(t.Context(), nil, "n", g.c.scheme, wire.Request{}, o); err == nil {
		t.Error("acquired without a store")
	}
}

// Nil options are the defaults, for all that a ticket does not say.
func TestTicketWithoutOptions(t *testing.T) {
	g, _ := remote(t)
	ticket := g.ticket(nil)
	ticket = g.renewed(ticket, attempt1, nil)
	g.must(ticket.Release(t.Context(), g.st, g.c.scheme, 0, nil))
	if r := g.record(ticket.Node); r.Holder != "" {
		t.Errorf("not given back: %+v", r)
	}
}

// The first ticket of a namespace without a key makes one. If another process is faster,
// theirs stays.
func TestFirstTicketMakesTheKey(t *testing.T) {
	for _, faster := range []string{"", "their key"} {
		g, o := remote(t)
		_, err := g.c.usable(t.Context())
		g.must(err)
		g.rename(func(ns *Namespace) { ns.ticketKey = "" })
		if faster != "" {
			g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
				g.st.onSwap = nil
				g.rename(func(ns *Namespace) { ns.ticketKey = faster })
				return do(ws)
			}
		}
		ticket := g.ticket(o)
		key := g.namespace().ticketKey
		if key == "" || faster != "" && key != faster {
			t.Errorf("the key is %q, and another process made %q", key, faster)
		}
		g.renewed(ticket, attempt1, o)
		g.ticket(o)
		if again := g.namespace().ticketKey; again != key {
			t.Errorf("the second ticket made the key %q of %q", again, key)
		}
	}
}

// Without a key of its namespace no ticket is good, not even one that was signed without one.
func TestTicketWithoutAKey(t *testing.T) {
	g, o := remote(t)
	signed := g.ticket(o)
	g.rename(func(ns *Namespace) { ns.ticketKey = "" })
	unkeyed, err := parseTicket((&signer{mac: hmac.New(sha256.New, nil)}).sign(signed))
	g.must(err)
	for _, c := range []ticket{signed, unkeyed} {
		if _, err := c.Renew(t.Context(), g.st, g.c.scheme, attempt1, nil, o); !errors.Is(err, store.ErrLost) {
			t.Errorf("renewed: %v", err)
		}
		if err := c.Release(t.Context(), g.st, g.c.scheme, 0, o); !errors.Is(err, store.ErrLost) {
			t.Errorf("given back: %v", err)
		}
	}
}

// Whatever is not answered is no loss: the ticket stays good to its end.
func TestTicketWithoutAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		hurt func(g *stage)
		want error
	}{
		"no reads": {func(g *stage) { g.st.onGet = func([]store.Key) error { return errSilent } }, errSilent},
		"no writes": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
		}, errSilent},
		"a damaged namespace": {func(g *stage) { g.change(store.NamespaceNode, func(r *store.Record) { r.Data = "{" }) }, nil},
	} {
		g, o := remote(t)
		ticket := g.ticket(o)
		before := g.record(5)
		c.hurt(g)
		_, err := ticket.Renew(t.Context(), g.st, g.c.scheme, attempt1, nil, o)
		if err == nil || errors.Is(err, store.ErrLost) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: renewed: %v", name, err)
		}
		err = ticket.Release(t.Context(), g.st, g.c.scheme, 0, o)
		if err == nil || errors.Is(err, store.ErrLost) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: given back: %v", name, err)
		}
		if r := g.record(5); r != before {
			t.Errorf("%s: written: %+v", name, r)
		}
	}
	g, o := remote(t)
	ticket := g.ticket(o)
	if _, err := ticket.Renew(t.Context(), nil, g.c.scheme, attempt1, nil, o); err == nil || errors.Is(err,
		store.ErrLost) {
		t.Errorf("renewed without a store: %v", err)
	}
	if err := ticket.Release(t.Context(), nil, g.c.scheme, 0, o); err == nil || errors.Is(err, store.ErrLost) {
		t.Errorf("given back without a store: %v", err)
	}
}

// What was not used of a ticket is free again, and all of it counts as used where that is
// not known.
func TestTicketGivesBackWhatWasNotUsed(t *testing.T) {
	for name, c := range map[string]struct {
		used  func(t ticket) int64
		until func(t ticket) int64
	}{
		"some":            {func(t ticket) int64 { return t.From + 7 }, func(t ticket) int64 { return t.From + 7 }},
		"nothing":         {func(ticket) int64 { return 0 }, func(t ticket) int64 { return t.From }},
		"not known":       {func(ticket) int64 { return -1 }, func(t ticket) int64 { return t.Until }},
		"more than there": {func(t ticket) int64 { return t.Until + 7 }, func(t ticket) int64 { return t.Until }},
	} {
		g, o := remote(t)
		ticket := g.ticket(o)
		g.must(ticket.Release(t.Context(), g.st, g.c.scheme, c.used(ticket), o))
		if r := g.record(5); r.Holder != "" || r.Until != c.until(ticket) {
			t.Errorf("%s was used of %+v: %+v", name, ticket, r)
		}
	}
}

// A write of the same attempt is the ticket's own only where it has the same holder.
func TestAttemptOfAnotherHolder(t *testing.T) {
	g, o := remote(t)
	ticket := g.ticket(o)
	g.change(5, func(r *store.Record) { r.Holder, r.Nonce, r.Revision = "other.1", attempt1+".x", r.Revision+1 })
	before := g.record(5)
	if _, err := ticket.Renew(t.Context(), g.st, g.c.scheme, attempt1, nil, o); !errors.Is(err, store.ErrLost) {
		t.Errorf("renewed over another holder: %v", err)
	}
	if r := g.record(5); r != before {
		t.Errorf("written: %+v", r)
	}
}

// A grant that had ended begins anew. Where the answer to that was lost, the ticks before
// it are not granted to the ticket that is sent again.
func TestAttemptRepeatedAfterTheEnd(t *testing.T) {
	g, o := remote(t)
	ticket := g.ticket(o)
	g.now = g.now.Add(time.Hour)
	g.renewed(ticket, attempt1, o) // the answer is lost
	g.now = g.now.Add(time.Second)
	again := g.renewed(ticket, attempt1, o)
	if r := g.record(5); r.From <= ticket.Until || again.From != r.From || again.Until != r.Until {
		t.Errorf("%+v was renewed to %+v, and stored is %+v", ticket, again, r)
	}
	g.renewed(again, attempt2, o)
}

// An attempt is of 16 to 32 letters, digits, '-' and '_'.
func TestAttemptsThatArePossible(t *testing.T) {
	for attempt, ok := range map[string]bool{
		"abcdefghijklmno":                   false,
		"abcdefghijklmnop":                  true,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_0189":  true,
		"abcdefghijklmnopqrstuvwxyz0123456": false,
		"abcdefgh.ijklmnop":                 false,
		"abcdefgh ijklmnop":                 false,
		"abcdefghäijklmnop":                 false,
		"abcdefgh\xffijklmnop":              false,
		".abcdefghijklmnop":                 false,
		"abcdefghijklmnop\x00":              false,
	} {
		if err := checkAttempt(attempt); (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", attempt, err)
		}
	}
}

// A ticket that no server signed does not have it read all nodes that it names.
func TestForgedTicketOfManyNodes(t *testing.T) {
	g, o := empty(t, "time=41,node=13,seq=9"), &Options{}
	real, longest := g.ticket(o), 0
	g.st.onGet = func(keys []store.Key) error {
		longest = max(longest, len(keys))
		return nil
	}
	forged := real
	forged.Node, forged.Nodes = 0, 8192
	_, err := forged.Renew(t.Context(), g.st, g.c.scheme, attempt1, nil, o)
	released := forged.Release(t.Context(), g.st, g.c.scheme, 0, o)
	if !errors.Is(err, store.ErrLost) || !errors.Is(released, store.ErrLost) || longest > 2 {
		t.Errorf("%v, %v; %d records were read at once", err, released, longest)
	}
	if r := g.record(real.Node); r.Holder == "" {
		t.Error("the node was given back")
	}
}
