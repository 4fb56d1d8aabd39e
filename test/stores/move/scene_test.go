package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// ttl is the longest of all leases.
const ttl = time.Second

// everyNode is all records of a name.
var everyNode = snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}

// layout has so few IDs that two holders of one node and tick make the same
// ones.
const layout = "time=41,node=2,seq=3,first=1,epoch=1999-01-01,tick=1ms"

// scene is two stores, and programs that use either all the time: some name
// the one, some the other, and nobody tells them which is open.
type scene struct {
	t      *testing.T
	stores [2]store.Place
	scheme *snowfence.Scheme
	server switched

	patience time.Duration // with what has to come

	ctx    context.Context
	cancel context.CancelFunc
	groups [3]group // of programs: those of each store, and that of the server

	mu     sync.Mutex
	made   map[string]string   // what was made, and by whom
	counts [2]map[string]int   // of each kind, by the programs of each store
	why    [2]map[string]error // the last error of each kind
	ended  atomic.Int64        // leases that ended with ErrMoved
	times  []time.Time         // of IDs for the past
}

// theServer is the group of the program that names a server.
const theServer = 2

// group is programs that are stopped together.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// switched is a server that its operator starts again with another store.
type switched struct {
	now atomic.Pointer[wire.Server]
}

func (s *switched) to(v wire.Server) { s.now.Store(&v) }

func (s *switched) Acquire(ctx context.Context, namespace string, r wire.Request) (wire.Lease, error) {
	return (*s.now.Load()).Acquire(ctx, namespace, r)
}

func (s *switched) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	return (*s.now.Load()).Renew(ctx, t, attempt, earlier)
}

func (s *switched) Release(ctx context.Context, t wire.Ticket, used int64) error {
	return (*s.now.Load()).Release(ctx, t, used)
}

var silent = slog.New(slog.DiscardHandler)

func newScene(t *testing.T, from, to store.Store) *scene {
	t.Helper()
	s := &scene{
		t: t, stores: [2]store.Place{{Store: from, Name: "FROM"}, {Store: to, Name: "TO"}},
		made: map[string]string{}, patience: fleet.Patience(),
	}
	for i := range s.counts {
		s.counts[i], s.why[i] = map[string]int{}, map[string]error{}
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	var err error
	s.scheme, err = snowfence.NewScheme(snowfence.MustLayout(layout))
	must(t, err)
	op := scope.Namespaces(from)
	_, err = op.Create(t.Context(), "orders", s.scheme, &scope.NamespaceOptions{MaxTTL: ttl, MaxSkew: ttl})
	if err == nil {
		_, err = op.AllowBackfill(t.Context(), "orders", 0)
	}
	for name, d := range map[string]sequence.Definition{
		"fast": {MinRange: 5, MaxRange: 5}, "dense": {Mode: sequence.Dense, MinRange: 3, MaxRange: 3},
		"strict": {Mode: sequence.Strict}, "days": {Mode: sequence.Strict, Pattern: "{year}{month}{day}-{n}"},
	} {
		if err == nil {
			err = sequence.Create(t.Context(), from, name, d)
		}
	}
	must(t, err)
	s.times = []time.Time{time.Now().Add(-time.Hour), time.Now().Add(-2 * time.Hour)}
	s.server.to(lease.Serve(from, s.scheme, &lease.Options{Logger: silent}))
	return s
}

// begin starts the programs.
func (s *scene) begin() {
	for i := range s.groups {
		s.start(i)
	}
}

// start starts a group of programs.
func (s *scene) start(i int) {
	g := &s.groups[i]
	g.ctx, g.cancel = context.WithCancel(s.ctx)
	if i == theServer {
		g.program(s, 0, "IDs over a server", s.served)
		return
	}
	for range 2 {
		g.program(s, i, "IDs", s.leased)
	}
	g.program(s, i, "IDs for the past", s.past)
	for _, name := range []string{"fast", "dense", "strict"} {
		g.program(s, i, name, func(ctx context.Context, i int) error { return s.numbers(ctx, i, name) })
	}
	g.program(s, i, "days", s.days)
}

// stop ends a group of programs.
func (s *scene) stop(i int) {
	s.groups[i].cancel()
	s.groups[i].wg.Wait()
}

// program runs f again and again, as a supervisor does.
func (g *group) program(s *scene, i int, kind string, f func(ctx context.Context, i int) error) {
	g.wg.Go(func() {
		for g.ctx.Err() == nil {
			err := f(g.ctx, i)
			s.mu.Lock()
			s.why[i][kind] = err
			s.mu.Unlock()
			wait(g.ctx, 50*time.Millisecond)
		}
	})
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (s *scene) leased(ctx context.Context, i int) error {
	o := &lease.Options{Namespace: "orders", TTL: ttl, MaxSkew: ttl, Logger: silent}
	g, err := lease.Generator(ctx, s.stores[i], o)
	if err != nil {
		return err
	}
	defer g.Close()
	return s.make(ctx, i, "IDs", g)
}

func (s *scene) served(ctx context.Context, i int) error {
	o := &lease.Options{TTL: ttl, MaxSkew: ttl, Logger: silent}
	ls, err := lease.Keep(ctx, &s.server, "orders", s.scheme, 1, o)
	if err != nil {
		return err
	}
	g, err := ls[0].Generator(snowfence.Config{})
	if err != nil {
		return err
	}
	defer g.Close()
	return s.make(ctx, i, "IDs over a server", g)
}

// make uses up ticks, so that every overlap shows.
func (s *scene) make(ctx context.Context, i int, kind string, g *snowfence.Generator) error {
	for n := 0; ctx.Err() == nil; n++ {
		id, err := g.Next(ctx)
		if err != nil {
			if errors.Is(err, store.ErrMoved) && errors.Is(err, lease.ErrEnded) {
				s.ended.Add(1)
			}
			return err
		}
		s.note(i, kind, fmt.Sprint("ID ", id))
		if n%14 == 13 {
			wait(ctx, 5*time.Millisecond)
		}
	}
	return nil
}

func (s *scene) past(ctx context.Context, i int) error {
	b, err := backfill.Open(ctx, s.stores[i], "orders", s.scheme, 0)
	for err == nil && ctx.Err() == nil {
		var ids []snowfence.ID
		if ids, err = b.NewAt(ctx, s.times...); err == nil {
			for _, id := range ids {
				s.note(i, "IDs for the past", fmt.Sprint("ID ", id))
			}
			wait(ctx, 50*time.Millisecond)
		}
	}
	return err
}

func (s *scene) numbers(ctx context.Context, i int, name string) error {
	q, err := sequence.Open(ctx, s.stores[i], name, &sequence.Options{Logger: silent})
	if err != nil {
		return err
	}
	defer q.Close()
	return s.count(ctx, i, name, func() (string, error) {
		n, err := q.Next(ctx)
		return fmt.Sprint(name, " ", n), err
	})
}

func (s *scene) days(ctx context.Context, i int) error {
	q, err := sequence.OpenDated(ctx, s.stores[i], "days", &sequence.Options{Logger: silent})
	if err != nil {
		return err
	}
	defer q.Close()
	return s.count(ctx, i, "days", func() (string, error) {
		n, err := q.Next(ctx)
		return n.Text, err
	})
}

// count takes numbers, as texts, until ctx ends.
func (s *scene) count(ctx context.Context, i int, kind string, next func() (string, error)) error {
	for ctx.Err() == nil {
		text, err := next()
		if err != nil {
			return err
		}
		s.note(i, kind, text)
		wait(ctx, 10*time.Millisecond)
	}
	return nil
}

// note counts what a program made. It must be the first to make it.
func (s *scene) note(i int, kind, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := fmt.Sprintf("a program of %s (%s)", s.stores[i].Name, kind)
	if other, twice := s.made[what]; twice {
		s.t.Errorf("%s was made by %s, and by %s before", what, by, other)
		s.cancel()
	}
	s.made[what] = by
	s.counts[i][kind]++
}

// products are what programs of a store make.
var products = []string{"IDs", "IDs for the past", "fast", "dense", "strict", "days"}

// alive waits until the programs of a store make more of each kind.
func (s *scene) alive(i int, also ...string) {
	s.t.Helper()
	before := s.counted(i)
	for _, kind := range append(also, products...) {
		s.await(i, before, kind)
	}
}

func (s *scene) await(i int, before map[string]int, kind string) {
	s.t.Helper()
	for start := time.Now(); s.counted(i)[kind] < before[kind]+20; wait(s.ctx, 20*time.Millisecond) {
		if s.over(start) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("programs of %s make no %s: %v", s.stores[i].Name, kind, s.why[i][kind])
		}
	}
}

func (s *scene) counted(i int) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts[i])
}

