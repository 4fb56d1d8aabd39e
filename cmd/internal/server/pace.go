package server

import (
	"context"
	"time"

	"github.com/snowfence/snowfence"
)

// Pace waits until the caller may have more, and returns how many of n: what its rate
// lets through at once. It is for streams, which slow down where a single request would
// be refused.
func (id *Identity) Pace(ctx context.Context, n int64) (int64, error) {
	r, err := id.present()
	switch {
	case err != nil:
		return 0, id.refuse(err)
	case r.limiter == nil:
		id.Count(n)
		return n, nil
	}
	n = min(n, int64(r.limiter.Burst()))
	wait := r.limiter.ReserveN(time.Now(), int(n))
	if !wait.OK() {
		return 0, id.refuse(Errorf(TooMuch, "%s may have none at once", r.who()))
	}
	timer := time.NewTimer(wait.Delay())
	defer timer.Stop()
	select {
	case <-timer.C:
		id.Count(n)
		return n, nil
	case <-ctx.Done():
		wait.Cancel()
		return 0, ctx.Err()
	}
}

// smallBatch is up to how many IDs take no room: they are 8 kB, a part of what a
// connection takes anyway, and connections are limited.
const smallBatch = 1000

// Reserve takes room for n IDs on their way to a slow caller. It bounds what answers take
// in memory; release gives the room back when the answer has gone. Small batches need
// none, so that callers who take nothing of large answers keep small ones from no
// other caller.
func (s *Service) Reserve(n int64) (release func(), err error) {
	if n <= smallBatch {
		return func() {}, nil
	}
	if s.waiting.Add(n) > maxWaiting {
		s.waiting.Add(-n)
		return nil, Errorf(TooMuch, "too many large batches are on their way already: ask again, or for fewer")
	}
	return func() { s.waiting.Add(-n) }, nil
}

// Ready returns why requests should go to another server, as who looks after this one
// says (see SetReady); alone, whether the store answers.
func (s *Service) Ready(ctx context.Context) error {
	if judge := s.readiness.Load(); judge != nil {
		return (*judge)()
	}
	return s.Ping(ctx)
}

// SetReady sets what Ready says. It is called often, by anybody, and so should answer from memory.
func (s *Service) SetReady(judge func() error) { s.readiness.Store(&judge) }

// Piece makes one piece of a stream: at most n IDs, and as many as the rate of the caller lets
// through. It calls use with them once, and returns how many. The layout and the rights may have
// changed since the last piece.
func (s *Service) Piece(
	ctx context.Context, id *Identity, name string, n int64, use func([]snowfence.ID),
) (int64, error) {
	if err := context.Cause(ctx); err != nil { // the client is gone, or the server stops
		return 0, err
	}
	sp, err := s.SpaceFor(ctx, id, VerbIDs, name, 0)
	if err == nil {
		n, err = id.Pace(ctx, n)
	}
	if err == nil {
		err = sp.Batch(ctx, int(n), use)
	}
	if err != nil {
		return 0, err
	}
	sp.Made.Add(n)
	return n, nil
}
