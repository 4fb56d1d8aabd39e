package claim

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// stage is a scene with one claim of node 5, which tests look into.
type stage struct {
	*play
	c *storeClaim
}

// empty returns a stage whose claim holds nothing yet.
func empty(t *testing.T, layout string) *stage {
	t.Helper()
	p := newPlay(t, layout)
	p.enter(false, "stage", []string{"node=5"})
	g := &stage{p, p.players["stage"].Claim.(*storeClaim)}
	g.must(g.c.register(t.Context()))
	return g
}

func holding(t *testing.T) *stage {
	t.Helper()
	g := empty(t, playLayout)
	g.must(second(g.c.acquire(t.Context(), false)))
	return g
}

func second[A any](_ A, err error) error { return err }

func (g *stage) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// change writes a record by other means.
func (g *stage) change(k store.Key, f func(*store.Record)) {
	r := g.record(k)
	r.Nonce += "+"
	f(&r)
	g.replace(r)
}

// rename writes the namespace by other means.
func (g *stage) rename(f func(*scope.Namespace)) {
	g.Helper()
	g.change(g.key("namespace"), func(r *store.Record) { changeNamespace(g.T, r, f) })
}

// tick returns the tick of a time.
func (g *stage) tick(later time.Duration) int64 { return g.c.Ticks.Layout.TickOf(g.now.Add(later)) }

func (g *stage) namespace() scope.Namespace {
	g.Helper()
	ns, err := scope.Namespaces(g.Memory).Show(g.Context(), "n")
	g.must(err)
	return ns
}

// changeNamespace changes the namespace in its record by other means.
func changeNamespace(t *testing.T, r *store.Record, f func(*scope.Namespace)) {
	t.Helper()
	ns := must(scope.ReadNamespace(nil, *r))
	f(&ns)
	r.Revision, r.Generation, r.Until = r.Revision+1, ns.Generation, ns.Floor
	changeData(t, r, ns)
}

// changeData changes fields in the JSON of a record.
func changeData(t *testing.T, r *store.Record, fields any) {
	t.Helper()
	data := map[string]json.RawMessage{}
	changed, err := json.Marshal(fields)
	err = errors.Join(err, json.Unmarshal([]byte(r.Data), &data), json.Unmarshal(changed, &data))
	all, wrong := json.Marshal(data)
	noError(t, errors.Join(err, wrong))
	r.Data = string(all)
}
