package scope_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// matrix is a namespace in which everybody makes IDs between the steps of
// an operator.
type matrix struct {
	t     *testing.T
	r     *rand.Rand
	st    store.Store
	seen  map[snowfence.ID]string
	fresh []snowfence.ID // since the last look at the regions
	made  map[string]int // over all walks
	bases []*database
}

// database is one whose functions have a node.
type database struct {
	region scope.Region
	s      *snowfence.Scheme
	last   int64         // tick
	skew   time.Duration // of its clock
}

// Small layouts that have most of their numbers in common, so that a
// missing rule shows soon.
var matrixLayouts = []string{
	"time=41,node=3,seq=2,epoch=1999-01-01,tick=1s",
	"time=41,node=2,seq=3,epoch=1999-01-01,tick=1s",
	"time=41,node=3,seq=2,epoch=1999-01-01T00:00:20Z,tick=1s",
	"time=41,node=3,seq=2,epoch=1999-01-01,tick=1s,first=1",
	"time=41,node=3,seq=2,epoch=1999-01-01,tick=1s,first=2",
	"time=41,node=3,seq=2,epoch=1999-01-01,tick=1s,last=1",
	"time=41,node=3,seq=2,epoch=1999-01-01T00:00:20Z,tick=1s,last=1",
	"time=41,node=3,seq=2,epoch=1999-01-01T00:00:20Z,tick=1s,first=2",
	"time=42,node=3,seq=2,epoch=1999-01-01,tick=1s,first=2",
	"time=41,node=4,seq=1,epoch=1998-01-01,tick=1s",
	"tag=1,time=40,node=3,seq=2,epoch=1999-01-01,tick=1s,first=1",
	"scatter=1,time=40,tag=1,node=3,seq=1,epoch=1999-01-01,tick=1s",
	"node=3,time=41,seq=2,epoch=1999-01-01,tick=1s,first=1",
}

// tagOf is the tag of new IDs of a layout: one for all, so that two which
// differ in nothing else would be one.
func tagOf(s *snowfence.Scheme) int64 { return 1<<s.Layout().Bits(snowfence.FieldTag) - 1 }

// add judges an ID: it is new.
func (m *matrix) add(who string, id snowfence.ID) {
	m.t.Helper()
	if other, ok := m.seen[id]; ok {
		m.t.Fatalf("%d was made by %s and by %s", id, other, who)
	}
	m.seen[id] = who
	m.made[who]++
	m.fresh = append(m.fresh, id)
}

// inside checks that each ID is in a region of those who made it.
func (m *matrix) inside() {
	m.t.Helper()
	ns, _ := m.namespace()
	left := m.fresh
	m.fresh = nil
	for _, r := range ns.Regions {
		s := newScheme(m.t, r.Layout.String())
		left = slices.DeleteFunc(left, func(id snowfence.ID) bool {
			p, err := s.Decode(id)
			return err == nil && r.Owner == m.seen[id] && p.Tick >= r.From && p.Tick < r.Until &&
				p.Sequence >= r.First && p.Sequence <= r.Last && p.Node >= r.Nodes.From && p.Node < r.Nodes.Until
		})
	}
	for _, id := range left {
		m.t.Fatalf("%d, made by %s, is in no region of theirs: %+v", id, m.seen[id], ns.Regions)
	}
}

func (m *matrix) namespace() (scope.Namespace, *snowfence.Scheme) {
	m.t.Helper()
	ns := must(scope.Namespaces(m.st).Show(m.t.Context(), "default"))
	return ns, newScheme(m.t, ns.Layout.String())
}

// expect accepts what operators are told, and nothing else.
func (m *matrix) expect(err error) bool {
	m.t.Helper()
	for _, known := range []error{
		lease.ErrRefused, lease.ErrInvalid, lease.ErrVetoed, lease.ErrNoNamespace, lease.ErrExists, backfill.ErrFull,
		backfill.ErrRolledBack, lease.ErrTaken, snowfence.ErrExhausted, snowfence.ErrFenced,
	} {
		if errors.Is(err, known) {
			return false
		}
	}
	if err != nil && !errors.Is(err, lease.ErrMismatch) {
		m.t.Fatal(err)
	}
	return err == nil
}

// everybody makes IDs, as far ahead of their clocks as they may.
func (m *matrix) everybody() {
	for _, b := range m.bases {
		m.database(b)
	}
	_, s := m.namespace()
	for node := range s.Nodes() {
		switch m.r.IntN(8) {
		case 0:
			m.lease(s, node)
		case 1, 2:
			m.backfill(s, node)
		}
	}
	m.others(s)
	m.others(s)
	m.inside()
	time.Sleep(time.Duration(m.r.IntN(20_000)) * time.Millisecond)
}

