package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Spaces are the namespaces that a server has open. All methods are safe
// for concurrent use.
type Spaces struct {
	core *Core

	ready atomic.Pointer[map[string]*Space] // what the fast path reads; replaced, never changed
	mu    sync.Mutex                        // guards what follows, and is never held while the store is asked
	all   map[string]*Space
	tally map[string]*tally // of namespaces that were open, by name
	ended bool
}

func newSpaces(c *Core) *Spaces {
	s := &Spaces{core: c, all: map[string]*Space{}, tally: map[string]*tally{}}
	s.ready.Store(&map[string]*Space{})
	return s
}

// Find returns the namespace of a name. It reads its record from the store
// at the first use, and makes no lease before the first ID.
func (s *Spaces) Find(ctx context.Context, name string) (*Space, error) {
	if sp := (*s.ready.Load())[name]; sp != nil && sp.isCurrent() {
		return sp, nil
	}
	ctx, cancel := WithStoreTimeout(ctx)
	defer cancel()
	sp, err := s.openSpace(ctx, name)
	if sp != nil && sp.stale.Load() { // its layout was changed
		sp, err = s.openSpace(ctx, name)
	}
	return sp, err
}

// Admit is Find for a caller with a right in it. The request counts as
// n IDs.
func (s *Spaces) Admit(ctx context.Context, id *Identity, v Verb, name string, n int64) (*Space, error) {
	if err := id.Authorize(v, name, n); err != nil {
		return nil, err
	}
	return s.Find(ctx, name)
}

func (s *Spaces) openSpace(ctx context.Context, name string) (*Space, error) {
	s.mu.Lock()
	sp := s.all[name]
	switch {
	case s.ended:
		s.mu.Unlock()
		return nil, ErrStopping
	case sp != nil && !sp.stale.Load():
		s.mu.Unlock()
		return sp, sp.loadNamespace(ctx)
	}
	s.mu.Unlock()
	// It is added only when it is known to exist, so that wrong names cost
	// no memory.
	sp = &Space{Coding: Coding{Name: name}, core: s.core, spaces: s}
	sp.Own = OwnLease{core: s.core, space: sp, openTurn: make(chan struct{}, 1)}
	if err := sp.loadNamespace(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.all[name]; other != nil && !other.stale.Load() {
		return other, nil
	}
	if s.ended {
		return nil, ErrStopping
	}
	if len(s.all) >= s.core.opts.Spaces && !s.evictOne() {
		return nil, Errorf(TooMuch, "the server makes IDs for %d namespaces, its limit: ask another one, or raise "+
			"the limit", s.core.opts.Spaces)
	}
	over := lease.Serve(s.core.store, sp.Scheme(), &lease.Options{Logger: store.Warnings(s.core.opts.Logger)})
	sp.lessor = lessor.New(s.core.id, sp.unit.Load(), sp.openUnit, nodeStore{over, s.core}, sp.noteLoss)
	if sp.tally = s.tally[name]; sp.tally == nil {
		sp.tally = &tally{}
		s.tally[name] = sp.tally
	}
	s.all[name] = sp
	s.publishSpaces()
	return sp, nil
}

// evictOne makes room by dropping a namespace that was looked at only, and
// reports whether there was one. mu is held.
func (s *Spaces) evictOne() bool {
	for name, sp := range s.all {
		select {
		case sp.Own.openTurn <- struct{}{}:
			_, sublet := sp.lessor.Count()
			idle := sp.Own.lease.Load() == nil && sublet == 0
			if idle {
				sp.stale.Store(true) // before anybody opens a lease in it
			}
			<-sp.Own.openTurn
			if idle {
				delete(s.all, name)
				sp.end()
				if sp.Made.Load()+sp.Waits.Load() == 0 {
					delete(s.tally, name)
				}
				return true
			}
		default: // it is being opened
		}
	}
	return false
}

// publishSpaces makes the namespaces visible to the fast path. mu is held.
func (s *Spaces) publishSpaces() {
	view := maps.Clone(s.all)
	s.ready.Store(&view)
}

// forgetSpace drops a namespace that was deleted, has another layout, or
// lost a lease. The next request opens it anew.
func (s *Spaces) forgetSpace(sp *Space) {
	if !sp.stale.Swap(true) {
		sp.end()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[sp.Name] == sp {
		delete(s.all, sp.Name)
		s.publishSpaces()
	}
}

// List returns the open namespaces in the order of their names.
func (s *Spaces) List() []*Space {
	byName := func(a, b *Space) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(*s.ready.Load()), byName)
}

// Moved returns the namespaces that were moved to another store, which
// ended their leases.
func (s *Spaces) Moved() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.tally {
		if t.moved.Load() {
			out = append(out, name)
		}
	}
	return out
}

// close ends all, and gives nodes back, as far as the store answers until
// ctx ends.
func (s *Spaces) close(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	spaces := s.all
	s.all = map[string]*Space{}
	s.publishSpaces()
	s.mu.Unlock()
	errs := make(chan error, len(spaces))
	for _, sp := range spaces {
		go func() { errs <- sp.giveNodesBack(ctx) }()
	}
	var all []error
	for range spaces {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// heldNodes returns the nodes of this server's leases, of units too, and
// the namespaces that it makes no IDs of although they are wanted.
func (s *Spaces) heldNodes() (out []*pb.HeldNodes, failing []string) {
	for _, sp := range s.List() {
		if len(failing) < maxAnnounced && sp.Own.Err(s.core.now()) != nil {
			failing = append(failing, sp.Name)
		}
		out = append(out, sp.Held()...)
	}
	return out[:min(len(out), maxAnnounced)], failing
}

// Late returns the errors that delay renewals, and nil if none is late.
func (s *Spaces) Late() error {
	var late []error
	for _, sp := range s.List() {
		st, _ := sp.Own.Status()
		units := append(sp.lessor.Units(), lessor.Unit{Grant: st.Grant, Trouble: st.Trouble})
		for _, u := range units {
			if u.Trouble != nil {
				late = append(late, fmt.Errorf("namespace %q: the renewal of node %d is late: %w", sp.Name, u.Node,
					u.Trouble))
			}
		}
	}
	return errors.Join(late...)
}

// WarnLater logs grants that begin so late that requests fail until then,
// each of them once.
func (s *Spaces) WarnLater(now time.Time) {
	for _, sp := range s.List() {
		h, _ := sp.Own.Health(now)
		if h.Waits(now) <= s.core.opts.MaxWait || sp.Own.warnTick.Swap(h.Grant.From) == h.Grant.From {
			continue
		}
		s.core.opts.Logger.Warn("a grant begins later", "namespace", sp.Name, "cause", sp.Own.waitError(h, now))
	}
}

// readAnew makes the next request read a namespace anew.
func (s *Spaces) readAnew(name string) {
	if sp := (*s.ready.Load())[name]; sp != nil {
		s.forgetSpace(sp)
	}
}
