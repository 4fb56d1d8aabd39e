package sequence

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// supply is where a [Sequence] takes its numbers: a record of a store
// (plain), that of one period, several stores, or a program.
//
// Invariant: an ordinal is in at most one span that take returned.
type supply interface {
	// take takes up to n ordinals. One call is made at a time.
	take(ctx context.Context, least, n int64) (span, error)

	// final reports whether waiting cannot end an error of take. After such
	// an error, resume comes before the next take.
	final(err error) bool
	resume(ctx context.Context) error

	// doubted reports whether the last take may not be used, because of
	// what others found meanwhile. mu is held.
	doubted() bool

	// giveBack returns what was taken and is not used, the last take first.
	giveBack(ctx context.Context, rests []span) error
}

// facts are a program's knowledge of a sequence.
type facts struct {
	name  string
	world world.World
	log   *slog.Logger

	mu        sync.Mutex // never held while the store is asked
	lastState state      // as it was read or written last; guarded by mu, and only who takes changes it
}

func newFacts(ctx context.Context, name string, o *Options) *facts {
	f := &facts{name: name, world: world.From(ctx), log: store.Warnings(slog.Default())}
	if o != nil && o.Logger != nil {
		f.log = o.Logger
	}
	return f
}

func (f *facts) definition() Definition {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.lastState.Definition
	d.Start, d.Max = new(*d.Start), new(*d.Max)
	return d
}

func (*facts) final(err error) bool { return final(err) }

func (*facts) resume(context.Context) error { return nil }

// final reports whether waiting cannot end a store's error.
func final(err error) bool {
	for _, kind := range []error{
		ErrEnded, ErrRolledBack, ErrNoSequence, ErrPeriod, store.ErrReplaced, store.ErrMoved, lease.ErrRefused,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
