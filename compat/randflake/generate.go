package randflake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
)

// Generate returns a new ID. It never waits. It returns [ErrInvalidLease]
// outside the lease, [ErrResourceExhausted] when the sequence of this
// second is used up, and [ErrConsistencyViolation] when the clock is behind
// a second that was used. Over a fence, it can also return
// [ErrRandflakeDead].
func (g *Generator) Generate() (int64, error) {
	if on := g.on.Load(); on != nil && g.current() {
		if id, err := on.TryNext(); err == nil {
			return int64(id), nil
		}
	}
	id, kind, _ := g.attempt()
	return id, kind
}

// attempt is Generate with two errors: this package's, and the cause.
func (g *Generator) attempt() (id int64, kind, why error) {
	on, err := g.handle()
	if err != nil {
		return 0, kindOf(err), err
	}
	made, err := on.TryNext()
	if err == nil {
		return int64(made), nil, nil
	}
	kind = kindOf(err)
	if kind == ErrConsistencyViolation && !g.fenced && g.second() < g.leaseStart {
		kind = ErrInvalidLease
	}
	return 0, kind, err
}

// handle returns the maker of the IDs. It takes the node while the lease
// has the present second, and again for a TimeSource.
func (g *Generator) handle() (*process.Handle, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	on := g.on.Load()
	switch {
	case g.closed:
		return nil, snowfence.ErrClosed
	case g.fenced:
		return on, nil
	case g.scheme == nil:
		return nil, ErrInvalidLease
	}
	now := g.second()
	switch over := now > g.end(); {
	case on == nil:
	case !over && g.current():
		return on, nil
	default:
		g.leaseEnd = g.end()
		g.on.Store(nil)
		_ = on.Close() // only fences fail
	}
	if now < g.leaseStart || now > g.leaseEnd {
		return nil, ErrInvalidLease
	}
	o := process.Options{
		From: g.leaseStart - RANDFLAKE_EPOCH_OFFSET, Until: g.leaseEnd - RANDFLAKE_EPOCH_OFFSET + 1, Replace: true,
	}
	if g.TimeSource != nil {
		o.Time = clockOf(g.TimeSource)
	}
	on, err := process.Open(g.scheme, g.nodeID, o)
	if err == nil {
		g.sourced.Store(o.Time != nil)
		g.on.Store(on)
	}
	return on, err
}

// current reports whether the generator in use has the TimeSource.
func (g *Generator) current() bool { return g.TimeSource == nil || g.sourced.Load() }

// second returns the present one.
func (g *Generator) second() int64 {
	if g.TimeSource != nil {
		return g.TimeSource()
	}
	return time.Now().Unix()
}

// end returns the last second of the lease, one for all its sharers. The
// mutex is held.
func (g *Generator) end() int64 {
	if on := g.on.Load(); on != nil {
		return on.Until() + RANDFLAKE_EPOCH_OFFSET - 1
	}
	return g.leaseEnd
}

// clockOf returns the clock of a TimeSource. It has no time between two
// seconds.
func clockOf(source func() int64) snowfence.TimeSource {
	return func() (time.Time, time.Duration) {
		second := max(RANDFLAKE_EPOCH_OFFSET-1, min(source(), RANDFLAKE_MAX_TIMESTAMP+1))
		return time.Unix(second, 0), time.Duration(second-RANDFLAKE_EPOCH_OFFSET) * time.Second
	}
}

// kindOf returns the error of this package for a generator's.
func kindOf(err error) error {
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

// GenerateContext is Generate, but waits until ctx ends: for the next
// second, for a clock that went back, and over a fence for a grant. It
// returns at once when a lease of [NewGenerator] is over or has not begun.
// With [errors.Is] its errors match Generate's; their texts say more.
func (g *Generator) GenerateContext(ctx context.Context) (int64, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		id, kind, err := g.attempt()
		switch {
		case kind == nil:
			return id, nil
		case kind != ErrResourceExhausted && kind != ErrConsistencyViolation && (kind != ErrInvalidLease || !g.fenced):
			return 0, both(kind, err)
		}
		t := time.NewTimer(min(pause, time.Second-time.Duration(time.Now().Nanosecond())))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return 0, fmt.Errorf("%w: %w", both(kind, err), ctx.Err())
		}
	}
}

func both(kind, err error) error {
	if kind == err {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// GenerateString is Generate, but returns the ID as text.
func (g *Generator) GenerateString() (string, error) {
	id, err := g.Generate()
	if err != nil {
		return "", err
	}
	return EncodeString(id), nil
}
