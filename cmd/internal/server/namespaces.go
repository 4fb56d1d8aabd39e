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
	Name        string    `json:"name"`
	Layout      string    `json:"layout"`
	Fingerprint string    `json:"fingerprint"`
	First       int64     `json:"first_node"`
	Last        int64     `json:"last_node"`
	State       string    `json:"state"`
	Generation  int64     `json:"generation"`
	EndOfLife   time.Time `json:"end_of_life"`
}

func describe(ns lease.Namespace) (NamespaceInfo, error) {
	l, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return NamespaceInfo{}, kindError{Internal, fmt.Errorf("namespace %q: %w", ns.Name, err)}
	}
	return NamespaceInfo{
		Name: ns.Name, Layout: ns.Layout, Fingerprint: ns.Fingerprint, First: ns.First, Last: ns.Last,
		State: string(ns.State), Generation: ns.Generation, EndOfLife: l.EndOfLife(),
	}, nil
}

// Namespaces lists those that a caller may see, deleted ones too.
func (s *Service) Namespaces(ctx context.Context, who *Identity) ([]NamespaceInfo, error) {
	ctx, cancel := patiently(ctx)
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
	ctx, cancel := patiently(ctx)
	defer cancel()
	ns, err := lease.ShowNamespace(ctx, s.store, name)
	if err != nil {
		return NamespaceInfo{}, err
	}
	return describe(ns)
}

// CreateNamespace makes one for a layout, which is a name or a spec. last 0 means the last node of the layout.
func (s *Service) CreateNamespace(ctx context.Context, name, layout string, first, last int64) (NamespaceInfo, error) {
	sc, err := s.scheme(name, layout)
	if err != nil {
		return NamespaceInfo{}, err
	}
	ns, err := lease.CreateNamespace(ctx, s.store, name, sc, &lease.NamespaceOptions{First: first, Last: last})
	if err != nil {
		return NamespaceInfo{}, err
	}
	s.Events.Add(Event{Kind: "namespace", Namespace: name, Text: "created with the layout " + ns.Layout})
	return describe(ns)
}

// ChangeNamespace gives one another layout. It proves first that no ID of the new layout can equal one of the old.
func (s *Service) ChangeNamespace(ctx context.Context, name, layout string, first, last int64) (NamespaceInfo, error) {
	sc, err := s.scheme(name, layout)
	if err != nil {
		return NamespaceInfo{}, err
	}
	ns, err := lease.ChangeLayout(ctx, s.store, name, sc, &lease.NamespaceOptions{First: first, Last: last}, false)
	if err != nil {
		return NamespaceInfo{}, err
	}
	s.changed(name)
	s.Events.Add(Event{Kind: "namespace", Namespace: name, Text: "changed to the layout " + ns.Layout})
	return describe(ns)
}

// DeleteNamespace leaves a tombstone of one. It refuses while anybody but this server holds a lease, and without the name as confirmation. Who acquires one in the same moment
// loses it before it is used.
func (s *Service) DeleteNamespace(ctx context.Context, name, confirm string) error {
	if confirm != name {
		return kindError{Refused, fmt.Errorf("deleting namespace %q needs its name as confirmation", name)}
	}
	s.mu.Lock()
	own := s.all[name]
	s.mu.Unlock()
	held, err := s.Leases(ctx, name, -1, PageOfLeases, true)
	if err != nil {
		return err
	}
	for _, l := range held {
		if own == nil || !own.holds(l.Node) {
			return kindError{Refused, fmt.Errorf("namespace %q is in use: node %d is held by %q: stop the holders first", name, l.Node, l.Label)}
		}
	}
	if _, err := lease.DeleteNamespace(ctx, s.store, name); err != nil {
		return err
	}
	s.changed(name)
	s.Events.Add(Event{Kind: "namespace", Namespace: name, Text: "deleted"})
	return nil
}

// changed makes the next request read a namespace anew.
func (s *Service) changed(name string) {
	s.mu.Lock()
	sp := s.all[name]
	s.mu.Unlock()
	if sp != nil {
		s.forget(sp)
		go func() { // its nodes belong to a generation that is over, so that this gives nothing back and only ends its goroutines
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
	var keys []*snowfence.Key
	if l.Cipher != snowfence.Plain && s.opts.Keys != nil {
		if keys, err = s.opts.Keys(name); err != nil {
			return nil, err
		}
	}
	sc, err := snowfence.NewScheme(l, keys...)
	if errors.Is(err, snowfence.ErrKey) {
		return nil, kindError{Refused, fmt.Errorf("layout %s is encrypted, and the server has no secrets for namespace %q: %w", layout, name, err)}
	}
	return sc, err
}
