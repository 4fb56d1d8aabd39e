package server

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

const (
	pieceOfWatch = 100              // leases in a message
	viewTimeout  = 30 * time.Second // of one reading
)

// Views are of the nodes of namespaces. A namespace that is watched is read
// once for all its watchers. All methods are safe for concurrent use.
type Views struct {
	core   *Core
	spaces *Spaces

	// Draw makes a picture of a view for the dashboard: once, for all
	// watchers. Set it before there are requests; nil means that there are
	// no pictures.
	Draw func(v *View) any

	mu   sync.Mutex
	all  map[string]*Watched
	wait sync.WaitGroup // of the readers
}

// newView returns a view that has no leases yet.
func (s *Views) newView(ctx context.Context, namespace string) (v *View, err error) {
	v = &View{From: s.core.now()}
	if v.Namespace, err = scope.Namespaces(s.core.store).Show(ctx, namespace); err != nil {
		return nil, err
	}
	v.Layout = v.Namespace.Layout
	return v, nil
}

// Read reads the leases of a namespace.
func (s *Views) Read(ctx context.Context, namespace string) (*View, error) {
	late := fmt.Errorf("the store did not list all leases in %v", viewTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, viewTimeout, late)
	defer cancel()
	v, err := s.newView(ctx, namespace)
	if err != nil {
		return nil, err
	}
	nodes := snowfence.NodeRange{Until: math.MaxInt64}
	for r, err := range store.Records(ctx, s.core.store, namespace, nodes) {
		if err != nil {
			return nil, err
		}
		if !view.Inside(r, v.Namespace) {
			v.Leases = append(v.Leases, v.leaseOf(r))
		}
	}
	v.At = s.core.now()
	return v, nil
}

// Watch sends all leases of a namespace, in messages of at most 100 and at
// least one, and then every few seconds those that changed. It returns when
// ctx ends, when send returns an error, when the caller may not read any
// more, or when the leases cannot be read.
func (s *Views) Watch(ctx context.Context, m *pb.WatchLeasesRequest, send func(*pb.ListLeasesResponse) error) error {
	if err := s.core.Reserve(CallerOf(ctx), StreamRoom); err != nil {
		return err
	}
	asked, cancel := WithStoreTimeout(ctx)
	defer cancel()
	if _, err := s.newView(asked, m.Namespace); err != nil { // before anything is kept for the name
		return err
	}
	w, leave := s.Watched(m.Namespace)
	defer leave()
	var have int64 // the version that was sent
	for {
		v, err := w.Next(ctx, have)
		if err != nil {
			return err
		}
		version, node := v.Version, int64(0)
		for first, more := have == 0, true; more; first = false {
			if err := CallerOf(ctx).May(VerbRead, m.Namespace); err != nil {
				return err // its token was taken away
			}
			v, _, _ = w.lastView() // so that a slow watcher keeps no old one
			news := v.newsSince(have, node)
			if len(news) == 0 && !first {
				break
			}
			out := &pb.ListLeasesResponse{}
			for _, l := range news {
				out.Leases, node = append(out.Leases, v.Message(l)), l.Node+1
			}
			more = len(news) == pieceOfWatch
			if err := send(out); err != nil {
				return err
			}
		}
		have = version
	}
}

// Watched returns a namespace that it reads until leave is called, and a
// little longer.
func (s *Views) Watched(namespace string) (w *Watched, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w = s.all[namespace]; w == nil {
		w = &Watched{views: s, name: namespace, change: make(chan struct{})}
		s.all[namespace] = w
		if s.core.life.Err() == nil {
			s.wait.Go(w.run)
		}
	}
	w.users++
	return w, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.users--
		w.lastLeft = s.core.now()
	})
}

// NodeCount is how many nodes of a namespace are taken, of those that can
// be leased.
type NodeCount struct {
	// Held or vetoed. Both leave out the reserved range: programs lease its
	// nodes by number only. An agent counts the nodes of its units.
	Held, Leasable int64
	// Leases in the store and subleases of this server, counted by the
	// token that the label names.
	Owners map[string]int64
	At     time.Time
}

// CountNodes asks the store for all nodes of a namespace, and counts those
// that are held.
func (s *Views) CountNodes(ctx context.Context, namespace string) (NodeCount, error) {
	v, err := s.Read(ctx, namespace)
	if err != nil {
		return NodeCount{}, err
	}
	first, last := v.Namespace.Nodes.From, v.Namespace.Nodes.Until-1
	n := NodeCount{Leasable: last - first + 1, Owners: map[string]int64{}, At: v.At}
	for i := range v.Leases {
		l := &v.Leases[i]
		nodes := v.End(l) - l.Node
		if l.Held {
			n.Owners[OwnerOf(l.Label)] += nodes
		}
		if (l.Held || l.Veto != "") && l.Node >= first && l.Node <= last {
			n.Held += nodes
		}
	}
	if sp := (*s.spaces.ready.Load())[namespace]; sp != nil { // what is sublet is not in the store
		sp.lessor.Held(func(label string) bool { n.Owners[OwnerOf(label)]++; return true })
		if s.core.opts.Unit != nil {
			n.Held, n.Leasable = sp.Sublet()
		}
	}
	return n, nil
}

// CountPause is how long to wait for the next count: at least every, and so
// long that counts take a 50th of the time at most. A list of 131,072 nodes
// is long.
func CountPause(every, took time.Duration) time.Duration { return max(every, 50*took) }
