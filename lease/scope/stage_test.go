package scope

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// scripted is a store in memory whose answers a test can change.
type scripted struct {
	*store.Memory
	id     string
	now    time.Time // of its clock; the zero time for none
	onGet  func(keys []store.Key) error
	onSwap func(writes []store.Write, do func([]store.Write) []error) []error

	listErr  error
	afterErr error // of reads after a list
	listed   bool

	gets, swaps int
}

func (s *scripted) reply() store.Reply { return store.Reply{Identity: s.id, Now: s.now} }

func (s *scripted) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	rs, _, err := s.Memory.Heads(ctx)
	return rs, s.reply(), errors.Join(s.listErr, err)
}

func (s *scripted) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	s.listed = true
	rs, _, err := s.Memory.List(ctx, namespace, nodes, limit)
	return rs, s.reply(), errors.Join(s.listErr, err)
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
	if s.listed && s.afterErr != nil {
		return nil, store.Reply{}, s.afterErr
	}
	rs, _, err := s.Memory.Get(ctx, keys)
	return rs, s.reply(), err
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
		return s.onSwap(writes, do), nil, s.reply()
	}
	return do(writes), nil, s.reply()
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

// stage is a namespace of a store, at a time that stands still until it is
// moved.
type stage struct {
	*testing.T
	st  *scripted
	s   *snowfence.Scheme
	now time.Time
}

// empty returns a stage with no record but the namespace's.
func empty(t *testing.T, spec string, keys ...*snowfence.Secret) *stage {
	t.Helper()
	layout := must(snowfence.ParseLayout(spec))
	s := must(snowfence.NewScheme(layout, keys...))
	g := &stage{T: t, st: &scripted{Memory: store.NewMemory(), id: "one"}, s: s, now: time.Date(2026, 1, 1, 0, 0, 0, 0,
		time.UTC)}
	must(Namespaces(g.st).Create(t.Context(), "n", s, nil))
	g.st.swaps = 0
	return g
}

const withRollback = "time=41,rollback=2,node=8,seq=12,epoch=2025-01-01"

// holding returns a stage on which node 5 has a holder.
func holding(t *testing.T) *stage {
	t.Helper()
	g := empty(t, withRollback)
	g.change(5, func(r *store.Record) {
		r.Holder, r.Label, r.Nonce, r.Generation, r.Revision = "x", "stage", "x", 1, 1
		r.From, r.Until = g.tick(-15*time.Second), g.tick(15*time.Second)
	})
	return g
}

// pace is a world with the time of a stage.
type pace struct {
	world.World
	g *stage
}

func (p pace) Now() time.Time { return p.g.now }

// Context is one of the stage's time.
func (g *stage) Context() context.Context { return world.With(g.T.Context(), pace{world.Real(), g}) }

func (g *stage) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// tick returns the tick of a time.
func (g *stage) tick(later time.Duration) int64 { return g.s.Layout().TickOf(g.now.Add(later)) }

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
	f(&r)
	must(store.Put(g.Context(), g.st.Memory, store.Write{Old: old, New: r}))
}

// rename writes the namespace by other means.
func (g *stage) rename(f func(*Namespace)) {
	g.Helper()
	ns := g.namespace()
	f(&ns)
	_, err := ns.write(g.Context(), g.st.Memory)
	g.must(err)
}

func (g *stage) namespace() Namespace {
	g.Helper()
	ns, err := Namespaces(g.st.Memory).Show(g.Context(), "n")
	g.must(err)
	return ns
}