func (m *matrix) database(b *database) {
	l := b.s.Layout()
	top := l.TickOf(time.Now().Add(b.skew).Add(b.region.Functions.Lead))
	for range 8 {
		tick := max(b.last+1, top-m.r.Int64N(20))
		if tick > top {
			continue
		}
		b.last = tick
		for seq := l.First; seq <= l.Last; seq++ {
			m.compose("functions", b.s, tick, b.region.Nodes.From, seq)
		}
	}
}

func (m *matrix) compose(who string, s *snowfence.Scheme, tick, node, seq int64) {
	m.t.Helper()
	id := must(s.Compose(m.parts(s, tick, node, seq)))
	m.add(who, id)
}

// parts have a scatter value that the tick decides.
func (m *matrix) parts(s *snowfence.Scheme, tick, node, seq int64) snowfence.Parts {
	return snowfence.Parts{
		Tick: tick, Node: node, Sequence: seq, Tag: tagOf(s),
		Scatter: tick & (1<<s.Layout().Bits(snowfence.FieldScatter) - 1),
	}
}

func (m *matrix) lease(s *snowfence.Scheme, node int64) {
	o := &lease.Options{TTL: 10 * time.Second, MaxSkew: time.Second, Node: &node}
	c := snowfence.Config{MaxWait: time.Minute, Lead: 3}
	g, err := generator(m.t.Context(), m.st, "default", s, c, o)
	if !m.expect(err) {
		return
	}
	for range 8 {
		id, err := g.Next(m.t.Context())
		if !m.expect(err) {
			break
		}
		if tag := tagOf(s); tag > 0 {
			id = must(s.Tag(id, tag))
		}
		m.add(scope.OwnerLeases, id)
	}
	if err := g.Close(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *matrix) backfill(s *snowfence.Scheme, node int64) {
	b, err := backfill.Open(m.t.Context(), m.st, "default", s, node)
	if !m.expect(err) {
		return
	}
	for range 4 {
		ids, err := b.NewAt(m.t.Context(), time.Now().Add(-time.Duration(m.r.IntN(40))*time.Second))
		if m.expect(err) {
			m.add("backfill", ids[0])
		}
	}
}

// others make IDs with reserved numbers but 0, where that was noted: it may
// be for the past.
func (m *matrix) others(s *snowfence.Scheme) {
	ns, _ := m.namespace()
	if !ns.Others {
		return
	}
	l := s.Layout()
	tick := max(ns.Start, l.TickOf(time.Now())-m.r.Int64N(10))
	for seq := int64(1); seq < l.First && tick <= l.TickOf(time.Now()); seq++ {
		if id, _ := s.Compose(m.parts(s, tick, 3, seq)); m.seen[id] == "others" {
			return
		}
		m.compose("others", s, tick, 3, seq)
	}
}

// apart checks that no two regions meet.
func (m *matrix) apart() {
	m.t.Helper()
	ns, _ := m.namespace()
	for i, r := range ns.Regions {
		for _, q := range ns.Regions[:i] {
			if x, err := snowfence.Meet(q.Region, r.Region); x != nil || err != nil {
				m.t.Fatalf("regions meet: %+v and %+v: %+v, %v", q, r, x, err)
			}
		}
	}
}

// steps are what operators do, each with nodes and layouts of its own
// choice.
var steps = map[string]func(m *matrix, nodes snowfence.NodeRange) error{
	"functions": func(m *matrix, nodes snowfence.NodeRange) error {
		return m.print(nodes.From, false)
	},
	"again": func(m *matrix, _ snowfence.NodeRange) error {
		if len(m.bases) == 0 {
			return lease.ErrRefused
		}
		return m.print(m.bases[m.r.IntN(len(m.bases))].region.Nodes.From, true)
	},
	"retire": func(m *matrix, _ snowfence.NodeRange) error {
		if len(m.bases) == 0 {
			return lease.ErrRefused
		}
		b := m.bases[0]
		m.bases = m.bases[1:]
		_, err := scope.Namespaces(m.st).RetireFunctions(m.t.Context(), "default", b.region.Nodes.From)
		return err
	},
	"nodes": func(m *matrix, nodes snowfence.NodeRange) error {
		o := &scope.NamespaceOptions{Nodes: nodes, Unused: time.Now()}
		_, err := scope.Namespaces(m.st).Change(m.t.Context(), "default", nil, o)
		return err
	},
	"layout": func(m *matrix, nodes snowfence.NodeRange) error {
		s := newScheme(m.t, matrixLayouts[m.r.IntN(len(matrixLayouts))])
		o := &scope.NamespaceOptions{Nodes: nodes, Unused: time.Now()}
		_, err := scope.Namespaces(m.st).Change(m.t.Context(), "default", s, o)
		return err
	},
	"delete": func(m *matrix, nodes snowfence.NodeRange) error {
		_, s := m.namespace()
		if _, err := scope.Namespaces(m.st).Delete(m.t.Context(), "default"); err != nil {
			return err
		}
		_, err := scope.Namespaces(m.st).Create(m.t.Context(), "default", s, &scope.NamespaceOptions{Nodes: nodes})
		if m.expect(err) {
			return nil
		}
		_, err = scope.Namespaces(m.st).Create(m.t.Context(), "default", s, nil)
		return err
	},
	"veto": func(m *matrix, nodes snowfence.NodeRange) error {
		_, s := m.namespace()
		_, err := scope.Namespaces(m.st).Veto(m.t.Context(), "default", nodes.From%s.Nodes(), "")
		return err
	},
	"past": func(m *matrix, _ snowfence.NodeRange) error {
		_, err := scope.Namespaces(m.st).AllowBackfill(m.t.Context(), "default", 4*m.r.Int64N(2))
		return err
	},
	"others": func(m *matrix, _ snowfence.NodeRange) error {
		_, err := scope.Namespaces(m.st).NoteOthers(m.t.Context(), "default")
		return err
	},
}

// print records a node for a database. One that has it already may be a new
// one, in place of one that is gone.
func (m *matrix) print(node int64, again bool) error {
	f := scope.Functions{Dialect: "postgres", Label: "db", Lead: 5 * time.Second}
	region, after, err := scope.Namespaces(m.st).RecordFunctions(m.t.Context(), "default", node, f, again)
	if err != nil {
		return err
	}
	b := &database{region, newScheme(m.t, region.Layout.String()), after, time.Duration(m.r.IntN(58)-29) * time.Second}
	if !again {
		m.bases = append(m.bases, b)
		return nil
	}
	for i, old := range m.bases {
		if old.region.Nodes.From == node && m.r.IntN(2) == 0 {
			m.bases[i] = b
		}
	}
	return nil
}

// before are steps before the three, so that these find features in use.
var before = [][]string{
	nil,
	{"functions", "layout", "functions"},
	{"past", "layout"},
	{"others", "layout"},
	{"functions", "past", "layout", "layout"},
}

// TestMatrixOfFeatures takes every order of three steps five times, in the
// short form of two, and lets everybody make IDs before and after each. No
// ID comes twice, whatever the operators ask for, and each is in a region.
func TestMatrixOfFeatures(t *testing.T) {
	names := slices.Sorted(maps.Keys(steps))
	made, done := map[string]int{}, map[string]int{}
	rounds, long := 5*len(names), 3
	if testing.Short() {
		rounds, long = 1, 2
	}
	for n := range rounds * len(names) * len(names) {
		r := rand.New(rand.NewPCG(uint64(n), 14))
		walk := slices.Clone(before[r.IntN(len(before))])
		for k, left := 0, n; k < long; k, left = k+1, left/len(names) {
			walk = append(walk, names[left%len(names)])
		}
		synctest.Test(t, func(t *testing.T) {
			m := &matrix{t: t, r: r, st: store.NewMemory(), seen: map[snowfence.ID]string{}, made: made}
			s := newScheme(t, matrixLayouts[m.r.IntN(len(matrixLayouts))])
			o := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 3}}
			must(scope.Namespaces(m.st).Create(t.Context(), "default", s, o))
			for _, name := range walk {
				m.everybody()
				from := m.r.Int64N(8)
				nodes := snowfence.NodeRange{From: from, Until: from + 1 + m.r.Int64N(8-from)}
				if m.expect(steps[name](m, nodes)) {
					done[name]++
				}
			}
			m.apart()
			m.everybody()
			m.everybody()
		})
		if t.Failed() {
			t.Fatalf("walk %d: %v", n, walk)
		}
	}
	for _, name := range names {
		if done[name] < 3 {
			t.Errorf("%s was done %d times", name, done[name])
		}
	}
	for _, who := range []string{scope.OwnerLeases, "functions", "backfill", "others"} {
		if made[who] < 10 {
			t.Errorf("%s made %d IDs", who, made[who])
		}
	}
	t.Log(made, done)
}
