package randflake

import (
	"sync"
	"sync/atomic"
)

// position is how far one node and secret are used in this process, by all their
// generators: the lowest second and sequence number that nobody took, as
// (second − epoch) << 17 + sequence. So the position after the last of a second
// is the first of the next.
//
// Invariant: no position becomes an ID twice. It only rises, under the mutex, and
// a batch has the positions between its value before and after. Of a batch, the
// add that moves next past an ID owns it. Clocks decide which second comes next,
// never who owns a position.
type position struct {
	mu   sync.Mutex
	next atomic.Int64
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
// a process are one set. No other layer makes encrypted IDs, so none has to look
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
	secret [32]byte // its SHA-256
	node   int64
}

func (r *registry) of(secret [32]byte, node int64) *position {
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
