package server

import (
	"errors"
	"time"

	"github.com/snowfence/snowfence"
)

// Lead returns how far the next ID would be ahead of the clock, and false when no ID was
// wanted since it was asked last. It uses up an ID, which nobody gets; one that nobody
// wants would keep the lease of a namespace alive that is not used.
func (sp *Space) Lead(now time.Time) (time.Duration, bool) {
	wanted := sp.Made.Load() + sp.Waits.Load()
	if sp.lastWanted.Swap(wanted) == wanted {
		return 0, false
	}
	g := sp.gen.Load()
	if g == nil {
		return 0, false
	}
	id, err := g.TryNext()
	var wait *snowfence.WaitError
	switch {
	case errors.As(err, &wait):
		return wait.Missing, true
	case err != nil:
		return 0, false
	}
	p, err := sp.Scheme().Decode(id)
	return max(0, p.Time.Sub(now)), err == nil
}
