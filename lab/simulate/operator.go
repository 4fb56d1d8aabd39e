package simulate

import (
	"context"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

func keysOf(node int64) []store.Key { return []store.Key{{Namespace: namespace, Node: node}} }

// runCalmly runs f in the operator's process: nothing fails and no time
// passes. A run begins so, and is repaired so at its end.
func (s *sim) runCalmly(f func(ctx context.Context, st store.Store) error) error {
	return f(world.With(context.Background(), s.operator), s.directLink())
}

// directLink is the store without a network.
func (s *sim) directLink() link { return link{p: s.operator, near: true} }

// changeIdentity gives the store another identity, for a process that says
// that it lost a write. It must have: once for each loss, also for late
// processes. A guest that cannot raise the floor may tell it again.
func (s *sim) changeIdentity(p *process, identity string) {
	st := s.store
	if st.name() != identity {
		return
	}
	if !st.hasLost && p.era == s.era && s.namespaceState() == scope.Active {
		s.violate("%s suspects a store that lost nothing since it had another identity", p.name)
	}
	st.changeIdentity()
	s.figures.Suspected++
	s.traceLine("%s suspects the store, which is %s now", p.name, st.name())
}

// carryWrite is a write that has reached the store.
func (s *sim) carryWrite(p *process, w store.Write) error {
	old := s.store.get([]store.Key{w.New.Key})[0]
	err := s.store.swap(w)
	if err == nil && s.counters != nil {
		s.noteSwap(old, w.New)
	}
	if err == nil && old.Veto != "" && w.New.Holder != "" {
		s.violate("%s leased node %d, which has a veto", p.name, w.New.Node)
	}
	if err == nil && w.New.Node == store.NamespaceNode {
		s.noteChange()
	}
	if err == nil && w.New.Holder != "" {
		s.wrote[w.New.Nonce] = s.countRaises()
	}
	if s.plan.Trace {
		s.traceLine("  store: %s writes %s node %d, from %d, until %d, holder %q, %q over %q: %v", p.name,
			w.New.Namespace, w.New.Node, w.New.From, w.New.Until, w.New.Holder, w.New.Nonce, w.Old, err)
	}
	return err
}

// readNamespace reads the namespace's record, which has no form of its own
// here.
func (s *sim) readNamespace() store.Record { return s.store.get(keysOf(store.NamespaceNode))[0] }

func (s *sim) createNamespace() error {
	return s.runCalmly(func(ctx context.Context, st store.Store) error {
		_, err := scope.Namespaces(st).Create(ctx, namespace, s.schemes[0], s.leasableNodes())
		return err
	})
}

// operate has the operator do something, over a network that fails as
// everybody's.
func (s *sim) operate(f Fault, chance float64) {
	rs := s.store.nodeRecords()
	if len(rs) == 0 {
		return
	}
	node := rs[int(chance*float64(len(rs)))].Node
	p := s.operator
	s.noteFault(f, p, node)
	p.Go(func() {
		ctx, cancel := p.WithTimeout(world.With(context.Background(), p), 4*s.ttl)
		defer cancel()
		switch f {
		case faultRelease:
			_, _ = scope.Namespaces(link{p: p}).Release(ctx, namespace, node)
		case faultVeto:
			_, _ = scope.Namespaces(link{p: p}).Veto(ctx, namespace, node, "maintenance")
			p.sleepFor(2 * s.ttl)
			_, _ = scope.Namespaces(link{p: p}).Veto(ctx, namespace, node, "")
		case faultChange:
			s.changeInChains()
		case faultDelete:
			for range 5 {
				_, _ = scope.Namespaces(link{p: p}).Delete(ctx, namespace)
				_, _ = scope.Namespaces(link{p: p}).Create(ctx, namespace, s.schemes[s.era], s.leasableNodes())
			}
		case faultConfirm:
			s.confirmMove()
		}
	})
}

func (s *sim) leasableNodes() *scope.NamespaceOptions {
	return &scope.NamespaceOptions{
		Nodes: snowfence.NodeRange{From: s.first, Until: s.last + 1}, MaxTTL: s.ttl, MaxSkew: s.skew, Unit: s.unit,
	}
}

// showNamespace is the namespace as it stands in the store.
func (s *sim) showNamespace() (scope.Namespace, error) {
	return scope.Namespaces(s.directLink()).Show(context.Background(), namespace)
}

func (s *sim) namespaceState() string {
	ns, err := s.showNamespace()
	if err != nil {
		return ""
	}
	return ns.State
}

// confirmMove moves the store with all its data while no program uses it,
// and confirms that. It does not if a backup was put back and no program
// has noticed yet.
func (s *sim) confirmMove() {
	if ns, err := s.showNamespace(); err != nil || ns.Identity != s.store.name() {
		return
	}
	for _, p := range slices.Clone(s.procs) {
		s.killProcess(p)
	}
	s.store.identity++
	_ = s.runCalmly(func(ctx context.Context, st store.Store) error {
		_, err := scope.Namespaces(st).Confirm(ctx, namespace)
		return err
	})
}

// repairNamespace is an operator's work when everything is over: it lifts
// vetoes and ends half-done work.
func (s *sim) repairNamespace() {
	_ = s.runCalmly(func(ctx context.Context, st store.Store) error {
		for _, r := range s.store.nodeRecords() {
			if r.Veto != "" {
				_, _ = scope.Namespaces(st).Veto(ctx, namespace, r.Node, "")
			}
		}
		ns, err := scope.Namespaces(st).Show(ctx, namespace)
		if err == nil && ns.State == scope.Changing {
			_, err = scope.Namespaces(st).Change(ctx, namespace, s.schemes[s.era], nil)
		}
		if err == nil && ns.State == scope.Deleted {
			_, err = scope.Namespaces(st).Create(ctx, namespace, s.schemes[s.era], s.leasableNodes())
		}
		return err
	})
}
