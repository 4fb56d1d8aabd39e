package sequence

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

const closeTimeout = 5 * time.Second

// Close ends the sequence at once: calls that wait, and later ones, return
// [ErrClosed]. A dense sequence gives the numbers that it holds back to the
// store, and waits for that up to 5 seconds; the error says which numbers
// did not go back.
func (s *Sequence) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.world.Wait(-1, s.closeDone)
		return s.closeError
	}
	s.closed = true
	close(s.closing)
	rest := s.cur.Load().seal()
	s.refuseAll(s.errClosed())
	taking := s.takes
	s.mu.Unlock()
	ctx, cancel := s.world.WithTimeout(world.With(context.Background(), s.world), closeTimeout)
	defer cancel()
	if !s.dense { // else what it takes can go back
		s.end()
	}
	if taking != nil {
		s.world.Wait(-1, taking, ctx.Done())
	}
	if s.dense {
		s.mu.Lock()
		rests := append(s.dropHeld(), rest)
		s.mu.Unlock()
		s.closeError = s.from.giveBack(ctx, rests)
	}
	s.end()
	s.release(ctx)
	close(s.closeDone)
	return s.closeError
}

// closeAll closes sequences at the same time.
func closeAll(w world.World, all []*Sequence) error {
	errs, done := make([]error, len(all)), make(chan struct{}, len(all))
	for i, s := range all {
		w.Go(func() {
			errs[i] = s.Close()
			done <- struct{}{}
		})
	}
	for range all {
		w.Wait(-1, done)
	}
	return errors.Join(errs...)
}
