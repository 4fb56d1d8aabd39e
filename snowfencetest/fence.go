package snowfencetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// ttl is the length of a grant, as in a lease.
const ttl = 15 * time.Second

var (
	errLost        = errors.New("the lease was lost: the test called LoseLease")
	errUnreachable = errors.New("the store is unreachable: the test called StoreUnreachable")
)

// fence grants one node, until a fault.
//
// Invariant: a grant begins at from, and from is above all that was used of
// the grants before.
type fence struct {
	scheme *snowfence.Scheme
	clock  *clock
	node   int64

	mu    sync.Mutex
	seal  func() int64 // of the generator; nil while there is none
	from  int64
	until int64 // of the grant in use
	fault error // why nothing is granted
}

func (f *fence) Scheme() *snowfence.Scheme { return f.scheme }

// World returns the world of the generator.
func (f *fence) World() world.World {
	if f.clock.bubble {
		return world.Real()
	}
	return frozen{f.clock}
}

func (f *fence) Bind(seal func() int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seal != nil {
		return nil, snowfence.ErrBound
	}
	f.seal = seal
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seal = nil
	}, nil
}

func (f *fence) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, last := f.scheme.Layout(), f.scheme.MaxTick()
	switch {
	case f.fault != nil:
		return snowfence.Grant{}, f.fault
	case after > last:
		return snowfence.Grant{}, fmt.Errorf("%w: it ended at %v", snowfence.ErrLifetime, l.EndOfLife())
	}
	now, _ := f.clock.readTime()
	end := max(after, l.TickOf(now)) + 1 + int64(ttl/l.Tick)
	f.until = max(f.until, min(end, last+1))
	return snowfence.Grant{Node: f.node, From: f.from, Until: f.until}, nil
}

func (f *fence) Held(after int64) (snowfence.Grant, bool) {
	gr, err := f.Grant(context.Background(), after)
	return gr, err == nil
}

func (f *fence) Release(_ context.Context, _ snowfence.Grant, used int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from = max(f.from, used)
	return nil
}

// loseGrant seals the generator, and grants nothing.
func (f *fence) loseGrant() {
	f.mu.Lock()
	f.fault = errLost
	seal := f.seal
	f.mu.Unlock()
	if seal == nil {
		return
	}
	used := seal() // without the mutex, which Grant takes
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from, f.until = max(f.from, used), 0
}

// cutGrants grants nothing more. Earlier grants stay.
func (f *fence) cutGrants() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil {
		f.fault = errUnreachable
	}
}

func (f *fence) restoreGrants() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = nil
}
