package workerid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
)

const (
	settleTime   = 2 * time.Second // from the key's making to the first ID
	settleChecks = 2               // within it
	closeWait    = 5 * time.Second // bounds how long Close gives back
)

// Worker is a number that this process holds. It renews itself every third
// of the TTL until it is closed or lost.
type Worker struct {
	r      *Registrar
	number int64

	life    context.Context // ends with the number
	end     context.CancelFunc
	ready   chan struct{} // closed when the number is settled
	stopped chan struct{} // closed when nothing is sent any more
	done    chan struct{} // closed when the number is over, and its generator sealed

	mu       sync.Mutex
	expiry   int64       // when the key expires, as Redis acknowledged it
	doubt    int64       // when it may expire, because a renewal was not answered; 0: there is none
	deadline time.Time   // no ID is made from then on
	timer    *time.Timer // ends the number at the deadline
	seen     sight       // the last answer of Redis
	checks   int         // renewals that Redis acknowledged, up to settleChecks
	from     int64       // time of Redis from which on IDs are made; valid when ready
	err      error       // why the number is over; nil while it is held
	back     atomic.Bool // it was given back
	fence    *Fence      // that makes IDs with the number; nil when there is none
}

func newWorker(r *Registrar, number, expiry int64, asked time.Time, s sight) *Worker {
	w := &Worker{
		r: r, number: number,
		ready: make(chan struct{}), stopped: make(chan struct{}), done: make(chan struct{}),
		expiry: expiry, deadline: asked.Add(r.o.TTL), seen: s,
	}
	w.life, w.end = context.WithCancel(context.Background())
	r.mu.Lock() // finish waits, should the deadline have passed
	w.timer = time.AfterFunc(time.Until(w.deadline), w.runOut)
	r.workers[w] = true
	r.mu.Unlock()
	go w.keep()
	return w
}

// Number returns the worker number.
func (w *Worker) Number() int64 { return w.number }

// Done returns a channel that is closed when the number was lost or given
// back.
func (w *Worker) Done() <-chan struct{} { return w.done }

// Err returns why the number is not held any more: [ErrLost] or
// [ErrClosed]. It is nil while the number is held.
func (w *Worker) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Worker) usable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err == nil && w.checks >= settleChecks
}

// keep checks the number while it settles, and then renews it.
func (w *Worker) keep() {
	defer close(w.stopped)
	next := settleTime / settleChecks
	for pause(w.life, next) {
		next = w.renew()
	}
}

// renew renews the number once. It returns how long to wait before the next
// time.
func (w *Worker) renew() time.Duration {
	expiry, ours, deadline := w.wish()
	ctx, cancel := context.WithTimeout(w.life, min(w.r.o.TTL/3, time.Until(deadline)))
	defer cancel()
	s, moved, err := w.r.server.move(ctx, w.number, expiry, ours)
	switch {
	case err != nil:
		return w.r.o.TTL / 15
	case !moved:
		w.finish(fmt.Errorf("workerid: %w: another program set, renewed or deleted the key of number %d",
			ErrLost, w.number))
		return 0
	}
	return w.renewed(s, expiry)
}

// wish chooses when the key shall expire. The invariant: while it expires
// at one of ours, no other program has written it. A renewal that was not
// answered is repeated as it was, so that there are two such times at most.
func (w *Worker) wish() (expiry int64, ours []int64, deadline time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ours = []int64{w.expiry}
	if w.doubt == 0 {
		w.doubt = max(w.expiry, w.r.expiry(w.seen, time.Now())) // IDs may have been made up to expiry
	} else {
		ours = append(ours, w.doubt)
	}
	return w.doubt, ours, w.deadline
}

// renewed notes that Redis acknowledged a renewal.
func (w *Worker) renewed(s sight, expiry int64) time.Duration {
	w.mu.Lock()
	if !time.Now().Before(w.deadline) {
		w.mu.Unlock()
		w.runOut()
		return 0
	}
	w.expiry, w.doubt, w.seen = expiry, 0, s
	// The key lives at least as long after it was asked, because Redis said
	// its time later.
	w.deadline = s.sent.Add(min(w.r.o.TTL, time.Duration(expiry-s.now)*time.Millisecond))
	w.timer.Reset(time.Until(w.deadline))
	next := time.Until(w.deadline) - w.r.o.TTL*2/3
	if w.checks < settleChecks {
		if w.checks++; w.checks < settleChecks {
			next = settleTime / settleChecks
		} else {
			w.from = s.now
			close(w.ready)
		}
	}
	f := w.fence
	w.mu.Unlock()
	if f != nil {
		f.wake()
	}
	return next
}

// runOut ends the number if its deadline has passed. A timer calls it too,
// so that a call of Redis that hangs delays nothing.
func (w *Worker) runOut() {
	w.mu.Lock()
	left := time.Until(w.deadline)
	w.mu.Unlock()
	if left <= 0 {
		w.finish(fmt.Errorf("workerid: %w: Redis has not acknowledged a renewal of number %d within the TTL",
			ErrLost, w.number))
	}
}

// finish ends the number: it seals the generator before anything else. It
// reports whether this call did, and the first millisecond that surely has
// no ID.
func (w *Worker) finish(why error) (unused int64, first bool) {
	w.mu.Lock()
	if w.err != nil {
		w.mu.Unlock()
		return 0, false
	}
	w.err = why
	f := w.fence
	w.mu.Unlock()
	lost := errors.Is(why, ErrLost)
	r := w.r
	r.mu.Lock()
	delete(r.workers, w)
	if lost {
		r.lost[w.number] = time.Now()
	}
	r.mu.Unlock()
	if f != nil {
		unused = f.lose(w, why)
	}
	w.timer.Stop()
	w.end()
	close(w.done)
	if lost {
		r.o.Logger.Warn("worker number lost", "number", w.number, "error", why)
	}
	return unused, true
}

// Close seals the generator of the number and gives the number back, and
// waits for that at most five seconds. If that fails, the number expires
// within the TTL. If your program makes IDs from the number without a
// fence, stop that before, because the package does not know of these IDs.
func (w *Worker) Close() error {
	unused, first := w.finish(ErrClosed)
	if !first {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return w.giveBack(ctx, unused)
}

// giveBack makes the key expire at unused, or now. The number is over. A
// key that another program wrote is left alone. It may be repeated after an
// error.
func (w *Worker) giveBack(ctx context.Context, unused int64) error {
	var err error
	if wait(ctx, w.stopped, nil) != 0 {
		err = ctx.Err()
	} else if !w.back.Load() {
		ours := []int64{w.expiry}
		if w.doubt != 0 {
			ours = append(ours, w.doubt)
		}
		_, _, err = w.r.server.move(ctx, w.number, min(max(unused, 1), w.expiry), ours)
	}
	if err != nil {
		return fmt.Errorf("workerid: number %d stays taken for at most %v: %w", w.number, w.r.o.TTL+time.Second, err)
	}
	w.back.Store(true)
	return nil
}

// Fence returns a fence over the number. It takes another number when this
// one is lost. A number has one fence.
func (w *Worker) Fence(s *snowfence.Scheme) (*Fence, error) {
	if err := w.r.fits(s); err != nil {
		return nil, err
	}
	f := &Fence{r: w.r, scheme: s, layout: s.Layout(), changed: make(chan struct{})}
	f.life, f.end = context.WithCancel(w.r.life)
	if err := f.adopt(w); err != nil {
		return nil, err
	}
	return f, nil
}
