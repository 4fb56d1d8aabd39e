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
	watchEvery   = 2 * time.Second  // how often the leases of a namespace are read
	linger       = 10 * time.Second // how long they are read on after the last watcher left
	pieceOfWatch = 100              // leases in a message
	viewTimeout  = 30 * time.Second // of one reading
)

// watches are the namespaces that are watched. Each is read once for all
// its watchers.
type watches struct {
	mu   sync.Mutex
	all  map[string]*Watched
	wait sync.WaitGroup // of the readers
}

// Watched is a namespace with leases that are read over and over, once for
// all watchers.
type Watched struct {
	service  *Service
	name     string
	users    int       // guarded by watches.mu, as is left
	lastLeft time.Time // when the last user left

	mu     sync.Mutex
	last   *View         // the last one; nil before the first
	err    error         // of the last reading
	change chan struct{} // closed and replaced at each reading
}

// View is all leases of a namespace at one time. It never changes.
type View struct {
	Namespace scope.Namespace
	Layout    snowfence.Layout
	From, At  time.Time // when reading began and ended
	Leases    []Lease   // by node
	Picture   any       // see Service.Draw

	version int64
	changes []Lease // those that were not the same in the view before
}

// Lease is the record of a unit, without an earlier layout's grant, and
// whether it is held.
type Lease struct {
	store.Record
	Held bool
}

// newView returns a view that has no leases yet.
func (s *Service) newView(ctx context.Context, namespace string) (v *View, err error) {
	v = &View{From: s.now(), version: 1}
	if v.Namespace, err = scope.Namespaces(s.store).Show(ctx, namespace); err != nil {
		return nil, err
	}
	v.Layout = v.Namespace.Layout
	return v, nil
}

// View reads the leases of a namespace.
func (s *Service) View(ctx context.Context, namespace string) (*View, error) {
	late := fmt.Errorf("the store did not list all leases in %v", viewTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, viewTimeout, late)
	defer cancel()
	v, err := s.newView(ctx, namespace)
	if err != nil {
		return nil, err
	}
	nodes := snowfence.NodeRange{Until: math.MaxInt64}
	for r, err := range store.Records(ctx, s.store, namespace, nodes) {
		if err != nil {
			return nil, err
		}
		if !view.Inside(r, v.Namespace) {
			v.Leases = append(v.Leases, v.leaseOf(r))
		}
	}
	v.At = s.now()
	return v, nil
}

// leaseOf returns a record as it was when the reading began.
func (v *View) leaseOf(r store.Record) Lease {
	r = view.Current(r, v.Namespace)
	return Lease{r, r.Held(v.Layout.TickOf(v.From))}
}

// End returns the node after those that a lease stands for.
func (v *View) End(l *Lease) int64 { return l.Node + v.Namespace.Unit }

// Message returns a lease as callers see it.
func (v *View) Message(l Lease) *pb.LeaseInfo {
	return view.Lease(l.Record, v.Namespace, v.Layout, v.From)
}

// Watch sends all leases of a namespace, in messages of at most 100 and at
// least one, and then every few seconds those that changed. It returns when
// ctx ends, when send returns an error, when the caller may not read any
// more, or when the leases cannot be read.
func (s *Service) Watch(
	ctx context.Context, m *pb.WatchLeasesRequest, send func(*pb.ListLeasesResponse) error,
) error {
	if err := s.Reserve(CallerOf(ctx), StreamRoom); err != nil {
		return err
	}
	w, leave := s.Watched(m.Namespace)
	defer leave()
	var have *View
	for {
		v, err := w.Next(ctx, have)
		if err == nil {
			err = CallerOf(ctx).May(VerbRead, m.Namespace) // its token may have been taken away
		}
		if err != nil {
			return err
		}
		news := v.newsSince(have)
		for first := have == nil; first || len(news) > 0; first = false {
			out := &pb.ListLeasesResponse{}
			n := min(len(news), pieceOfWatch)
			for _, l := range news[:n] {
				out.Leases = append(out.Leases, v.Message(l))
			}
			if err := send(out); err != nil {
				return err
			}
			news = news[n:]
		}
		have = v
	}
}

// Watched returns a namespace that it reads until leave is called, and a
// little longer.
func (s *Service) Watched(namespace string) (w *Watched, leave func()) {
	ws := &s.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w = ws.all[namespace]; w == nil {
		w = &Watched{service: s, name: namespace, change: make(chan struct{})}
		ws.all[namespace] = w
		if s.life.Err() == nil {
			ws.wait.Go(w.run)
		}
	}
	w.users++
	return w, sync.OnceFunc(func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		w.users--
		w.lastLeft = s.now()
	})
}

// run reads the leases until no page has wanted them for a while. A
// namespace that takes long is read less often, so that it has at most a
// tenth of the store's time.
func (w *Watched) run() {
	s := w.service
	for !w.dropIfUnused() {
		began, before := s.now(), w.last
		v, err := s.View(s.life, w.name)
		if err == nil {
			if before != nil {
				v.version, v.changes = before.version+1, v.newsSince(before)
			}
			if s.Draw != nil {
				v.Picture = s.Draw(v, before)
			}
		}
		w.publishView(v, err)
		pause := time.NewTimer(max(watchEvery, 9*s.now().Sub(began)))
		select {
		case <-pause.C:
		case <-s.life.Done():
			pause.Stop()
		}
	}
}

// dropIfUnused forgets a namespace that no page wants, and reports whether
// it did.
func (w *Watched) dropIfUnused() bool {
	s := w.service
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	if s.life.Err() == nil && (w.users > 0 || s.now().Sub(w.lastLeft) < linger) {
		return false
	}
	delete(s.watches.all, w.name)
	return true
}

// publishView gives watchers the view. After a failure the last view stays.
func (w *Watched) publishView(view *View, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err == nil {
		w.last = view
	}
	close(w.change)
	w.change = make(chan struct{})
}

// Last returns the last view, and waits for the first one.
func (w *Watched) Last(ctx context.Context) (*View, error) {
	if view, _, _ := w.lastView(); view != nil {
		return view, nil
	}
	return w.Next(ctx, nil)
}

// lastView returns the last view, the channel that the next reading closes,
// and the error of the last.
func (w *Watched) lastView() (*View, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.change, w.err
}

// Next returns the present view if it is another one than have, and
// otherwise the result of the next reading.
func (w *Watched) Next(ctx context.Context, have *View) (*View, error) {
	view, changed, err := w.lastView()
	for ctx.Err() == nil && (err != nil || view == have) {
		select {
		case <-changed:
		case <-w.service.life.Done():
			return nil, ErrStopping
		case <-ctx.Done():
			continue
		}
		if view, changed, err = w.lastView(); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the client is gone, or the server stops
	}
	return view, nil
}

// newsSince returns the leases that are not the same in an earlier view;
// all of them where there is none.
func (v *View) newsSince(earlier *View) (news []Lease) {
	switch {
	case earlier == nil:
		return v.Leases
	case v.changes != nil && earlier.version == v.version-1:
		return v.changes
	}
	news = []Lease{}
	old := earlier.Leases
	for _, l := range v.Leases {
		for len(old) > 0 && old[0].Node < l.Node {
			old = old[1:]
		}
		if len(old) == 0 || old[0] != l {
			news = append(news, l)
		}
	}
	return news
}
