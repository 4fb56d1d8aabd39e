package server

import (
	"context"
	"errors"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// describe returns a namespace as callers see it.
func describe(ns scope.Namespace, err error) (*pb.Namespace, error) {
	if err != nil {
		return nil, err
	}
	out, err := view.Namespace(ns)
	if err != nil {
		err = NewError(Internal, err)
	}
	return out, err
}

// ListNamespaces lists the namespaces that the caller may see, deleted ones
// too.
func (s *Management) ListNamespaces(
	ctx context.Context, _ *pb.ListNamespacesRequest,
) (*pb.ListNamespacesResponse, error) {
	var list []scope.Namespace
	if err := s.core.reserveList(CallerOf(ctx), &s.lists.namespaces, func() (n int, err error) {
		list, err = scope.Namespaces(s.core.store).List(ctx)
		return len(list), err
	}); err != nil {
		return nil, err
	}
	out := &pb.ListNamespacesResponse{}
	for _, ns := range list {
		if !CallerOf(ctx).Sees(ns.Name) {
			continue
		}
		one, err := describe(ns, nil)
		if err != nil {
			return nil, err
		}
		out.Namespaces = append(out.Namespaces, one)
	}
	return out, nil
}

// ShowNamespace returns one, and its secrets to a caller with the right to
// lease nodes.
func (s *Management) ShowNamespace(ctx context.Context, m *pb.ShowNamespaceRequest) (*pb.Namespace, error) {
	out, err := describe(scope.Namespaces(s.core.store).Show(ctx, m.Name))
	if err != nil || !m.Secrets {
		return out, err
	}
	sp, err := s.spaces.Admit(ctx, CallerOf(ctx).Identity, VerbLease, m.Name, 0)
	if err == nil {
		out.Secrets, err = sp.Secrets()
	}
	return out, err
}

// wantedNodes returns the nodes that a request names; the zero value where
// it names none. have are the nodes that can be leased, or nil, and all are
// the layout's.
func wantedNodes(first, last *int64, have *scope.Namespace, all int64) (snowfence.NodeRange, error) {
	if first == nil && last == nil {
		return snowfence.NodeRange{}, nil
	}
	r := snowfence.NodeRange{Until: all}
	if have != nil {
		r = have.Nodes
	}
	if first != nil {
		r.From = *first
	}
	if last != nil {
		r.Until = *last + 1
	}
	if r.From < 0 || r.Until <= r.From {
		return r, Errorf(Invalid, "nodes %d to %d: the first node must be 0 or more, and the last at least the first",
			r.From, r.Until-1)
	}
	return r, nil
}

// CreateNamespace makes a namespace, and fails if a different one has the
// name.
func (s *Management) CreateNamespace(ctx context.Context, m *pb.CreateNamespaceRequest) (*pb.Namespace, error) {
	have, err := s.findNamespace(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	layout := m.Layout
	if have != nil && layout == "" {
		layout = have.Layout.String()
	}
	sc, err := s.schemeOf(m.Name, layout)
	if err != nil {
		return nil, err
	}
	nodes, err := wantedNodes(m.FirstNode, m.LastNode, have, sc.Nodes())
	if err != nil {
		return nil, err
	}
	ns, err := scope.Namespaces(s.core.store).Create(ctx, m.Name, sc, &scope.NamespaceOptions{
		Nodes: nodes, Unit: m.Unit, MaxTTL: m.MaxTtl.AsDuration(), MaxSkew: m.MaxSkew.AsDuration(),
	})
	if err == nil && (have == nil || have.Generation != ns.Generation) {
		CallerOf(ctx).Made = true
	}
	return describe(ns, err)
}

// findNamespace returns a namespace, deleted ones too; nil where there is
// none.
func (s *Management) findNamespace(ctx context.Context, name string) (*scope.Namespace, error) {
	ns, err := scope.Namespaces(s.core.store).Show(ctx, name)
	if errors.Is(err, lease.ErrNoNamespace) {
		return nil, nil
	}
	return &ns, err
}

// ChangeNamespace gives one another layout, other nodes or other limits. It
// proves first that no ID of the new layout can equal an existing one. What
// is so already is no change.
func (s *Management) ChangeNamespace(ctx context.Context, m *pb.ChangeNamespaceRequest) (*pb.Namespace, error) {
	name := m.Name
	have, err := scope.Namespaces(s.core.store).Show(ctx, name)
	if err != nil {
		return nil, err
	}
	layout := have.Layout
	o := &scope.NamespaceOptions{Unit: m.Unit, MaxTTL: m.MaxTtl.AsDuration(), MaxSkew: m.MaxSkew.AsDuration()}
	switch {
	case m.Unused != nil:
		o.Unused = m.Unused.AsTime()
	case m.Widen:
		o.Unused = s.core.now()
	}
	known, all := &have, int64(1)<<min(layout.Bits(snowfence.FieldNode), 62)
	if have.Nodes == (snowfence.NodeRange{Until: all}) {
		known = nil // all nodes, also of another layout
	}
	var to *snowfence.Scheme
	if m.Layout != "" {
		if to, err = s.schemeOf(name, m.Layout); err != nil {
			return nil, err
		}
		all = to.Nodes()
	}
	if o.Nodes, err = wantedNodes(m.FirstNode, m.LastNode, known, all); err != nil {
		return nil, err
	}
	ns, err := scope.Namespaces(s.core.store).Change(ctx, name, to, o)
	if err == nil && (!ns.Layout.Equal(have.Layout) || ns.Unit != have.Unit) {
		// with other nodes, leases find others by themselves
		s.spaces.readAnew(name)
	}
	return describe(ns, err)
}

// DeleteNamespace leaves a tombstone of one. It refuses while anybody but
// this server holds a lease, and without the name as confirmation. A
// program that acquires one in the same moment loses it before it is used.
func (s *Management) DeleteNamespace(
	ctx context.Context, m *pb.DeleteNamespaceRequest,
) (*pb.DeleteNamespaceResponse, error) {
	name := m.Name
	if m.Confirm != name {
		return nil, Errorf(Refused, "deleting namespace %q needs its name as confirmation", name)
	}
	own := (*s.spaces.ready.Load())[name]
	v, err := s.views.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, l := range v.Leases {
		if l.Held && (own == nil || !own.Own.holdsNode(l.Node)) {
			return nil, Errorf(Refused, "namespace %q is in use: node %d is held by %q: stop the holders first",
				name, l.Node, l.Label)
		}
	}
	if _, err := scope.Namespaces(s.core.store).Delete(ctx, name); err != nil {
		return nil, err
	}
	s.spaces.readAnew(name)
	return &pb.DeleteNamespaceResponse{}, nil
}

// schemeOf returns the scheme of a layout with the server's secrets for the
// namespace.
func (s *Management) schemeOf(name, layout string) (*snowfence.Scheme, error) {
	l, err := snowfence.Default(), error(nil)
	if layout != "" {
		l, err = snowfence.ParseLayout(layout)
	}
	if err != nil {
		return nil, err
	}
	return s.core.newScheme(name, l)
}
