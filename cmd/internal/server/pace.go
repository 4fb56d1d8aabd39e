package server

import (
	"context"
	"time"

	"github.com/snowfence/snowfence"
)

// Pace waits until the caller may have more, and returns how many of n:
// what its rate lets through at once. It is for streams, which slow down
// where a single request would be refused.
func (id *Identity) Pace(ctx context.Context, n int64) (int64, error) {
	r, err := id.presentRights()
	switch {
	case err != nil:
		return 0, id.countRefusal(err)
	case r.limiter == nil:
		id.Count(n)
		return n, nil
	}
	// Half of the burst stays for the other requests of the token.
	burst := int64(r.limiter.Burst())
	n = min(n, max(burst-burst/2, 1))
	for {
		missing := float64(burst/2+n) - r.limiter.Tokens()
		if missing <= 0 && r.limiter.AllowN(time.Now(), int(n)) {
			id.Count(n)
			return n, nil
		}
		timer := time.NewTimer(time.Duration(max(missing/float64(r.limiter.Limit()), 1e-4) * float64(time.Second)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
	}
}

// Ready returns why requests should go to another server, as the owner of
// this one says (see SetReady); alone, whether the store answers.
func (s *Service) Ready(ctx context.Context) error {
	if judge := s.readiness.Load(); judge != nil {
		return (*judge)()
	}
	return s.Ping(ctx)
}

// SetReady sets the judge of Ready. Anybody may ask it often, so it should
// answer from memory.
func (s *Service) SetReady(judge func() error) { s.readiness.Store(&judge) }

// Piece makes one piece of a stream: at most n IDs, and as many as the rate
// of the caller lets through. It calls use with them once, and returns how
// many. The layout and the rights may have changed since the last piece.
func (s *Service) Piece(
	ctx context.Context, id *Identity, name string, n int64, tag *int64, use func([]snowfence.ID),
) (int64, error) {
	if err := context.Cause(ctx); err != nil { // the client is gone, or the server stops
		return 0, err
	}
	sp, err := s.SpaceFor(ctx, id, VerbIDs, name, 0)
	if err == nil {
		n, err = id.Pace(ctx, n)
	}
	if err == nil {
		err = sp.Batch(ctx, int(n), tag, use)
	}
	if err != nil {
		return 0, err
	}
	sp.Made.Add(n)
	return n, nil
}
