package workerid

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

const (
	chunk = 128         // numbers that are looked at in one go
	again = time.Second // between two looks at a range without a free number
)

// register takes numbers and waits until they are settled.
func (r *Registrar) register(ctx context.Context, count int) (out []*Worker, err error) {
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

// take takes up to count free numbers, and begins to keep them.
func (r *Registrar) take(ctx context.Context, count int) (out []*Worker, err error) {
	index, err := r.index(ctx)
	if err != nil {
		return nil, err
	}
	var numbers []int64
	next, stop := iter.Pull(behind(index, r.o.Min, r.o.Max))
	defer stop()
	for more := true; more && len(out) < count; {
		numbers = numbers[:0]
		for len(numbers) < chunk {
			var n int64
			if n, more = next(); !more {
				break
			}
			numbers = append(numbers, n)
		}
		found, err := r.look(ctx, numbers)
		if err != nil {
			return out, err
		}
		for i, s := range found {
			if s.expiry != gone || len(out) == count || r.shunned(numbers[i]) {
				continue
			}
			w, err := r.claim(ctx, numbers[i], s)
			if err != nil {
				return out, err
			}
			if w != nil {
				out = append(out, w)
			}
		}
	}
	return out, nil
}

func (r *Registrar) look(ctx context.Context, numbers []int64) ([]sight, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.TTL/3)
	defer cancel()
	return r.server.look(ctx, numbers)
}

// claim makes the key of a free number. It returns nil if another program was
// faster.
func (r *Registrar) claim(ctx context.Context, number int64, s sight) (*Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.TTL/3)
	defer cancel()
	asked := time.Now()
	expiry := r.expiry(s, asked)
	// Without an answer the key may be there, and is left to expire: its owner
	// is unknown.
	if ok, err := r.server.take(ctx, number, expiry); !ok {
		return nil, err
	}
	return newWorker(r, number, expiry, asked, s), nil
}

// expiry chooses when a key expires, at least a TTL after t. The random part
// makes it a millisecond of our own, because the original adds whole seconds to
// the time.
func (r *Registrar) expiry(s sight, t time.Time) int64 {
	return s.at(t) + r.o.TTL.Milliseconds() + rand.Int64N(1000)
}

// index returns where the original counts, and −1 where it does not. It refuses
// a range that is not declared to be shared if the original counts there.
func (r *Registrar) index(ctx context.Context) (int64, error) {
	for first := true; ; first = false {
		n, ok, err := r.readIndex(ctx)
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return -1, nil
		case r.o.Shared || n < r.o.Min || n > r.o.Max:
			return n, nil
		case !first:
			return 0, fmt.Errorf("workerid: numbers %d to %d: %w", r.o.Min, r.o.Max, ErrShared)
		}
		// Originals count beyond their last number for 200 ms at a time.
		if !pause(ctx, again) {
			return 0, ctx.Err()
		}
	}
}

func (r *Registrar) readIndex(ctx context.Context) (int64, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.TTL/3)
	defer cancel()
	return r.server.index(ctx)
}

// behind returns the numbers from first to last, and first those that the
// original tries last, because it goes up from index. Index itself is the last
// one: an original that has just read it as free may be about to set it.
func behind(index, first, last int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		size := last - first + 1
		if index < first || index > last {
			index = first // it goes on there
		}
		for back := range size {
			n := index - 1 - back
			if n < first {
				n += size
			}
			if !yield(n) {
				return
			}
		}
	}
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
