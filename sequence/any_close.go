package sequence

import (
	"context"

	"github.com/snowfence/snowfence/internal/world"
)

// Close ends the use of the sequence in all stores, as [Sequence.Close] does in one.
func (a *Any) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		a.world.Wait(-1, a.gone)
		return a.lost
	}
	a.closed = true
	close(a.closing)
	a.wake()
	a.mu.Unlock()
	a.end()
	ctx, cancel := a.world.WithTimeout(world.With(context.Background(), a.world), closeTimeout)
	defer cancel()
	var open []*Sequence
	for _, m := range a.members {
		a.world.Wait(-1, m.ended, ctx.Done())
		a.mu.Lock()
		left := m.left
		if m.seq != nil {
			open = append(open, m.seq)
		}
		a.mu.Unlock()
		if left != nil {
			a.world.Wait(-1, left, ctx.Done())
		}
	}
	a.lost = closeAll(a.world, open)
	close(a.gone)
	return a.lost
}
