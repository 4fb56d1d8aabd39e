package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// player is a holder of a script, over the store or over the server.
type player struct {
	*Setup
	Claim
	events *events
	off    time.Duration // of its clock
}

// act has a holder take a step.
func (p *play) act(c *player, word []string) {
	ctx := p.ctx()
	p.busy = true
	defer func() { p.busy = false }()
	sc, _ := c.Claim.(*storeClaim)
	vc, _ := c.Claim.(*guestClaim)
	switch word[0] {
	case "next":
		p.granted(c.Next(ctx))
	case "first":
		p.granted(firstGrant(ctx, c.Setup, c.Claim))
	case "give":
		var o *Owed
		if len(word) > 1 {
			o = &Owed{}
			o.Node, o.From = c.holds()
			for i, w := range word[1:] { // what was used; another node, and another start
				*[]*int64{&o.Used, &o.Node, &o.From}[i] = p.number(w)
			}
		}
		p.failed(c.GiveBack(ctx, o))
	case "register":
		p.failed(sc.register(ctx))
	case "clock":
		c.off = p.duration(word[1])
	case "copy":
		p.players[word[1]] = c.twin(p)
	case "forge": // a ticket that only a copy has, to renew and to release
		t, err := ticket.Parse(vc.ticket)
		p.failed(err)
		p.set(&t, word[1:])
		_, err = counter{p}.Renew(ctx, t.AppendTo(nil), "attempt-of-forger", nil)
		p.failed(err)
		p.failed(counter{p}.Release(ctx, t.AppendTo(nil), 0))
	case "lose": // the ticket, and say that it was another
		t, err := ticket.Parse(vc.ticket)
		p.failed(err)
		p.set(&t, word[1:])
		vc.lost = t.AppendTo(nil)
		vc.forgetHold()
	case "renew":
		a, err := counter{p}.Renew(ctx, vc.ticket, word[1], word[2:])
		if p.granted(a.Grant, err); err == nil {
			vc.ticket, vc.grant = a.Ticket, a.Grant
		}
	default:
		p.Fatalf("%q: no such step", word)
	}
	c.events.announce()
}

// holds returns the node and the first tick of what a holder has.
func (c *player) holds() (node, from int64) {
	switch claim := c.Claim.(type) {
	case *storeClaim:
		if claim.held != nil {
			return claim.held.records[0].Node, claim.held.from
		}
	case *guestClaim:
		return claim.grant.Node, claim.grant.From
	}
	return -1, -1
}

// twin returns a holder with the same memory.
func (c *player) twin(p *play) *player {
	d := *c
	d.Setup = NewSetup(p, c.Name, c.Scheme, c.Settings, c.Report)
	switch claim := c.Claim.(type) {
	case *storeClaim:
		twin := *claim
		twin.Setup, twin.nonces = d.Setup, slices.Clone(claim.nonces)
		if claim.held != nil {
			h := *claim.held
			h.records, h.acked, h.unanswered = slices.Clone(h.records), slices.Clone(h.acked), maps.Clone(h.unanswered)
			twin.held = &h
		}
		d.Claim = &twin
	case *guestClaim:
		twin := *claim
		twin.Setup = d.Setup
		d.Claim = &twin
	}
	return &d
}

// knows says what a holder knows.
func (c *player) knows() string {
	var is []string
	add := func(when bool, format string, args ...any) {
		if when {
			is = append(is, fmt.Sprintf(format, args...))
		}
	}
	switch claim := c.Claim.(type) {
	case *storeClaim:
		if h := claim.held; h != nil {
			add(true, "holds %s from %d", nodesName(h.records[0].Node, claim.nodes(h)), h.from)
			add(h.pending, "perhaps")
			add(len(h.unanswered) > 0, "%d writes in doubt", len(h.unanswered))
		}
		add(claim.lostHold != nil, "will look who took a node")
		add(claim.lossAfter != nil, "suspects the store")
		add(claim.lossProven, "proven")
	case *guestClaim:
		g := claim.grant
		add(claim.ticket != nil, "holds %s from %d", nodesName(g.Node, g.Nodes), g.From)
		add(len(claim.earlier) > 0, "%d attempts in doubt", len(claim.earlier))
		add(claim.lost != nil, "shows a lost ticket")
		add(claim.lastGrant.Until > 0, "had %d up to %d", claim.lastGrant.Node, claim.lastGrant.Until)
	}
	if k := c.kept.Load(); k != nil {
		add(true, "%s is kept up to %d", k, k.Until)
	}
	add(len(is) == 0, "holds nothing")
	return strings.Join(is, "; ")
}