// moveAll moves everything, as snowfence store move does.
func moveAll(ctx context.Context, from, to store.Place) error {
	heads, _, err := from.Heads(ctx)
	for _, r := range heads {
		if err == nil {
			err = moveOne(ctx, r.Namespace, from, to)
		}
	}
	return err
}

// moveOne moves a namespace, or a sequence with the name "#NAME".
func moveOne(ctx context.Context, name string, from, to store.Place) error {
	if name, ok := strings.CutPrefix(name, "#"); ok {
		return sequence.Move(ctx, name, from, to)
	}
	return scope.Move(ctx, name, from, to)
}

// oneOpen checks that no name is open in both stores.
func (s *scene) oneOpen() {
	s.t.Helper()
	open := map[string]int{}
	for _, p := range s.stores {
		heads, _, err := p.Heads(s.t.Context())
		must(s.t, err)
		for _, r := range heads {
			m, err := move.Of(r)
			must(s.t, err)
			if m.Err() == nil {
				open[r.Namespace]++
			}
		}
	}
	for name, n := range open {
		if n > 1 {
			s.t.Errorf("%s is open in both stores", name)
		}
	}
}

// restart is what the operator of the server does after a move.
func (s *scene) restart(i int) {
	s.server.to(lease.Serve(s.stores[i], s.scheme, &lease.Options{Logger: silent}))
}

// servedAlive waits until the program behind the server makes IDs again.
func (s *scene) servedAlive() {
	s.t.Helper()
	s.await(0, s.counted(0), "IDs over a server")
}

// gone waits until all programs that name a store have said that it was
// moved, and checks that they make nothing more.
func (s *scene) gone(i int) {
	s.t.Helper()
	for _, kind := range products {
		for start := time.Now(); ; wait(s.ctx, 20*time.Millisecond) {
			s.mu.Lock()
			err := s.why[i][kind]
			s.mu.Unlock()
			if errors.Is(err, store.ErrMoved) {
				break
			}
			if s.over(start) {
				s.t.Fatalf("programs of %s get %v of %s", s.stores[i].Name, err, kind)
			}
		}
	}
	wait(s.ctx, 2*ttl)
	before := s.counted(i)
	wait(s.ctx, ttl)
	for _, kind := range products {
		if n := s.counted(i)[kind] - before[kind]; n > 0 {
			s.t.Errorf("programs of %s made %d %s after the move", s.stores[i].Name, n, kind)
		}
	}
}

// over reports whether what was waited for since then does not come.
func (s *scene) over(start time.Time) bool {
	return s.ctx.Err() != nil || time.Since(start) > s.patience
}

func (s *scene) end() {
	s.cancel()
	for i := range s.groups {
		s.groups[i].wg.Wait()
	}
}
