//go:build snowfence_stall

package snowfence

import (
	"context"
	"errors"
	"sync"
)

// ledger is a fence over a store of its own: it knows what it granted, what was given
// back, and who may ask.
type ledger struct {
	scheme *Scheme

	mu     sync.Mutex
	bound  bool
	seal   func() int64
	have   bool
	cur    Grant
	length int64           // of a first grant
	floor  map[int64]int64 // per node: where the next grant starts
	given  []Grant
	told   []released // by Release and by seal
	wrong  []string
}

var errNothing = errors.New("the ledger has nothing to give")

func (l *ledger) Scheme() *Scheme { return l.scheme }

func (l *ledger) Bind(seal func() int64) (func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bound {
		return nil, ErrBound
	}
	l.bound, l.seal = true, seal
	l.have = false // what was not given back runs out by itself
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bound = false
	}, nil
}

func (l *ledger) Grant(_ context.Context, after int64) (Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.bound {
		l.wrong = append(l.wrong, "the fence was asked by a generator that gave it back")
	}
	if !l.have {
		l.take(l.cur.Node, after, 9)
	}
	if l.cur.Until <= after {
		return Grant{}, errNothing
	}
	return l.cur, nil
}

func (l *ledger) Held(after int64) (Grant, bool) { return atHand(l, after) }

// take gives a node from its floor on, or a little before the tick after, and some ticks
// beyond that. Grants begin at different distances from the present, so that a position
// of one means another tick in the next.
func (l *ledger) take(node, after, before int64) {
	from := max(l.floor[node], after-before)
	l.have, l.cur = true, Grant{Node: node, From: from, Until: max(from, after) + l.length}
	l.floor[node] = l.cur.Until
	l.given = append(l.given, l.cur)
}

func (l *ledger) Release(_ context.Context, g Grant, used int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, released{g, used})
	if l.have && g.Node == l.cur.Node && g.From == l.cur.From {
		l.have = false
		l.floor[g.Node] = used
	}
	return nil
}

// renew moves the end of the grant. A lower one changes nothing in the store.
func (l *ledger) renew(ticks int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.have {
		l.cur.Until += ticks
		l.floor[l.cur.Node] = max(l.floor[l.cur.Node], l.cur.Until)
		l.given = append(l.given, l.cur)
	}
}

// replace gives the node below from now on: of two IDs of one tick the later one would be
// lower, if the generator let that happen.
func (l *ledger) replace(after int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.have {
		l.take(l.cur.Node-1, after, 1)
	}
}

// revoke takes the grant away, as a lease that lost a swap.
func (l *ledger) revoke() {
	l.mu.Lock()
	seal, cur, have := l.seal, l.cur, l.have
	l.have = false
	l.cur.Node--
	l.mu.Unlock()
	if !have {
		return
	}
	used := seal()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, released{cur, used})
	l.floor[cur.Node] = min(l.floor[cur.Node], max(used, cur.From))
}
