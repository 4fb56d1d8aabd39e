package lease_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// sqlWalk is a namespace in which functions in databases, leases and operators take turns.
type sqlWalk struct {
	t     *testing.T
	r     *rand.Rand
	st    lease.Store
	seen  map[snowfence.ID]string
	made  map[string]int
	bases []*sqlBase
}

// sqlBase is a database whose functions have a node.
type sqlBase struct {
	node lease.SQLNode
	s    *snowfence.Scheme
	last int64         // tick
	skew time.Duration // of its clock
}

// Small layouts that have most of their numbers in common, so that a missing rule shows soon.
var sqlLayouts = []string{
	"time=41,node=3,seq=2,epoch=1999-01-01,tick=1ms",
	"time=41,node=2,seq=3,epoch=1999-01-01,tick=1ms",
	"time=41,node=3,seq=2,epoch=1999-01-01T00:00:20Z,tick=1ms",
	"time=41,node=3,seq=2,epoch=1999-01-01,tick=1ms,first=1",
	"time=42,node=3,seq=2,epoch=1999-01-01,tick=1ms,first=2",
	"time=41,node=4,seq=1,epoch=1998-01-01,tick=1ms",
}

func (w *sqlWalk) add(who string, id snowfence.ID) {
	w.t.Helper()
	if other, ok := w.seen[id]; ok {
		w.t.Fatalf("%d was made by %s and by %s", id, other, who)
	}
	w.seen[id] = who
	w.made[who]++
}

// namespace returns the namespace and its scheme.
func (w *sqlWalk) namespace() (lease.Namespace, *snowfence.Scheme) {
	w.t.Helper()
	ns, err := lease.ShowNamespace(w.t.Context(), w.st, "default")
	if err != nil {
		w.t.Fatal(err)
	}
	return ns, newScheme(w.t, ns.Layout)
}

// expect accepts what operators are told, and nothing else.
func (w *sqlWalk) expect(err error) bool {
	w.t.Helper()
	for _, known := range []error{
		lease.ErrRefused, lease.ErrInvalid, lease.ErrVetoed, lease.ErrNoNamespace, lease.ErrExists, lease.ErrFull,
		lease.ErrRolledBack, snowfence.ErrExhausted, snowfence.ErrFenced,
	} {
		if errors.Is(err, known) {
			return false
		}
	}
	if err != nil && !errors.As(err, new(*lease.HeldError)) && !errors.As(err, new(*lease.TakenError)) &&
		!errors.As(err, new(*lease.MismatchError)) {
		w.t.Fatal(err)
	}
	return err == nil
}

// print records a node for a database, again for one that has it.
func (w *sqlWalk) print() {
	n := lease.SQLNode{Node: w.r.Int64N(8), Dialect: "postgres", Label: "db", Lead: 5 * time.Second}
	if len(w.bases) > 0 && w.r.IntN(3) == 0 {
		b := w.bases[w.r.IntN(len(w.bases))]
		n.Node = b.node.Node
		node, after, err := lease.RecordSQL(w.t.Context(), w.st, "default", n, true)
		if w.expect(err) && w.r.IntN(2) == 0 { // into an empty database, in place of one that is gone
			b.node, b.last = node, after
		}
		return
	}
	node, after, err := lease.RecordSQL(w.t.Context(), w.st, "default", n, false)
	if w.expect(err) {
		skew := time.Duration(w.r.IntN(58)-29) * time.Second
		w.bases = append(w.bases, &sqlBase{node, newScheme(w.t, node.Layout), after, skew})
	}
}

// ids makes IDs in a database, as far ahead of its clock as they may be.
func (w *sqlWalk) ids() {
	for _, b := range w.bases {
		l := b.s.Layout()
		top := l.TickOf(time.Now().Add(b.skew).Add(b.node.Lead))
		for range 4 {
			tick := max(b.last+1, top-w.r.Int64N(10_000))
			if tick > top {
				continue
			}
			b.last = tick
			for seq := l.First; seq <= l.Last; seq++ {
				id, err := b.s.Compose(snowfence.Parts{Tick: tick, Node: b.node.Node, Sequence: seq})
				if err != nil {
					w.t.Fatal(err)
				}
				w.add("functions", id)
			}
		}
	}
}

