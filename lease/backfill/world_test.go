package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// pastWorld is the real one with a clock that the test sets.
type pastWorld struct {
	world.World
	now time.Time
}

func (w *pastWorld) Now() time.Time { return w.now }

func (w *pastWorld) source() snowfence.TimeSource {
	return func() (time.Time, time.Duration) { return w.now, 0 }
}

// pastStore is a [store.Memory] that counts swaps of hours and can be
// rolled back.
type pastStore struct {
	*store.Memory
	mu    sync.Mutex
	id    string
	swaps int
	// identities that it got since, from those who saw a loss
	suspected int
	largest   int                        // of Data
	before    func(w []store.Write)      // each swap
	after     func(w []store.Write)      // each swap
	clock     func() time.Time           // of the store; nil for none
	fail      error                      // of each swap, which is done all the same
	away      map[string]error           // of other calls, by their names
	written   map[store.Key]store.Record // since keep
}

func newPastStore() *pastStore {
	return &pastStore{Memory: store.NewMemory(), id: "one:-", written: map[store.Key]store.Record{}}
}

// reply is the answer of the store about itself.
func (s *pastStore) reply() store.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := store.Reply{Identity: s.id}
	if s.clock != nil {
		r.Now = s.clock()
	}
	return r
}

// Get panics where DynamoDB refuses.
func (s *pastStore) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	asked := map[store.Key]bool{}
	for _, k := range keys {
		if asked[k] {
			panic(fmt.Sprint("asked twice: ", k))
		}
		asked[k] = true
	}
	if err := s.away["get"]; err != nil {
		return nil, store.Reply{}, err
	}
	rs, _, err := s.Memory.Get(ctx, keys)
	return rs, s.reply(), err
}

func (s *pastStore) Suspect(_ context.Context, identity string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == identity {
		s.id, s.suspected = s.id+" again", s.suspected+1
	}
	if err := s.away["later"]; err != nil {
		s.away = map[string]error{"get": err}
	}
	return s.away["suspect"]
}

func (s *pastStore) Swap(ctx context.Context, ws []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	if s.before != nil {
		s.before(ws)
	}
	errs, _, _ := s.Memory.Swap(ctx, ws)
	reply := s.reply()
	s.mu.Lock()
	for i, w := range ws {
		if errs[i] == nil {
			s.written[w.New.Key] = w.New
		}
		if w.New.Node < store.NamespaceNode {
			s.swaps++
			s.largest = max(s.largest, len(w.New.Data))
			if s.fail != nil {
				errs[i] = s.fail
			}
		}
	}
	after := s.after
	s.mu.Unlock()
	if after != nil {
		after(ws)
	}
	return errs, nil, reply
}

// backup returns all records.
func (s *pastStore) backup() map[store.Key]store.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.written)
}

// restore replaces all records by a backup's.
func (s *pastStore) restore(rs map[store.Key]store.Record, id string) {
	old := store.NewMemory()
	for _, r := range rs {
		old.Swap(context.Background(), []store.Write{{New: r}})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Memory, s.written, s.id = old, maps.Clone(rs), id
}

var pastNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func schemeOf(t *testing.T, spec string, keys ...*snowfence.Secret) *snowfence.Scheme {
	t.Helper()
	l := must(snowfence.ParseLayout(spec))
	return must(snowfence.NewScheme(l, keys...))
}

// past is a namespace that allows IDs for the past.
type past struct {
	t     *testing.T
	ctx   context.Context
	clock *pastWorld
	st    *pastStore
	s     *snowfence.Scheme
	made  map[snowfence.ID]time.Time
}

func newPast(t *testing.T, spec string, last int64) *past {
	t.Helper()
	p := newPastOf(t, schemeOf(t, spec))
	p.allow(last)
	return p
}

func (p *past) open(node int64) *backfill.Backfill {
	p.t.Helper()
	b, err := backfill.Open(p.ctx, p.st, "n", p.s, node)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// newAt makes one ID, which is 0 with an error.
func newAt(ctx context.Context, b *backfill.Backfill, at time.Time) (snowfence.ID, error) {
	var id [1]snowfence.ID
	err := fillAt(ctx, b, id[:], []time.Time{at})
	return id[0], err
}

// fillAt fills ids with one of each time. They stay as they are with an
// error.
func fillAt(ctx context.Context, b *backfill.Backfill, ids []snowfence.ID, times []time.Time) error {
	made, err := b.NewAt(ctx, times...)
	copy(ids, made)
	return err
}

// id makes one that was never made before.
func (p *past) id(b *backfill.Backfill, at time.Time) snowfence.ID {
	p.t.Helper()
	id, err := newAt(p.ctx, b, at)
	if err != nil {
		p.t.Fatalf("%v: %v", at, err)
	}
	p.new(id, at)
	return id
}

func (p *past) new(id snowfence.ID, at time.Time) {
	p.t.Helper()
	if before, twice := p.made[id]; twice {
		p.t.Fatalf("ID %d of %v came before, for %v", id, at, before)
	}
	p.made[id] = at
}

// refused expects an error that matches, with the words.
func (p *past) refused(b *backfill.Backfill, at time.Time, want error, words string) {
	p.t.Helper()
	id, err := newAt(p.ctx, b, at)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), words) || id != 0 {
		p.t.Errorf("%v: ID %d, %v; want %v with %q", at, id, err, want, words)
	}
}

func (p *past) namespace() scope.Namespace {
	p.t.Helper()
	ns, err := scope.Namespaces(p.st).Show(p.ctx, "n")
	if err != nil {
		p.t.Fatal(err)
	}
	return ns
}
