package simulate

import (
	"errors"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// claim is a grant as a generator has it: the ledger's own account, which
// knows nothing of how leases work.
type claim struct {
	owner       *process
	era         int // how often the layout was changed before
	node, nodes int64
	from, until int64
	first       int64 // until at its beginning
	begun       time.Duration

	ended   bool // sealed or given back: nothing of used or later was made
	useEnd  int64
	endedAt time.Duration

	lost   bool // the store said that another process wrote: nothing more may be made
	lostAt time.Duration

	setBacks []setBack // when the store was rolled back behind it
	raises   int       // how often the floor of all had been raised when it was written

	twin        *claim // the same grant in the hands of the other process that was resumed from one snapshot
	sharedUntil int64  // its until at the snapshot, 0 if it comes from none
	forkTime    time.Duration

	sublet bool   // its holder makes no IDs of it, and hands out parts
	lessor *claim // of which it is a part; nil for one of the store's
}

// rootClaim is the grant of the store's that a claim is or is a part of.
func (c *claim) rootClaim() *claim {
	if c.lessor != nil {
		return c.lessor
	}
	return c
}

// setBack is a moment at which the store was rolled back behind a write.
type setBack struct {
	since  time.Duration
	raises int // how often the floor of all had been raised by then
}

// recallClaim marks a claim if the store carried out its last write and
// then lost it before the answer arrived.
func (s *sim) recallClaim(h *holding, c *claim) {
	for n := c.node; n < c.node+c.nodes; n++ {
		if b, ok := s.setBacks[h.acks[n].nonce]; ok {
			c.setBacks = append(c.setBacks, b)
		}
	}
}

// stopAt ends a claim at a tick. A second time only confirms it.
func (c *claim) stopAt(used int64, now time.Duration) {
	if !c.ended {
		c.ended, c.useEnd, c.endedAt = true, used, now
	}
}

// end returns the first tick that the claim does not stand for.
func (c *claim) end() int64 {
	if c.ended {
		return min(c.until, max(c.useEnd, c.from))
	}
	return c.until
}

// acked is the store's acknowledgement to a process about a node.
type acked struct {
	nonce    string
	revision int64
	until    int64
	doubt    bool // a write since then was not answered
}

// noteAnswers is told of each answer to a swap that reached a process, at
// the moment it did.
func (s *sim) noteAnswers(h *holding, writes []store.Write, errs []error) {
	if h == nil {
		return
	}
	for i, w := range writes {
		node := w.New.Node
		if node < 0 {
			continue
		}
		a := h.acks[node]
		switch err := errs[i]; {
		case err == nil:
			h.acks[node] = acked{nonce: w.New.Nonce, revision: w.New.Revision, until: w.New.Until}
		case errors.Is(err, store.ErrLost):
			if a.nonce == w.Old && !a.doubt && !h.p.slot.overServer { // a server says it later
				s.loseNode(h, node, a)
			}
		default:
			a.doubt = true
			h.acks[node] = a
		}
	}
}

// noteUnanswered is told of each swap that was not answered.
func (s *sim) noteUnanswered(h *holding, writes []store.Write) {
	if h == nil {
		return
	}
	for _, w := range writes {
		if a, ok := h.acks[w.New.Node]; ok {
			a.doubt = true
			h.acks[w.New.Node] = a
		}
	}
}

// farBack is how many writes a record must have lost, so that the loser of
// a swap surely sees it, with other writes in the meantime.
const farBack = 20

// loseNode marks the claims of a lease on a node that another process wrote
// to: from now on nothing may be made from them.
func (s *sim) loseNode(h *holding, node int64, a acked) {
	if h.p.replay {
		return
	}
	r := s.store.get(keysOf(node))[0]
	far := r.Nonce == "" || r.Revision < a.revision-farBack
	for _, c := range h.claims {
		if node < c.node || c.node+c.nodes <= node {
			continue
		}
		if far { // a write above all grants counts for nothing
			h.behind = max(h.behind, min(a.until, c.until))
		}
		if !c.ended && !c.lost {
			c.lost, c.lostAt = true, s.now
			s.hashEvent("lost", h.p.name, node, c.until)
			s.traceLine("%s lost node %d", h.p.name, node)
		}
	}
}

// noteGrant is told of each grant that a lease hands to its generator, and
// returns its claim.
func (s *sim) noteGrant(h *holding, g snowfence.Grant) *claim {
	s.hasGrant(h, g)
	nodes := max(g.Nodes, 1)
	for _, c := range h.claims {
		if c.node == g.Node && c.from == g.From && !c.ended {
			if g.Until > c.until {
				s.checkReach(c, g.Until)
				c.until, c.lessor = g.Until, h.parts[g]
				s.recallClaim(h, c)
				s.figures.Renewals++
				s.hashEvent("renewed", h.p.name, g.Node, g.Until)
				s.traceLine("%s renewed node %d until %d", h.p.name, g.Node, g.Until)
				s.compareClaim(c)
			}
			s.checkWritten(h, c)
			return c
		}
	}
	c := &claim{
		owner: h.p, era: s.eraFor(h.p), node: g.Node, nodes: nodes, from: g.From, until: g.Until,
		first: g.Until, begun: s.now, raises: s.countRaises(), sublet: h.sublets != nil, lessor: h.parts[g],
	}
	if until := h.snapshot[g.Node]; g.From < until { // perhaps it was in the lease's memory already
		c.sharedUntil, c.forkTime = until, h.forkTime
	}
	s.recallClaim(h, c)
	if raises, ok := s.wrote[h.acks[c.node].nonce]; ok { // the answers may have been late
		c.raises = raises
	}
	h.claims = append(h.claims, c)
	if len(h.claims) > 16 {
		h.claims = h.claims[len(h.claims)-16:]
	}
	if g.From < h.behind && c.era == h.p.era {
		s.violate("%s met a store that was rolled back, and was granted node %d without the floor raised",
			h.p.name, g.Node)
	}
	h.behind = 0
	s.figures.Grants++
	if c.lessor != nil {
		s.figures.Subleases++
	}
	s.hashEvent("granted", h.p.name, g.Node, g.From)
	s.traceLine("%s granted node %d (%d nodes), ticks %d to %d", h.p.name, g.Node, nodes, g.From, g.Until)
	s.checkWritten(h, c)
	s.checkReach(c, c.until)
	for n := c.node; n < c.node+nodes; n++ {
		s.claims[n] = append(s.claims[n], c)
	}
	s.compareClaim(c)
	return c
}

// eraFor returns the era of a grant: the present one if the process's
// layout is the present one, perhaps again.
func (s *sim) eraFor(p *process) int {
	if s.schemes[p.era].Fingerprint() == s.schemes[s.era].Fingerprint() {
		return s.era
	}
	return p.era
}

// checkReach checks that a grant reaches no further than one ttl and two
// ticks ahead of the fastest clock there was, and with a store that has a
// clock, of the allowed skew. A floor that is raised after a rollback
// relies on it.
func (s *sim) checkReach(c *claim, until int64) {
	ahead := s.ahead
	if s.store.clock {
		ahead = min(ahead, s.skew)
	}
	l := s.schemes[c.era].Layout()
	if most := l.TickOf(start().Add(s.now+ahead+s.ttl+time.Second)) + 2; until > most {
		s.violate("%s uses node %d from tick %d until %d, and the clocks allow %d",
			c.owner.name, c.node, c.from, until, most)
	}
}

// checkWritten checks that the store had acknowledged a generator's grant,
// to it or its lessor.
func (s *sim) checkWritten(h *holding, c *claim) {
	if o := c.lessor; o != nil {
		if c.from < o.from || c.until > o.until {
			s.violate("%s uses node %d in ticks %d to %d, and its lessor %s was granted %d to %d", h.p.name, c.node,
				c.from, c.until, o.owner.name, o.from, o.until)
		}
		return
	}
	for n := c.node; n < c.node+c.nodes; n += s.unit {
		if a := h.acks[n]; a.until < c.until {
			s.violate("%s uses node %d until tick %d, and the store acknowledged %d", h.p.name, n, c.until, a.until)
		}
	}
}

// compareClaim checks a claim against all others of its nodes.
func (s *sim) compareClaim(c *claim) {
	if c.sublet {
		return
	}
	for n := c.node; n < c.node+c.nodes; n++ {
		for _, o := range s.claims[n] {
			lo, hi := max(c.from, o.from), min(c.end(), o.end())
			if o != c && !o.sublet && lo < hi && s.sameIDs(o.era, c.era) && !s.mayOverlap(c, o, hi) {
				s.violate("two grants of node %d overlap in ticks %d to %d: of %s [%d, %d) and of %s [%d, %d)",
					n, lo, hi, o.owner.name, o.from, o.end(), c.owner.name, c.from, c.end())
			}
		}
	}
	if floor := s.floors[c.era:]; len(floor) > 0 && len(c.rootClaim().setBacks) == 0 {
		// The layout was changed: grants of the old one must lie before the
		// new one's beginning.
		if end := h2time(s, c); end.After(floor[0]) {
			s.violate("%s uses node %d of the earlier layout until %v, and the later layout began at %v",
				c.owner.name, c.node, end, floor[0])
		}
	}
}

// sameIDs reports whether a node and tick of two layouts are the same IDs,
// as they are of one layout. Where the bits are divided in other ways, only
// the IDs themselves are compared, at the end.
func (s *sim) sameIDs(a, b int) bool {
	if a == b {
		return true
	}
	l, m := s.schemes[a].Layout(), s.schemes[b].Layout()
	return slices.Equal(l.Fields, m.Fields) && l.First <= m.Last && m.First <= l.Last
}

// h2time returns the end of a claim as a time.
func h2time(s *sim, c *claim) time.Time { return s.schemes[c.era].Layout().TimeOf(c.end()) }

// mayOverlap reports whether two claims may overlap below a tick, because
// no lease can see it. These are the only cases, the first two where no
// hypervisor tells of snapshots:
//
//   - One of them was in memory when a snapshot was taken that was resumed
//     twice, and the ticks lie below the highest until that had been
//     written, or was on its way to the store or in a renewal at a server,
//     at that moment. The other is its twin, or was granted later. The one
//     that renews second is caught by that (lost), and its later IDs are a
//     violation in any case.
//   - Both come from one acquisition that was on its way when the snapshot
//     was taken.
//   - One of them was written to a store. The store was then rolled back
//     behind it, perhaps before the answer arrived, and kept its identity.
//     The other was granted by a later write, before anybody raised the
//     floor.
//   - They are of two layouts, and the store was rolled back in this way
//     behind the earlier one: the change was proven with its floor of then.
//
// For subleases, this is about the grants of their lessors. Two subleases
// of one such grant may never overlap.
func (s *sim) mayOverlap(a, b *claim, hi int64) bool {
	if a, b = a.rootClaim(), b.rootClaim(); a == b {
		return false
	}
	if a.era != b.era {
		if a.era > b.era {
			a = b
		}
		return len(a.setBacks) > 0
	}
	for _, c := range [2]*claim{a, b} {
		o := a
		if c == a {
			o = b
		}
		if c.sharedUntil > 0 && hi <= c.sharedUntil && (o == c.twin || o.begun >= c.forkTime || o.sharedUntil > 0) {
			return true
		}
		if !s.tells && o.owner == c.owner.twin && o.from == c.from && o.node == c.node &&
			hi <= min(c.first, o.first) {
			return true
		}
		for _, b := range c.setBacks {
			if o.begun >= b.since && o.raises == b.raises {
				return true
			}
		}
	}
	return false
}

// countRaises returns how often the floor of all nodes was raised after the
// store was rolled back.
func (s *sim) countRaises() int { return int(s.readNamespace().Generation) }
