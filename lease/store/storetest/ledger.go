package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/snowfence/snowfence"
)

// claim is a rectangle in which a program could make IDs.
type claim struct {
	who         *user
	node, nodes int64
	from, until int64
}

// ledger remembers all claims ever and sees whether two overlap. A claim
// shrinks only when its user was sealed, to its used part.
type ledger struct {
	mu       sync.Mutex
	claims   []*claim
	problems []string
}

func (l *ledger) addClaim(u *user, g snowfence.Grant) *claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &claim{u, g.Node, max(g.Nodes, 1), g.From, g.Until}
	if g.From >= g.Until {
		l.problems = append(l.problems, fmt.Sprintf("an empty grant: node %d, ticks [%d, %d)", g.Node, g.From, g.Until))
	}
	l.claims = append(l.claims, c)
	l.compareClaim(c)
	return c
}

func (l *ledger) raiseClaim(c *claim, until int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until < c.until {
		l.problems = append(l.problems,
			fmt.Sprintf("a grant of node %d was lowered from %d to %d", c.node, c.until, until))
	}
	c.until = max(c.until, until)
	l.compareClaim(c)
}

func (l *ledger) endClaim(c *claim, used int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.until = min(c.until, max(used, c.from))
}

func (l *ledger) compareClaim(c *claim) {
	for _, d := range l.claims {
		if c != d && c.node < d.node+d.nodes && d.node < c.node+c.nodes && c.from < d.until && d.from < c.until {
			l.problems = append(l.problems,
				fmt.Sprintf("two grants overlap: node %d, ticks [%d, %d), and node %d, ticks [%d, %d)",
					c.node, c.from, c.until, d.node, d.from, d.until))
		}
	}
}

// highestEnd returns the tick below which everything granted on a node
// lies; with a negative node, on any.
func (l *ledger) highestEnd(node int64) (until int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.claims {
		if node < 0 || c.node <= node && node < c.node+c.nodes {
			until = max(until, c.until)
		}
	}
	return until
}

func (l *ledger) checkOverlaps(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.problems[:min(5, len(l.problems))] {
		t.Error(p)
	}
}
