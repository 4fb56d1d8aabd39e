// Package move tests that nothing is made twice when data moves from one
// store to another, however the move is interrupted.
package move

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

var errKilled = errors.New("the mover was killed")

// death ends a mover at its n-th write: before it, in the middle, or before
// the answer.
type death struct {
	mu     sync.Mutex
	at     int // 0 for never
	how    int
	writes int

	rest  int    // before which call it rests; 0 for never
	rival func() // what happens meanwhile
	calls int
}

// roundTrip is how long a call takes at least, so that programs write
// between any two of them.
const roundTrip = 7 * time.Millisecond

// ways are how a mover dies at a write.
const ways = 3

// mortal is a store as a mover sees it.
type mortal struct {
	store.Store
	death *death
}

// call is one of the mover's.
func (d *death) call(ctx context.Context) {
	wait(ctx, roundTrip)
	if d.calls++; d.calls == d.rest {
		d.rival()
	}
}

func (d *death) over() bool { return d.at > 0 && d.writes >= d.at }

func (m mortal) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	m.death.call(ctx)
	m.death.mu.Lock()
	defer m.death.mu.Unlock()
	if m.death.over() {
		return nil, store.Reply{}, errKilled
	}
	return m.Store.Get(ctx, keys)
}

func (m mortal) Swap(ctx context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	m.death.call(ctx)
	m.death.mu.Lock()
	defer m.death.mu.Unlock()
	killed := slices.Repeat([]error{errKilled}, len(writes))
	if m.death.over() {
		return killed, nil, store.Reply{}
	}
	m.death.writes++
	if !m.death.over() {
		return m.Store.Swap(ctx, writes)
	}
	if some := writes[:len(writes)*m.death.how/(ways-1)]; len(some) > 0 {
		m.Store.Swap(ctx, some)
	}
	return killed, nil, store.Reply{}
}

func (d *death) places(s *scene, from, to int) (store.Place, store.Place) {
	a, b := s.stores[from], s.stores[to]
	a.Store, b.Store = mortal{a.Store, d}, mortal{b.Store, d}
	return a, b
}

// trial moves everything there and back, with a mover that dies at its n-th
// write each time, and is started again. It reports whether it died at all.
func trial(s *scene, at, how int) (died bool) {
	t := s.t
	defer s.end()
	ctx, cancel := context.WithTimeout(s.ctx, 2*s.patience)
	defer cancel()
	s.begin()
	s.alive(0, "IDs over a server")
	for source := range 2 {
		target := 1 - source
		a, b := (&death{at: at, how: how}).places(s, source, target)
		err := moveAll(ctx, a, b)
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		died = died || err != nil
		s.oneOpen()
		s.noOther(source)
		wait(s.ctx, ttl/4)
		for range 2 { // it may be repeated
			a, b := new(death).places(s, source, target)
			must(t, moveAll(ctx, a, b))
		}
		s.oneOpen()
		s.restart(target)
		s.alive(target)
		s.servedAlive()
		s.gone(source)
	}
	if s.ended.Load() == 0 {
		t.Error("no lease ended because its namespace was moved")
	}
	return died
}

// inMemory is a trial in virtual time.
func inMemory(t *testing.T, at, how int) (died bool) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, store.NewMemory(), store.NewMemory())
		s.patience = 20 * time.Second
		died = trial(s, at, how)
	})
	return died
}

// noOther checks that no program can make in the target what is closed in
// the source.
func (s *scene) noOther(source int) {
	s.t.Helper()
	ctx, target := s.t.Context(), s.stores[1-source]
	heads, _, err := s.stores[source].Heads(ctx)
	must(s.t, err)
	for _, r := range heads {
		there, _, err := target.Get(ctx, []store.Key{r.Key})
		must(s.t, err)
		here, err := move.Of(r)
		has, errThere := move.Of(there[0])
		if err != nil || errThere != nil || here.Err() == nil || there[0].Nonce != "" && has.Err() == nil {
			continue
		}
		if name, ok := strings.CutPrefix(r.Namespace, "#"); ok {
			err = sequence.Create(ctx, target, name, sequence.Definition{})
		} else {
			_, err = scope.Namespaces(target).Create(ctx, r.Namespace, s.scheme, nil)
		}
		if !errors.Is(err, store.ErrMoved) {
			s.t.Errorf("a program makes %s in %s while it is moved there: %v", r.Namespace, target.Name, err)
		}
	}
}

// step is how far apart the writes are at which movers die.
func step() int {
	if testing.Short() {
		return 10
	}
	return 1
}

func TestMove(t *testing.T) { inMemory(t, 0, 0) }

func TestMoveInterrupted(t *testing.T) {
	for how := range ways {
		for n, died := 1, true; died; n += step() {
			if died = inMemory(t, n, how); t.Failed() {
				t.Fatalf("the mover died at write %d in the way %d", n, how)
			}
		}
	}
}
