package randflake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
)

const (
	// batchSize is the longest run of IDs that is encrypted at once.
	batchSize = 256

	// trust is how long the system's clock is taken to go on as the monotonic one.
	trust = 10 * time.Millisecond
)

// batch is a run of IDs of one second, encrypted at once because that is many
// times faster. They are given out in that second alone.
type batch struct {
	second int64
	sure   atomic.Int64 // before this elapsed time, the system's clock still shows the second

	_    [64]byte // next is written by each call
	next atomic.Int64
	_    [64]byte

	ids []uint64
}

// noBatch is of no second. Nobody writes it.
var noBatch = &batch{second: math.MinInt64}

// Generate returns a new ID. It never waits, but refuses: with [ErrInvalidLease]
// outside the lease, [ErrResourceExhausted] when the sequence of this second is
// used up, and [ErrConsistencyViolation] when the clock went back behind a second
// that was used. Over a fence, it refuses also with [ErrRandflakeDead].
func (g *Generator) Generate() (int64, error) {
	if g.used == nil {
		return g.generateOn()
	}
	seen := g.used.second() // before the clock is read
	b := g.batch.Load()
	now := b.second
	if g.TimeSource != nil {
		now = g.TimeSource()
	} else if int64(time.Since(g.start)) >= b.sure.Load() {
		now = g.read(b)
	}
	if now == b.second && now == seen {
		if i := b.next.Add(1) - 1; i < int64(len(b.ids)) {
			return int64(b.ids[i]), nil
		}
	}
	return g.generateSlowly(now, seen)
}

// generateSlowly makes a new batch, or says why it cannot. now is what TimeSource
// said after seen was read.
func (g *Generator) generateSlowly(now, seen int64) (int64, error) {
	for {
		var sure int64
		if g.TimeSource == nil {
			seen = g.used.second()
			now, sure = g.wall()
		}
		id, err := g.next(now, sure)
		if err != ErrConsistencyViolation || now < seen {
			return id, err
		}
		// The clock did not go back: a faster call has used a later second since it was read.
		if g.TimeSource != nil {
			seen = g.used.second()
			now = g.TimeSource()
		}
	}
}

// next makes a batch of the second now and takes its first ID, unless somebody
// just made one.
func (g *Generator) next(now, sure int64) (int64, error) {
	p := g.used
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case g.over:
		return 0, snowfence.ErrClosed
	case now < g.leaseStart || now > g.leaseEnd.Load():
		return 0, ErrInvalidLease
	}
	b := g.batch.Load()
	if b.second == now && b.second == p.second() {
		if i := b.next.Add(1) - 1; i < int64(len(b.ids)) {
			return int64(b.ids[i]), nil
		}
	}
	size := g.resize(b)
	pos, count, err := p.take(now, size)
	if err != nil {
		return 0, err
	}
	g.size = size
	b = &batch{second: now, ids: make([]uint64, count)}
	b.sure.Store(sure)
	const sequence = 1<<RANDFLAKE_SEQUENCE_BITS - 1
	raw := (pos&^sequence)<<RANDFLAKE_NODE_BITS | g.nodeID<<RANDFLAKE_SEQUENCE_BITS | pos&sequence
	g.cipher.EncryptCounter(b.ids, uint64(raw), 1)
	b.next.Store(1)
	g.batch.Store(b)
	return int64(b.ids[0]), nil
}

// resize returns how many positions to take after b. Batches grow while they are
// used up in their second, and shrink when most of one is lost.
func (g *Generator) resize(b *batch) int64 {
	switch lost := int64(len(b.ids)) - b.next.Load(); {
	case lost <= 0:
		return min(max(2*g.size, 1), batchSize)
	case lost > g.size/2:
		return g.size - g.size/2
	}
	return g.size
}

// wall returns the second of the system's clock, and the elapsed time until which
// it is that for sure.
func (g *Generator) wall() (second, sure int64) {
	t := time.Now()
	left := min(trust, time.Second-time.Duration(t.Nanosecond()))
	return t.Unix(), int64(t.Sub(g.start) + left)
}

// read returns the second of the system's clock. If it is that of b, the next
// calls need not ask again.
func (g *Generator) read(b *batch) int64 {
	now, sure := g.wall()
	if now == b.second {
		b.sure.Store(sure)
	}
	return now
}

// GenerateContext is Generate, but waits until ctx ends for what can come back:
// the next second, a clock that went back, over a fence a grant, too. It returns
// at once when a lease of NewGenerator is over or has not begun. Its errors match
// those of Generate with [errors.Is], and say more.
func (g *Generator) GenerateContext(ctx context.Context) (int64, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		id, err := g.attempt()
		comes := errors.Is(err, ErrResourceExhausted) || errors.Is(err, ErrConsistencyViolation) ||
			g.on != nil && errors.Is(err, ErrInvalidLease)
		if !comes {
			return id, err
		}
		t := time.NewTimer(min(pause, time.Second-time.Duration(time.Now().Nanosecond())))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return 0, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

func (g *Generator) attempt() (int64, error) {
	if g.on == nil {
		return g.Generate()
	}
	id, err := g.on.TryNext()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ours(err), err)
	}
	return int64(id), nil
}

// generateOn is Generate over a fence. The zero Generator has none, and no lease.
func (g *Generator) generateOn() (int64, error) {
	if g.on == nil {
		return 0, ErrInvalidLease
	}
	id, err := g.on.TryNext()
	if err != nil {
		return 0, ours(err)
	}
	return int64(id), nil
}

// ours returns the error of this package for one of a generator over a fence.
func ours(err error) error {
	var wait *snowfence.WaitError
	switch {
	case errors.Is(err, snowfence.ErrClosed):
		return snowfence.ErrClosed
	case errors.Is(err, snowfence.ErrLifetime):
		return ErrRandflakeDead
	case errors.As(err, &wait) && wait.Behind:
		return ErrConsistencyViolation
	case errors.Is(err, snowfence.ErrExhausted):
		return ErrResourceExhausted
	}
	return ErrInvalidLease
}

// GenerateString is Generate with the ID as text.
func (g *Generator) GenerateString() (string, error) {
	id, err := g.Generate()
	if err != nil {
		return "", err
	}
	return EncodeString(id), nil
}
