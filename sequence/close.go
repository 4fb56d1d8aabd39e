package sequence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
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
	taking := s.storeCall
	s.mu.Unlock()
	ctx, cancel := s.world.WithTimeout(world.With(context.Background(), s.world), closeTimeout)
	defer cancel()
	if taking != nil {
		if s.mode == Dense {
			s.world.Wait(-1, taking, ctx.Done()) // what it takes can go back then
		}
		s.end()
		s.world.Wait(-1, taking, ctx.Done())
	}
	if s.mode == Dense {
		s.closeError = s.returnAll(ctx, rest)
	}
	s.end()
	if s.stores != nil {
		s.stores.close(ctx)
	}
	s.unpin()
	close(s.closeDone)
	return s.closeError
}

// returnAll gives back all unused numbers: the rest of the piece in use,
// and the range after it.
func (s *Sequence) returnAll(ctx context.Context, rest span) error {
	s.mu.Lock()
	rests := []span{s.next, rest}
	s.next = span{}
	s.mu.Unlock()
	if s.stores != nil {
		return s.stores.giveBack(ctx, []Range{s.rangeOf(rests[0]), s.rangeOf(rests[1])})
	}
	return s.giveBack(ctx, rests)
}

// giveBack lowers the end of the given numbers to the lowest unused
// ordinal, if all above it is this program's and nothing was written since
// its last take. Else it is a gap.
//
// Invariant: Reached tells where the count was. A promoted replica may lack
// the takes of others from there on, and numbers are skipped above that.
func (s *source) giveBack(ctx context.Context, rests []span) error { // the last take comes first
	s.mu.Lock()
	r, low, known := s.last, s.lastTaken, s.lastState
	for _, rest := range rests {
		if rest.until == low {
			low = rest.from
		}
	}
	s.lastTaken = low // they are not this program's any more, whatever becomes of the write
	s.mu.Unlock()
	if low == r.From {
		return nil
	}
	old, was := r.Nonce, r.From
	if s.of != nil {
		r.Until = max(r.Until, r.From)
	} else {
		known.Reached = max(known.Reached, r.From)
		r.Data = known.data()
		r.Generation++ // so that who skips numbers knows of it
	}
	r.Nonce, r.From = s.world.Text(), low
	r.Revision++
	err := s.store.Swap(ctx, []store.Write{{Old: old, New: r}})[0]
	if err == nil || errors.Is(err, store.ErrLost) {
		return nil
	}
	return fmt.Errorf("sequence %q: %d numbers from %d on may be a gap: giving them back: %w", s.name, was-low,
		known.course.numberOf(low), err)
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
