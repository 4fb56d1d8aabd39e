package server

import (
	"context"
	"time"
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
			return 0, context.Cause(ctx) // the client is gone, or the server stops
		}
	}
}
