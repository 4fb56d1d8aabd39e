package main

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// judge knows the grants of a scene's client, and compares its IDs and
// calls with them. It knows nothing of how leases work.
type judge struct {
	mu           sync.Mutex
	scheme       *snowfence.Scheme // nil before the first request
	grants       []*grant
	ids          map[snowfence.ID]bool // without their tags
	attempts     map[string]bool
	counts       map[string]int // of calls, by method
	answers      int64          // answers with a grant
	openAttempts []string       // attempts to acquire that had no answer since the last one
	serverNodes  []int64        // nodes that the server took for them
	offences     []string       // what was found
	kinds        map[string]bool
}

// grant is an acquisition of the client with its renewals, as far as they
// reached it.
type grant struct {
	node, nodes, from, until int64
	first                    int64 // until of the acquisition
	highest                  int64 // tick of its IDs; -1 before the first
	tickets                  [][]byte
	attempt                  string   // whose answer had the last ticket
	openAttempts             []string // attempts with the last ticket

	gaps [][2]int64 // ticks between until of one answer and from of the next: nobody has them

	lost      bool      // an answer says so
	lostBy    string    // the attempt that it answered
	lostAt    time.Time // when it was sent
	lostKnown time.Time // when the client is known to have it
	since     int       // IDs since lostAt
	over      string    // why it is over without a loss

	elsewhere int // answers that another server has it, which cannot be reached
}

func newJudge() *judge {
	return &judge{
		ids: map[snowfence.ID]bool{}, attempts: map[string]bool{}, counts: map[string]int{}, kinds: map[string]bool{},
	}
}

// setLayout names the layout of the client's IDs.
func (j *judge) setLayout(s *snowfence.Scheme) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.scheme = s
}

// noteOffence notes an offence, the first of each kind.
func (j *judge) noteOffence(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noteFinding(format, args...)
}

func (j *judge) noteFinding(format string, args ...any) {
	if !j.kinds[format] {
		j.kinds[format] = true
		j.offences = append(j.offences, fmt.Sprintf(format, args...))
	}
}

// hasOffence reports whether an offence was found.
func (j *judge) hasOffence() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.offences) > 0
}

// A client that goes on so long, and makes so many IDs, after the answer
// that its lease is lost has read it. Before, another thread may not have
// come to that.
const (
	surelyRead = 3 * time.Second
	surelyMade = 100
)

// judgeID judges an ID that the client made after it was asked at a time.
func (j *judge) judgeID(id snowfence.ID, asked time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.scheme == nil {
		j.noteFinding("ID %d came before any request", id)
		return
	}
	p, err := j.scheme.Decode(id)
	if err != nil {
		j.noteFinding("%d is no ID of the layout %s: %v", id, j.scheme.Layout(), err)
		return
	}
	tag := p.Tag
	p.Tag = 0
	if id, err = j.scheme.Compose(p); err != nil || j.ids[id] {
		j.noteFinding("ID %d, here with the tag %d, was made twice", id, tag)
		return
	}
	j.ids[id] = true
	if l := j.scheme.Layout(); p.Sequence < l.First || p.Sequence > l.Last {
		j.noteFinding("ID %d has the sequence number %d; the layout has %d to %d", id, p.Sequence, l.First, l.Last)
	}
	why := "no grant has this node"
	for _, g := range slices.Backward(j.grants) {
		if p.Node < g.node || p.Node >= g.node+g.nodes {
			continue
		}
		if text := g.reasonAgainst(p.Tick, asked); text != "" {
			why = text
			continue
		}
		g.highest = max(g.highest, p.Tick)
		return
	}
	j.noteFinding("ID %d has node %d and tick %d: %s", id, p.Node, p.Tick, why)
}

// reasonAgainst says why a tick must not be stamped any more by a client
// that was asked at a time.
func (g *grant) reasonAgainst(tick int64, asked time.Time) string {
	switch {
	case tick < g.from || tick >= g.until:
		return fmt.Sprintf("its grant has the ticks %d to %d", g.from, g.until-1)
	case g.over != "":
		return g.over
	case g.lost && !g.lostKnown.IsZero() && asked.After(g.lostKnown):
		return "the client knew that this lease was lost"
	}
	for _, gap := range g.gaps {
		if tick >= gap[0] && tick < gap[1] {
			return fmt.Sprintf("its grant ended with tick %d, and the renewal begins with %d", gap[0]-1, gap[1])
		}
	}
	if g.lost {
		if g.since++; g.since > surelyMade && time.Since(g.lostAt) > surelyRead {
			return fmt.Sprintf("the server had said %v before that the lease was lost",
				time.Since(g.lostAt).Round(time.Second))
		}
	}
	return ""
}

// noteGrant notes an answer with a grant, before it is sent.
func (j *judge) noteGrant(c *call, l *pb.Lease) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answers++
	nodes := max(int64(l.Nodes), 1)
	if c.acquire != nil {
		j.openAttempts, j.serverNodes = nil, nil
		j.grants = append(j.grants, &grant{
			node: l.Node, nodes: nodes, from: l.From, until: l.Until, first: l.Until,
			highest: -1, tickets: [][]byte{l.Ticket}, attempt: c.acquire.Attempt,
		})
		return
	}
	g := j.grantOfTicket(c.renew.Ticket)
	if g == nil {
		return // it was found before
	}
	if l.From > g.until {
		g.gaps = append(g.gaps, [2]int64{g.until, l.From})
	}
	g.until = max(g.until, l.Until)
	g.tickets = append(g.tickets, l.Ticket)
	g.attempt, g.openAttempts = c.renew.Attempt, nil
}

// noteAcquisition notes an acquisition of the server, whether its answer
// arrives or not.
func (j *judge) noteAcquisition(l *pb.Lease) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.serverNodes) > 0 && !slices.Contains(j.serverNodes, l.Node) {
		j.noteFinding("the answer of an Acquire was lost, and the next one took node %d in place of node %d", l.Node,
			j.serverNodes[0])
	}
	j.serverNodes = append(j.serverNodes, l.Node)
}

// grantOfTicket returns the grant of a ticket that the client got.
func (j *judge) grantOfTicket(ticket []byte) *grant {
	for _, g := range slices.Backward(j.grants) {
		for _, t := range g.tickets {
			if bytes.Equal(t, ticket) {
				return g
			}
		}
	}
	return nil
}

// latestGrant returns the latest grant, or an empty one.
func (j *judge) latestGrant() grant {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.grants) == 0 {
		return grant{}
	}
	return *j.grants[len(j.grants)-1]
}

// endGrants ends all grants, because their holder is gone.
func (j *judge) endGrants(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, g := range j.grants {
		g.over = why
	}
	j.openAttempts, j.serverNodes = nil, nil
}

// countAcquisitions returns how many acquisitions reached the client.
func (j *judge) countAcquisitions() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.grants)
}

// grantOf returns an acquisition by its number, or an empty one.
func (j *judge) grantOf(n int) grant {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n < 0 || n >= len(j.grants) {
		return grant{}
	}
	return *j.grants[n]
}
