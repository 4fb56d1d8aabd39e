package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// NamespaceInfo is a namespace as people see it.
type NamespaceInfo struct {
	Name        string       `json:"name"`
	Layout      string       `json:"layout"`
	Fingerprint string       `json:"fingerprint"`
	First       int64        `json:"first_node"`
	Last        int64        `json:"last_node"`
	State       string       `json:"state"`
	Generation  int64        `json:"generation"`
	EndOfLife   time.Time    `json:"end_of_life"`
	Past        []PastLayout `json:"past,omitempty"` // oldest first
}

// PastLayout is a layout that a namespace had. It stamped ticks that began at From or later,
// and before Until.
type PastLayout struct {
	Layout string    `json:"layout"`
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
}

func describe(ns lease.Namespace) (NamespaceInfo, error) {
	l, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return NamespaceInfo{}, Errorf(Internal, "namespace %q: %w", ns.Name, err)
	}
	info := NamespaceInfo{
		Name: ns.Name, Layout: ns.Layout, Fingerprint: ns.Fingerprint, First: ns.First, Last: ns.Last,
		State: string(ns.State), Generation: ns.Generation, EndOfLife: l.EndOfLife(),
	}
	for _, r := range ns.History() {
		from, until := r.Times()
		info.Past = append(info.Past, PastLayout{r.Layout.String(), from, until})
	}
	return info, nil
}