// drop drops functions, and retires their node.
func (w *sqlWalk) drop() {
	if len(w.bases) == 0 {
		return
	}
	i := w.r.IntN(len(w.bases))
	b := w.bases[i]
	w.bases[i] = w.bases[len(w.bases)-1]
	w.bases = w.bases[:len(w.bases)-1]
	if _, err := lease.RetireSQL(w.t.Context(), w.st, "default", b.node.Node); err != nil {
		w.t.Fatal(err)
	}
}

// lease makes IDs of a node of its own choice, or of any free one.
func (w *sqlWalk) lease() {
	_, s := w.namespace()
	o := &lease.Options{TTL: 2 * time.Second, MaxSkew: time.Second}
	if w.r.IntN(3) > 0 {
		node := w.r.Int64N(min(s.Nodes(), 8))
		o.Node = &node
	}
	g, err := lease.Generator(w.t.Context(), w.st, "default", s, snowfence.Config{MaxWait: time.Minute, Lead: 500}, o)
	if !w.expect(err) {
		return
	}
	for range 8 {
		id, err := g.Next(w.t.Context())
		if !w.expect(err) {
			break
		}
		w.add("a lease", id)
	}
	if err := g.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// past makes an ID with a reserved number.
func (w *sqlWalk) past() {
	_, s := w.namespace()
	b, err := lease.Past(w.t.Context(), w.st, "default", s, w.r.Int64N(8))
	if !w.expect(err) {
		return
	}
	id, err := b.NewAt(w.t.Context(), time.Now().Add(-time.Duration(w.r.IntN(60_000))*time.Millisecond))
	if w.expect(err) {
		w.add("the past", id)
	}
}

// operate changes the namespace.
func (w *sqlWalk) operate() {
	ctx, from := w.t.Context(), w.r.Int64N(8)
	nodes := snowfence.NodeRange{From: from, Until: from + 1 + w.r.Int64N(8-from)}
	var err error
	switch w.r.IntN(8) {
	case 0:
		_, err = lease.WidenNamespace(ctx, w.st, "default", nodes, time.Time{})
	case 1:
		_, err = lease.ChangeNamespace(ctx, w.st, "default", lease.NamespaceChange{Nodes: nodes, Widen: true})
	case 2:
		_, s := w.namespace()
		if _, err = lease.DeleteNamespace(ctx, w.st, "default"); err == nil {
			_, err = lease.CreateNamespace(ctx, w.st, "default", s, &lease.NamespaceOptions{Nodes: nodes})
			if !w.expect(err) {
				_, err = lease.CreateNamespace(ctx, w.st, "default", s, nil)
			}
		}
	case 3:
		_, s := w.namespace()
		lift(w.t, w.st, from%s.Nodes())
	case 4:
		_, err = lease.AllowPast(ctx, w.st, "default", 0, true)
	default:
		s := newScheme(w.t, sqlLayouts[w.r.IntN(len(sqlLayouts))])
		c := lease.NamespaceChange{Scheme: s, Nodes: nodes, Widen: true}
		_, err = lease.ChangeNamespace(ctx, w.st, "default", c)
	}
	w.expect(err)
}

// TestSQLNodesWalk lets functions in databases, leases, IDs for the past and operators take turns.
// No ID comes twice, whatever the operators ask for.
func TestSQLNodesWalk(t *testing.T) {
	made := map[string]int{}
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			w := &sqlWalk{
				t: t, r: rand.New(rand.NewPCG(seed, 14)), st: lease.NewMemory(), seen: map[snowfence.ID]string{},
				made: made,
			}
			s := newScheme(t, sqlLayouts[w.r.IntN(len(sqlLayouts))])
			o := &lease.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 4}}
			if _, err := lease.CreateNamespace(t.Context(), w.st, "default", s, o); err != nil {
				t.Fatal(err)
			}
			for range 120 {
				switch w.r.IntN(8) {
				case 0:
					w.print()
				case 1:
					if w.r.IntN(3) == 0 {
						w.drop()
					}
				case 2, 3:
					w.ids()
				case 4, 5:
					w.lease()
				case 6:
					w.past()
				default:
					w.operate()
				}
				time.Sleep(time.Duration(w.r.IntN(3000)) * time.Millisecond)
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
	for _, who := range []string{"functions", "a lease", "the past"} {
		if made[who] < 50 {
			t.Errorf("%s made %d IDs", who, made[who])
		}
	}
	t.Log(made)
}
