package lease

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Tests on a stage take the steps of a lease one by one, without a keeper,
// over a store with chosen answers. The protocol itself is tested by
// scripts.

// scripted is a store in memory whose answers a test can change.
type scripted struct {
	*store.Memory
	id          string
	onGet       func(keys []store.Key) error
	onSwap      func(writes []store.Write, do func([]store.Write) []error) []error
	onNamespace func() // when it was read
	gets, swaps int
	asked       int // for the namespace
}

func (s *scripted) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if s.gets++; s.gets > 1000 {
		panic("the store was asked a thousand times") // a loop that has no end
	}
	if s.onGet != nil {
		if err := s.onGet(keys); err != nil {
			return nil, store.Reply{}, err
		}
	}
	rs, _, err := s.Memory.Get(ctx, keys)
	if keys[0].Node == store.NamespaceNode {
		s.asked++
		if s.onNamespace != nil {
			s.onNamespace()
		}
	}
	return rs, store.Reply{Identity: s.id}, err
}

func (s *scripted) Swap(
	_ context.Context, writes []store.Write, _ ...store.Key,
) ([]error, []store.Record, store.Reply) {
	s.swaps++
	do := func(ws []store.Write) []error {
		errs, _, _ := s.Memory.Swap(context.Background(), ws)
		return errs
	}
	if s.onSwap != nil {
		return s.onSwap(writes, do), nil, store.Reply{Identity: s.id}
	}
	return do(writes), nil, store.Reply{Identity: s.id}
}

// Suspect gives the stage's store another identity.
func (s *scripted) Suspect(_ context.Context, identity string) error {
	if s.id == identity {
		s.id += " and another"
	}
	return nil
}

var errSilent = errors.New("no answer")

// silent is the answer to writes that may be done or not.
func silent(n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = errSilent
	}
	return errs
}

// stage is a lease that holds node 5, at a time that stands still until it
// is moved.
type stage struct {
	*testing.T
	st  *scripted
	l   *Lease
	o   Options // of l
	now time.Time
}

// empty returns a stage whose lease holds nothing yet.
func empty(t *testing.T, spec string, keys ...*snowfence.Secret) *stage {
	t.Helper()
	layout := must(snowfence.ParseLayout(spec))
	s := must(snowfence.NewScheme(layout, keys...))
	g := &stage{T: t, st: &scripted{Memory: store.NewMemory(), id: "one"}, now: time.Date(2026, 1, 1, 0, 0, 0, 0,
		time.UTC)}
	node := int64(5)
	g.o = Options{
		Node: &node, Label: "stage", TTL: scope.DefaultTTL, MaxSkew: scope.DefaultTTL,
		Time: func() (time.Time, time.Duration) { return g.now, 0 },
	}
	n := must(g.o.settings(s).Normal(s))
	must(scope.Namespaces(g.st).Create(t.Context(), "n", s, nil))
	g.on(world.Real(), s, n)
	g.st.swaps = 0
	return g
}

// on puts a lease that holds nothing on a stage.
func (g *stage) on(w world.World, s *snowfence.Scheme, n claim.Settings) {
	t, r := g.o.setup(world.With(context.Background(), w), "n", s, n)
	g.l = newLease(t, claim.OverStore(t, g.st), r, g.o.idle())
}

// logTo has the lease log there.
func (g *stage) logTo(h slog.Handler) {
	g.l.setup.Logger = slog.New(h)
	g.l.reports.logger = g.l.setup.Logger
}

const withRollback = "time=41,rollback=2,node=8,seq=12,epoch=2025-01-01"

func holding(t *testing.T) *stage {
	t.Helper()
	g := empty(t, withRollback)
	g.must(g.do(g.l.claim.Next(t.Context())))
	return g
}

// do keeps what an operation of the claim was granted, or lost, as a keeper
// does.
func (g *stage) do(grant snowfence.Grant, err error) error {
	if err == nil {
		g.l.publish(grant)
	}
	return g.l.sealIfLost(err)
}

func (g *stage) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *stage) record(node int64) store.Record {
	g.Helper()
	rs, _, err := g.st.Memory.Get(g.Context(), []store.Key{{Namespace: "n", Node: node}})
	g.must(err)
	return rs[0]
}

// change writes a record by other means.
func (g *stage) change(node int64, f func(*store.Record)) {
	g.Helper()
	r := g.record(node)
	old := r.Nonce
	r.Nonce = old + "+"
	r.Revision++
	f(&r)
	must(store.Put(g.Context(), g.st.Memory, store.Write{Old: old, New: r}))
}

// tick returns the tick of a time.
func (g *stage) tick(later time.Duration) int64 {
	return g.l.setup.Ticks.Layout.TickOf(g.now.Add(later))
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says
