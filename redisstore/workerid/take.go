package workerid

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	chunk = 128         // numbers that are looked at in one go
	again = time.Second // between two looks at a range without a free number
)

// RegisterMany takes several numbers. With an error it also returns those
// that it got.
func (r *Registrar) RegisterMany(ctx context.Context, count int) (out []*Worker, err error) {
	if count < 1 {
		return nil, fmt.Errorf("workerid: %d numbers are asked for: ask for at least 1", count)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	deadline := time.Now().Add(r.o.TTL + time.Second)
	for {
		taken, err := r.take(ctx, count-len(out))
		settled := 0
		for _, w := range taken {
			switch wait(ctx, w.ready, w.done) {
			case 0:
				out, settled = append(out, w), settled+1
			case 1: // an original showed itself
			default:
				_ = w.Close() // what is not given back runs out
				err = ctx.Err()
			}
		}
		switch {
		case len(out) == count:
			return out, nil
		case err != nil:
			return out, err
		case settled == 0 && time.Now().After(deadline):
			return out, fmt.Errorf("workerid: numbers %d to %d: %w", r.o.Min, r.o.Max, ErrTaken)
		case len(taken) == 0 && !pause(ctx, again):
			return out, ctx.Err()
		}
	}
}

// take takes up to count free numbers. It begins with the highest, because
// the original counts up.
func (r *Registrar) take(ctx context.Context, count int) (out []*Worker, err error) {
	err = r.checkRange(ctx)
	for top := r.o.Max; err == nil && top >= r.o.Min && len(out) < count; top -= chunk {
		var numbers []int64
		for n := top; n >= r.o.Min && n > top-chunk; n-- {
			numbers = append(numbers, n)
		}
		out, err = r.takeOf(ctx, numbers, count, out)
	}
	return out, err
}

// takeOf adds those of numbers that are free to out, up to count.
func (r *Registrar) takeOf(ctx context.Context, numbers []int64, count int, out []*Worker) ([]*Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.TTL/3)
	defer cancel()
	found, err := r.server.readKeys(ctx, numbers)
	for i, s := range found {
		if s.expiry != gone || len(out) == count || r.shuns(numbers[i]) {
			continue
		}
		asked := time.Now()
		expiry := r.expiry(s, asked)
		// Without an answer the key may be there, and is left to expire:
		// its owner is unknown. Or another program was faster.
		ok, err := r.server.take(ctx, numbers[i], expiry)
		if err != nil {
			return out, err
		}
		if ok {
			out = append(out, newWorker(r, numbers[i], expiry, asked, s))
		}
	}
	return out, err
}

// shuns reports whether a number was lost within a TTL: it is left to the
// program that took it.
func (r *Registrar) shuns(number int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.lost[number]) <= r.o.TTL
}

// expiry chooses when a key expires, at least a TTL after t. The random
// part makes it a millisecond of our own, because the original adds whole
// seconds to the time.
func (r *Registrar) expiry(s sight, t time.Time) int64 {
	return s.at(t) + r.o.TTL.Milliseconds() + rand.Int64N(1000)
}

// checkRange refuses a range in which the original counts, unless it is
// declared to be shared.
func (r *Registrar) checkRange(ctx context.Context) error {
	if r.o.Shared {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.TTL)
	defer cancel()
	for range 2 {
		n, ok, err := r.server.index(ctx)
		if err != nil || !ok || n < r.o.Min || n > r.o.Max {
			return err
		}
		pause(ctx, again) // originals count beyond their last number for 200 ms at a time
	}
	return fmt.Errorf("workerid: numbers %d to %d: %w", r.o.Min, r.o.Max, ErrShared)
}

// wait returns which of two channels is closed first, and −1 when ctx ends
// before.
func wait(ctx context.Context, zero, one <-chan struct{}) int {
	select {
	case <-zero:
		return 0
	case <-one:
		return 1
	case <-ctx.Done():
		return -1
	}
}

// pause waits, and returns false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
