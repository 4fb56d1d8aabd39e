package snowfence

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// maxBlock makes a block's atomic step and clock read a small share of each
// ID.
const maxBlock = 1024

// Local is a handle on a generator for one goroutine. It takes positions in
// blocks, so that goroutines do not compete for one word of memory. The IDs
// of one handle increase, with the same bits above the time. IDs of several
// handles are unique, but not in the order of the calls. It is not safe for
// concurrent use.
//
// A handle drops the rest of its block when the tick moves on, so keep one
// per worker, not per request. It needs no Close, and outlives renewals and
// changes of the grant.
type Local struct {
	id, step ID            // the ID given out last, and the distance to the next
	last     ID            // of this piece; id when nothing is left
	tick     int64         // of these IDs, after t.from
	coarse   *atomic.Int64 // the tick a coarse generator keeps for t; always parked for an exact one
	sure     int64         // of an exact one: while less time has elapsed, the tick is not over; 0: not known
	machine  world.Machine // of t

	g *Generator
	t *track

	buf    []ID // behind sealed
	sealed []ID // of an encrypted scheme: the rest of the piece, encrypted; id is last then, so that Next comes here

	pos, end uint64 // the rest of the block behind the piece
	size     uint64 // of the last block, when there were enough

	_ [64]byte // handles of different goroutines stay off each other's cache lines
}

// Local returns a new handle on the generator, for one goroutine.
func (g *Generator) Local() *Local {
	return &Local{g: g, t: g.closed, coarse: &g.closed.coarse, step: 1, size: 1}
}

// Next returns a new ID, as [Generator.Next] does.
func (l *Local) Next(ctx context.Context) (ID, error) {
	if l.id == l.last || l.coarse.Load() > l.tick || l.machine.Copied() {
		return l.nextSlow(ctx, l.g.maxWait)
	}
	l.id += l.step
	return l.id, nil
}

// TryNext returns a new ID, as [Generator.TryNext] does.
func (l *Local) TryNext() (ID, error) { return l.nextSlow(context.Background(), -1) }

func (l *Local) nextSlow(ctx context.Context, maxWait time.Duration) (ID, error) {
	for {
		if !l.hasID() || !l.current() {
			if err := l.refill(ctx, maxWait); err != nil {
				return 0, err
			}
		}
		if id := l.take(); !l.machine.Copied() { // a look at the clock may take long
			return id, nil
		}
	}
}

// hasID reports whether the piece in hand has an ID left.
func (l *Local) hasID() bool { return l.id != l.last || len(l.sealed) > 0 }

func (l *Local) take() ID {
	if len(l.sealed) > 0 {
		id := l.sealed[0]
		l.sealed = l.sealed[1:]
		return id
	}
	l.id += l.step
	return l.id
}

// current reports whether the tick of the IDs in hand is not over. For a
// coarse generator the track tells: it says parked, later than any tick,
// once it is sealed or no ticker keeps the time.
func (l *Local) current() bool {
	if l.t.hold.gone.Load() {
		return false // what is left is safe to use, but a closed generator should make nothing
	}
	if l.g.coarse {
		return l.coarse.Load() <= l.tick
	}
	if l.sure != 0 && int64(time.Since(l.g.clock.Base)) < l.sure {
		return true
	}
	tick, sure := l.g.clock.Read()
	if tick-l.t.from <= l.tick {
		l.sure = sure // of another tick it would make a block that is over look current
		return true
	}
	return false
}

// refill sets the next piece, from the block in hand or a new one. No ID is
// left, or only old ones.
func (l *Local) refill(ctx context.Context, maxWait time.Duration) error {
	if l.pos < l.end {
		if l.next(); l.current() {
			return nil
		}
	}
	size := resize(l.size, uint64((l.last-l.id)/l.step)+uint64(len(l.sealed))+l.end-l.pos, maxBlock)
	t, pos, count, err := l.g.reservePositions(ctx, size, maxWait)
	if err != nil {
		return err
	}
	l.t, l.coarse, l.machine, l.pos, l.end, l.size = t, &t.coarse, t.machine, pos, pos+count, size
	l.next()
	return nil
}

// next makes a piece from the rest of the block.
func (l *Local) next() {
	l.tick = int64(l.pos / l.t.span)
	l.sure = l.g.clock.SureUntil(l.t.from + l.tick)
	id, step, count := l.t.piece(l.pos, l.end-l.pos)
	l.id, l.step, l.last = id-step, step, id+ID(count-1)*step
	l.pos += count
	if p := l.g.scheme.current; p != nil {
		if l.buf == nil {
			l.buf = make([]ID, maxBlock)
		}
		l.sealed = l.buf[:count]
		p.encryptRun(words(l.sealed), uint64(id), uint64(step))
		l.id = l.last
	}
}