// Namespaces lists those that a caller may see, deleted ones too.
func (s *Service) Namespaces(ctx context.Context, who *Identity) ([]NamespaceInfo, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	list, err := lease.ListNamespaces(ctx, s.store)
	if err != nil {
		return nil, err
	}
	out := []NamespaceInfo{}
	for _, ns := range list {
		if !who.Sees(ns.Name) {
			continue
		}
		info, err := describe(ns)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

// ShowNamespace returns one.
func (s *Service) ShowNamespace(ctx context.Context, name string) (NamespaceInfo, error) {
	if err := lease.CheckName(name); err != nil {
		return NamespaceInfo{}, err
	}
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	ns, err := lease.ShowNamespace(ctx, s.store, name)
	if err != nil {
		return NamespaceInfo{}, err
	}
	return describe(ns)
}

// NamespaceSpec is what a request says of a namespace. What it does not mention stays as it is;
// a new namespace has all nodes of the usual layout.
type NamespaceSpec struct {
	Layout      string // name or spec
	First, Last *int64 // nodes that can be leased
	Widen       bool   // also nodes that were left to numbers given by hand, which no process uses any more
	Unused      time.Time
}

// nodes returns the nodes that are asked for; the zero value where none are. have are
// those that can be leased, or nil, and all those of the layout.
func (w NamespaceSpec) nodes(have *lease.Namespace, all int64) (snowfence.NodeRange, error) {
	if w.First == nil && w.Last == nil {
		return snowfence.NodeRange{}, nil
	}
	r := snowfence.NodeRange{Until: all}
	if have != nil {
		r = snowfence.NodeRange{From: have.First, Until: have.Last + 1}
	}
	if w.First != nil {
		r.From = *w.First
	}
	if w.Last != nil {
		r.Until = *w.Last + 1
	}
	if r.From < 0 || r.Until <= r.From {
		return r, Errorf(Invalid, "nodes %d to %d: the first is 0 or more, and the last not below it",
			r.From, r.Until-1)
	}
	return r, nil
}

// CreateNamespace makes one, and reports whether it did: where there is one already, it is as asked
// for, or that is an error.
func (s *Service) CreateNamespace(
	ctx context.Context, name string, w NamespaceSpec,
) (info NamespaceInfo, made bool, err error) {
	if err := lease.CheckName(name); err != nil {
		return NamespaceInfo{}, false, err
	}
	have, err := s.findNamespace(ctx, name)
	if err != nil {
		return NamespaceInfo{}, false, err
	}
	if have != nil && w.Layout == "" {
		w.Layout = have.Layout
	}
	sc, err := s.scheme(name, w.Layout)
	if err != nil {
		return NamespaceInfo{}, false, err
	}
	nodes, err := w.nodes(have, sc.Nodes())
	if err != nil {
		return NamespaceInfo{}, false, err
	}
	ns, err := lease.CreateNamespace(ctx, s.store, name, sc, &lease.NamespaceOptions{Nodes: nodes})
	if err != nil {
		return NamespaceInfo{}, false, err
	}
	if made = have == nil || have.Generation != ns.Generation; made {
		s.namespaceEvent(ctx, name, "created with the layout "+ns.Layout)
	}
	info, err = describe(ns)
	return info, made, err
}

// findNamespace returns a namespace, deleted ones too; nil where there is none.
func (s *Service) findNamespace(ctx context.Context, name string) (*lease.Namespace, error) {
	ns, err := lease.ShowNamespace(ctx, s.store, name)
	if errors.Is(err, lease.ErrNoNamespace) {
		return nil, nil
	}
	return &ns, err
}

// ChangeNamespace gives one another layout or other nodes. It proves first that no ID of
// the new layout can equal one that was made. What is so already is no change.
func (s *Service) ChangeNamespace(ctx context.Context, name string, w NamespaceSpec) (NamespaceInfo, error) {
	if err := lease.CheckName(name); err != nil {
		return NamespaceInfo{}, err
	}
	have, err := lease.ShowNamespace(ctx, s.store, name)
	if err != nil {
		return NamespaceInfo{}, err
	}
	layout, err := snowfence.ParseLayout(have.Layout)
	if err != nil {
		return NamespaceInfo{}, Errorf(Internal, "namespace %q: %w", name, err)
	}
	c := lease.NamespaceChange{Widen: w.Widen, Unused: w.Unused}
	known, all := &have, int64(1)<<min(layout.Bits(snowfence.FieldNode), 62)
	if have.First == 0 && have.Last == all-1 {
		known = nil // all nodes, also of another layout
	}
	if w.Layout != "" {
		if c.Scheme, err = s.scheme(name, w.Layout); err != nil {
			return NamespaceInfo{}, err
		}
		all = c.Scheme.Nodes()
	}
	if c.Nodes, err = w.nodes(known, all); err != nil {
		return NamespaceInfo{}, err
	}
	ns, err := lease.ChangeNamespace(ctx, s.store, name, c)
	if err != nil {
		return NamespaceInfo{}, err
	}
	switch { // with other nodes, leases go on or find others by themselves
	case ns.Layout != have.Layout:
		s.reopen(name)
		s.namespaceEvent(ctx, name, "changed to the layout "+ns.Layout)
	case ns.First != have.First || ns.Last != have.Last:
		text := fmt.Sprintf("its nodes %d to %d can be leased now", ns.First, ns.Last)
		s.namespaceEvent(ctx, name, text)
	}
	return describe(ns)
}

// DeleteNamespace leaves a tombstone of one. It refuses while anybody but this server
// holds a lease, and without the name as confirmation. A program that acquires one in the
// same moment loses it before it is used.
func (s *Service) DeleteNamespace(ctx context.Context, name, confirm string) error {
	if confirm != name {
		return Errorf(Refused, "deleting namespace %q needs its name as confirmation", name)
	}
	s.mu.Lock()
	own := s.all[name]
	s.mu.Unlock()
	held, err := s.Leases(ctx, name, LeaseQuery{After: -1, Held: true})
	if err != nil {
		return err
	}
	for _, l := range held {
		if own == nil || !own.holdsNode(l.Node) {
			return Errorf(Refused, "namespace %q is in use: node %d is held by %q: stop the holders first",
				name, l.Node, l.Label)
		}
	}
	if _, err := lease.DeleteNamespace(ctx, s.store, name); err != nil {
		return err
	}
	s.reopen(name)
	s.namespaceEvent(ctx, name, "deleted")
	return nil
}

func (s *Service) namespaceEvent(ctx context.Context, name, text string) {
	s.Events.Add(Event{Kind: "namespace", Namespace: name, Actor: actorOf(ctx), Text: text})
}

// reopen makes the next request read a namespace anew.
func (s *Service) reopen(name string) {
	s.mu.Lock()
	sp := s.all[name]
	s.mu.Unlock()
	if sp != nil {
		s.forget(sp)
		// Its nodes belong to a generation that is over, so that this gives nothing back
		// and only ends its goroutines.
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := sp.close(ctx); err != nil {
				s.opts.Logger.Warn("closing a namespace that was changed", "namespace", name, "cause", err)
			}
		}()
	}
}

// scheme returns the scheme of a layout with the server's secrets for the namespace.
func (s *Service) scheme(name, layout string) (*snowfence.Scheme, error) {
	l, err := snowfence.Default(), error(nil)
	if layout != "" {
		l, err = snowfence.ParseLayout(layout)
	}
	if err != nil {
		return nil, err
	}
	var keys []*snowfence.Secret
	if l.Cipher != snowfence.Plain && s.opts.Keys != nil {
		if keys, err = s.opts.Keys(name); err != nil {
			return nil, err
		}
	}
	sc, err := snowfence.NewScheme(l, keys...)
	if errors.Is(err, snowfence.ErrKey) {
		return nil, Errorf(Refused, "layout %s is encrypted, and the server has no secrets for namespace %q: %w",
			layout, name, err)
	}
	return sc, err
}
