package randflake

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowfence/snowfence/compat/internal/process"
)

// ErrOverlap means that something in use in this process could make the same IDs: a
// generator of the same secret has the node over a fence, or without one.
var ErrOverlap = process.ErrOverlap

// position is how far one node and secret are used in this process, by all their
// generators: the lowest second and sequence number that nobody took, as
// (second − epoch) << 17 + sequence. So the position after the last of a second
// is the first of the next.
//
// Invariant: no position becomes an ID twice. It only rises, under the mutex, and
// a batch has the positions between its value before and after. Of a batch, the
// add that moves next past an ID owns it. Clocks decide which second comes next,
// never who owns a position.
//
// Open generators of a bare number take positions. A grant in use has all those from
// its first second on. So there are either of both at a time. A grant begins in the
// first second of which no position was taken, and raises next above what was used of
// it before it leaves.
type position struct {
	mu   sync.Mutex
	next atomic.Int64

	// The mutex guards what follows.
	bare   int // open generators of a bare number
	grants int // in use over fences: two may have a slice each
}

// open counts a generator of a bare number, unless a grant is in use.
func (p *position) open(node int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.grants > 0 {
		return fmt.Errorf("randflake: %w: a fence has node %d: close what uses the fence first, or take each node "+
			"from a lease", ErrOverlap, node)
	}
	p.bare++
	return nil
}

// close counts one less.
func (p *position) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bare--
}

// enter counts a grant, unless a bare number is in use. It returns the first tick of the
// layout that the grant may use.
func (p *position) enter(node int64) (floor int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bare > 0 {
		return 0, fmt.Errorf("randflake: %w: a fence granted node %d, which is in use without a fence: close that "+
			"generator first, or take each node from a lease", ErrOverlap, node)
	}
	p.grants++
	return p.second() - RANDFLAKE_EPOCH_OFFSET + 1, nil
}

// leave counts one less. Its ticks from used on have no ID.
func (p *position) leave(used int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next.Store(max(p.next.Load(), used<<RANDFLAKE_SEQUENCE_BITS))
	p.grants--
}

// second returns the second of the highest position taken, in Unix time; before
// the first it is before the epoch.
func (p *position) second() int64 {
	return (p.next.Load()-1)>>RANDFLAKE_SEQUENCE_BITS + RANDFLAKE_EPOCH_OFFSET
}

// take takes up to n positions of a second. It is refused if that is used up, or
// if a later one was used. The mutex must be held.
func (p *position) take(second, n int64) (pos, count int64, err error) {
	first := (second - RANDFLAKE_EPOCH_OFFSET) << RANDFLAKE_SEQUENCE_BITS
	end := first + 1<<RANDFLAKE_SEQUENCE_BITS
	next := p.next.Load()
	pos = max(next, first)
	switch {
	case pos == end:
		return 0, 0, ErrResourceExhausted
	case pos > end:
		return 0, 0, ErrConsistencyViolation
	}
	count = min(n, end-pos)
	p.next.Store(pos + count)
	return pos, count, nil
}

// positions are those of this process. There is one registry, because the IDs of
// a process are one set. Other layers refuse encrypted layouts, so none has to look
// here.
var positions registry

// registry keeps a position for as long as the process runs: a generator that is
// made again must not repeat what the one before used. It never keeps a
// generator or a secret.
type registry struct {
	mu    sync.Mutex
	nodes map[nodeKey]*position
}

type nodeKey struct {
	secret uint64 // what it makes of the first ID
	node   int64
}

// enter enters the nodes of a grant, all or none.
func (r *registry) enter(secret uint64, node, nodes int64) (floor int64, leave func(used int64), err error) {
	var entered []*position
	leave = func(used int64) {
		for _, p := range entered {
			p.leave(used)
		}
	}
	for n := node; n < node+nodes; n++ {
		p := r.of(secret, n)
		first, err := p.enter(n)
		if err != nil {
			leave(0)
			return 0, nil, err
		}
		entered, floor = append(entered, p), max(floor, first)
	}
	return floor, leave, nil
}

func (r *registry) of(secret uint64, node int64) *position {
	k := nodeKey{secret, node}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.nodes[k]
	if p == nil {
		if r.nodes == nil {
			r.nodes = map[nodeKey]*position{}
		}
		p = &position{}
		r.nodes[k] = p
	}
	return p
}