// kinds are the errors that a script tells apart.
var kinds = []struct {
	name string
	err  error
}{
	{"no answer", errSilent},
	{"taken", fault.ErrTaken},
	{"vetoed", fault.ErrVetoed},
	{"skew", fault.ErrSkew},
	{"mismatch", fault.ErrMismatch},
	{"invalid", fault.ErrInvalid},
	{"nowhere", fault.ErrNoNamespace},
	{"refused", fault.ErrRefused},
	{"exists", fault.ErrExists},
	{"elsewhere", fault.ErrElsewhere},
	{"overtaken", store.ErrLost},
	{"replaced", store.ErrReplaced},
	{"lifetime", snowfence.ErrLifetime},
	{"key", snowfence.ErrKey},
	{"ended", context.Canceled},
}

func kindOf(err error) string {
	var names []string
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			names = append(names, k.name)
		}
	}
	if taken := (*TakenError)(nil); errors.As(err, &taken) {
		names = append(names, nodesName(taken.Nodes.From, taken.Nodes.Until-taken.Nodes.From))
		if taken.same {
			names = append(names, "same label")
		}
	}
	if errors.Is(err, fault.ErrSkew) {
		names = append(names, map[bool]string{true: "ahead", false: "behind"}[strings.Contains(err.Error(), "ahead")])
	}
	return strings.Join(names, ", ")
}

func (p *play) say(format string, args ...any) { fmt.Fprintf(&p.out, "\t"+format+"\n", args...) }

// events are what a claim reported, until it is announced.
type events struct {
	*play
	kinds []string
}

func (e *events) report(kind string, _ error, _ ...any) { e.kinds = append(e.kinds, kind) }

func (e *events) announce() {
	for _, kind := range e.kinds {
		e.say("event: %s", kind)
	}
	e.kinds = nil
}

// ended says how a step of an operator ended.
func (p *play) ended(_ any, err error) { p.failed(err) }

func (p *play) failed(err error) {
	switch {
	case IsLost(err):
		p.say("%s", strings.TrimSuffix("lost: "+kindOf(err), ": "))
	case err != nil:
		p.say("%s", strings.TrimSuffix("error: "+kindOf(err), ": "))
	}
}

func (p *play) granted(g snowfence.Grant, err error) {
	if p.failed(err); err == nil {
		p.say("granted %s [%d, %d)", nodesName(g.Node, g.Nodes), g.From, g.Until)
	}
}

func nodesName(node, n int64) string {
	if n == 1 {
		return fmt.Sprintf("node %d", node)
	}
	return fmt.Sprintf("nodes %d to %d", node, node+n-1)
}

// text is a record without what is random.
func (p *play) text(r store.Record) string {
	if r.Node == store.NamespaceNode {
		ns, err := scope.ReadNamespace(nil, r)
		if err != nil {
			return "namespace: damaged or none"
		}
		return fmt.Sprintf("namespace %s of %s, generation %d, floor %d, %d keys, signs %t",
			ns.State, ns.Identity, ns.Generation, ns.Floor, len(ns.Keys), ns.Signer() != nil)
	}
	holder := "free"
	if who, from := startOf(r.Holder); who != "" {
		name := who
		if known, ok := p.names[who]; ok {
			name = known
		} else if strings.HasPrefix(who, "T0") { // as a server names it
			name = r.Label
		}
		holder = fmt.Sprintf("%s since %d", name, from)
	}
	if r.Veto != "" {
		holder += ", vetoed"
	}
	return fmt.Sprintf("%d [%d, %d) write %d in %d, %s", r.Node, r.From, r.Until, r.Revision, r.Generation, holder)
}
