package idgen

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/internal/process"
)

// shared is what [NextId] uses. The API of the original has no place for it
// but a package variable.
var shared door

// door is a generator that may be replaced while it is used.
type door struct {
	mu  sync.Mutex // held while current is replaced, so that a caller of a closed one waits for the next
	cur atomic.Pointer[worker]
}

// SetIdGenerator sets the options of [NextId]. Call it again to change
// them, also while NextId is used. It panics if they are bad.
func SetIdGenerator(options *IdGeneratorOptions) {
	if err := TrySetIdGenerator(options); err != nil {
		panic(err)
	}
}

// TrySetIdGenerator is [SetIdGenerator], but returns an error. After an
// error NextId goes on with its old options.
func TrySetIdGenerator(options *IdGeneratorOptions) error { return shared.set(options, nil) }

// SetFence is [SetIdGenerator] for a lease, a state file or another fence:
// see [NewOn]. After an error NextId goes on as before.
func SetFence(f snowfence.Fence, lead int64) error {
	w, err := on(f, process.Options{Lead: lead})
	if err != nil {
		return err
	}
	shared.mu.Lock()
	old := shared.cur.Swap(w)
	shared.mu.Unlock()
	giveBack(old)
	return nil
}

// Close ends [NextId], and gives the worker of [SetFence] back. Call
// SetIdGenerator or SetFence to start again.
func Close() error {
	shared.mu.Lock()
	old := shared.cur.Swap(nil)
	shared.mu.Unlock()
	if old == nil {
		return nil
	}
	return old.close()
}

// NextId returns a new ID. It panics before SetIdGenerator.
func NextId() int64 {
	if w := shared.cur.Load(); w != nil {
		if id, err := w.handle.Next(context.Background()); err == nil {
			return int64(id)
		}
	}
	return must(shared.next(context.Background()))
}

// NextIdContext is [NextId], but waits at most until ctx ends, and returns
// errors.
func NextIdContext(ctx context.Context) (int64, error) { return shared.next(ctx) }

// ExtractTime returns the time of an ID that was made with the options of
// NextId. It panics before SetIdGenerator.
func ExtractTime(id int64) time.Time {
	w := shared.cur.Load()
	if w == nil {
		panic(errNotSet)
	}
	return w.options.timeOf(id)
}

var errNotSet = errors.New("idgen: no options: call SetIdGenerator first")

// set replaces the generator. An old one without a fence ends first: if it
// stayed open, a new one with the same worker ID would keep the old lead.
func (d *door) set(options *IdGeneratorOptions, clock snowfence.TimeSource) error {
	scheme, err := options.scheme(clock)
	if err != nil {
		return err
	}
	d.mu.Lock()
	old := d.cur.Load()
	if old != nil && !old.fenced {
		_ = old.close() // only fences fail
	}
	w, err := enter(scheme, options, clock)
	if err == nil {
		d.cur.Store(w)
	} else if old != nil && !old.fenced { // a fence has the new one's numbers: go on with the old ones
		if again, err := enter(old.handle.Scheme(), &old.options, clock); err == nil {
			d.cur.Store(again)
		}
	}
	d.mu.Unlock()
	if err != nil {
		return err
	}
	giveBack(old)
	return nil
}

// next returns an ID of the generator that is set at that moment.
func (d *door) next(ctx context.Context) (int64, error) {
	for w := d.cur.Load(); w != nil; {
		id, err := w.handle.Next(ctx)
		if !errors.Is(err, snowfence.ErrClosed) {
			return int64(id), say(err)
		}
		next := d.settled()
		if next == w {
			return 0, say(err)
		}
		w = next
	}
	return 0, errNotSet
}

// settled returns the set generator, after a replacement under way.
func (d *door) settled() *worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cur.Load()
}

// giveBack closes a generator that is not used any more.
func giveBack(old *worker) {
	if old == nil {
		return
	}
	if err := old.close(); err != nil {
		slog.Warn("idgen: the fence before could not be given back", "error", err)
	}
}
