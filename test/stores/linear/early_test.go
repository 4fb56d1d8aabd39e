package linear

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// early is a store that shows writes before they are on the disk, as InnoDB
// does. It acknowledges them after that; as a fault, it acknowledges them
// too early.
type early struct {
	store.Basic
	hasty bool // acknowledges before

	mu      sync.Mutex
	shown   map[store.Key]store.Record
	disk    map[store.Key]store.Record
	crashes int
}

func (e *early) Get(_ context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]store.Record, len(keys))
	for i, k := range keys {
		out[i] = e.shown[k]
		out[i].Key = k
	}
	return out, store.Reply{}, nil
}

func (e *early) List(context.Context, string, snowfence.NodeRange, int) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, errAway
}

func (e *early) Heads(context.Context) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, errAway
}

func (e *early) Swap(_ context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	e.mu.Lock()
	errs := make([]error, len(writes))
	for i, w := range writes {
		if e.shown[w.New.Key].Nonce == w.Old {
			e.shown[w.New.Key] = w.New
		} else {
			errs[i] = store.ErrLost
		}
	}
	before := e.crashes
	e.mu.Unlock()
	flush := func() bool {
		time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.crashes != before {
			return false
		}
		e.disk = maps.Clone(e.shown) // a log: what came before is on disk too
		return true
	}
	if e.hasty {
		go flush()
	} else if !flush() {
		return all(writes, errAway), nil, store.Reply{}
	}
	return errs, nil, store.Reply{}
}

func (e *early) crash(_ *testing.T, h *history, _ *rand.Rand) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = maps.Clone(e.disk)
	e.crashes++
	h.kills = append(h.kills, h.now())
}

// TestEarly checks what is forgiven to stores that show writes early: those
// alone, and not that an acknowledged write is lost.
func TestEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hasty, forgiven bool
		want            porcupine.CheckResult
	}{
		"not forgiven": {false, false, porcupine.Illegal},
		"forgiven":     {false, true, porcupine.Ok},
		"hasty":        {true, true, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, page := until(c.want, func() *history {
				e := &early{hasty: c.hasty, shown: map[store.Key]store.Record{}, disk: map[store.Key]store.Record{}}
				h := storm(t, subject{
					open:   func(*testing.T) store.Store { return e },
					faults: slices.Repeat([]fault{{"crash", e.crash}}, 20),
				}, 0, 0)
				if c.forgiven {
					h.forgive()
				}
				return h
			})
			if result != c.want {
				t.Errorf("the checker says %q, want %q: %s", result, c.want, page)
			}
			if page != "" {
				_ = os.Remove(page)
			}
		})
	}
}
