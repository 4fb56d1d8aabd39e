package simulate

import (
	"context"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

func keysOf(node int64) []store.Key { return []store.Key{{Namespace: namespace, Node: node}} }

// calmly runs f in the operator's process as if the store were at hand: nothing fails and
// no time passes. It is how a run begins and is put right at its end.
func (s *sim) calmly(f func(ctx context.Context, st store.Store) error) error {
	return f(world.With(context.Background(), s.operator), s.direct())
}

// direct is the store without a network.
func (s *sim) direct() link { return link{p: s.operator, near: true} }

// suspect gives the store another identity, for a process that says that it lost a write. It must
// have: once for each loss, also for late processes.
func (s *sim) suspect(p *process, identity string) {
	st := s.store
	if st.name() != identity {
		return
	}
	if !st.lost {
		s.violate("%s suspects a store that lost nothing since it had another identity", p.name)
	}
	st.become()
	s.figures.Suspected++
	s.trace("%s suspects the store, which is %s now", p.name, st.name())
}

// swap is a write that has reached the store.
func (s *sim) swap(p *process, w store.Write) error {
	veto := s.store.get([]store.Key{w.New.Key})[0].Veto
	err := s.store.swap(w)
	if err == nil && s.counters != nil {
		s.recorded(w.New)
	}
	if err == nil && veto != "" && w.New.Holder != "" {
		s.violate("%s leased node %d, which has a veto", p.name, w.New.Node)
	}
	if err == nil && w.New.Node == store.NamespaceNode {
		s.changed()
	}
	if err == nil && w.New.Holder != "" {
		s.wrote[w.New.Nonce] = s.raises()
	}
	if s.plan.Trace {
		s.trace("  store: %s writes %s node %d, from %d, until %d, holder %q, %q over %q: %v", p.name,
			w.New.Namespace, w.New.Node, w.New.From, w.New.Until, w.New.Holder, w.New.Nonce, w.Old, err)
	}
	return err
}

// namespace reads the namespace's record, which has no form of its own here.
func (s *sim) namespace() store.Record { return s.store.get(keysOf(store.NamespaceNode))[0] }

func (s *sim) create() error {
	return s.calmly(func(ctx context.Context, st store.Store) error {
		_, err := lease.Namespaces(st).Create(ctx, namespace, s.schemes[0], s.leasable())
		return err
	})
}

// command has the operator do something, over a network that fails as everybody's.
func (s *sim) command(f Fault, chance float64) {
	rs := s.store.nodes()
	if len(rs) == 0 {
		return
	}
	node := rs[int(chance*float64(len(rs)))].Node
	p := s.operator
	if !s.inject(f, p, node) {
		return
	}
	p.Go(func() {
		ctx, cancel := p.WithTimeout(world.With(context.Background(), p), 4*s.ttl)
		defer cancel()
		switch f {
		case faultRelease:
			_, _ = lease.Namespaces(link{p: p}).Release(ctx, namespace, node)
		case faultVeto:
			_, _ = lease.Namespaces(link{p: p}).Veto(ctx, namespace, node, "maintenance")
			p.sleep(2 * s.ttl)
			_, _ = lease.Namespaces(link{p: p}).Veto(ctx, namespace, node, "")
		case faultChange:
			s.walk()
		case faultDelete:
			for range 5 {
				_, _ = lease.Namespaces(link{p: p}).Delete(ctx, namespace)
				_, _ = lease.Namespaces(link{p: p}).Create(ctx, namespace, s.schemes[s.era], s.leasable())
			}
		case faultConfirm:
			s.confirm()
		}
	})
}

func (s *sim) leasable() *lease.NamespaceOptions {
	return &lease.NamespaceOptions{
		Nodes: snowfence.NodeRange{From: s.first, Until: s.last + 1}, MaxTTL: s.ttl, MaxSkew: s.skew,
		Unit: s.unit,
	}
}

// shown is the namespace as it stands in the store.
func (s *sim) shown() (lease.Namespace, error) {
	return lease.Namespaces(s.direct()).Show(context.Background(), namespace)
}

func (s *sim) namespaceState() string {
	ns, err := s.shown()
	if err != nil {
		return ""
	}
	return ns.State
}

// confirm moves the store with all its data while no program uses it, and says so; not where
// a backup was put in its place a moment ago, which no program has noticed yet.
func (s *sim) confirm() {
	if ns, err := s.shown(); err != nil || ns.Identity != s.store.name() {
		return
	}
	for _, p := range slices.Clone(s.procs) {
		s.kill(p)
	}
	s.store.identity++
	_ = s.calmly(func(ctx context.Context, st store.Store) error {
		_, err := lease.Namespaces(st).Confirm(ctx, namespace)
		return err
	})
}

// repair is an operator's work when everything is over: it lifts vetoes and ends half-done work.
func (s *sim) repair() {
	_ = s.calmly(func(ctx context.Context, st store.Store) error {
		for _, r := range s.store.nodes() {
			if r.Veto != "" {
				_, _ = lease.Namespaces(st).Veto(ctx, namespace, r.Node, "")
			}
		}
		ns, err := lease.Namespaces(st).Show(ctx, namespace)
		if err == nil && ns.State == lease.Changing {
			_, err = lease.Namespaces(st).Change(ctx, namespace, s.schemes[s.era], nil)
		}
		if err == nil && ns.State == lease.Deleted {
			_, err = lease.Namespaces(st).Create(ctx, namespace, s.schemes[s.era], s.leasable())
		}
		return err
	})
}
