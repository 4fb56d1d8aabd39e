package process

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
)

const (
	// reportEvery bounds how often the log says what all users of a
	// generator wait for.
	reportEvery = time.Minute

	// A fence may refuse at once. Then a call asks again, less and less
	// often.
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// waits is the waiting of all who use a generator.
type waits struct {
	reported atomic.Int64 // Unix time in nanoseconds of the last line in the log
}

// out repeats try, which ended in err once, until it succeeds, ctx ends, or
// waiting is in vain.
func (w *waits) out(ctx context.Context, err error, try func() error) error {
	for pause := firstPause; err != nil; pause = min(2*pause, lastPause) {
		var wait *snowfence.WaitError
		if !errors.As(err, &wait) || final(err) || ctx.Err() != nil {
			return err
		}
		w.report(err)
		if wait.Waited < pause {
			t := time.NewTimer(pause)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
			}
		}
		err = try()
	}
	return nil
}

// report says once a minute what calls wait for.
func (w *waits) report(err error) {
	now, last := time.Now().UnixNano(), w.reported.Load()
	if now-last < int64(reportEvery) && now >= last || !w.reported.CompareAndSwap(last, now) {
		return
	}
	slog.Warn("snowfence: calls wait for an ID, until it can be made", "error", err)
}

// final reports whether a fence says that waiting is in vain.
func final(err error) bool {
	return errors.Is(err, snowfence.ErrClosed) || errors.Is(err, snowfence.ErrLifetime)
}
